// LoopTrees as points.
#pragma once

#include <vector>

#include "search/repair.hpp"
#include "tessera/mapping/pmapping.hpp"

namespace tessera::search {

/// Tile shapes with which the template, its null loops left out, is the pmapping; the order of
/// loops between two holders, and of holders next to each other, is left open: templates that
/// differ in it alone are one, or are told apart by costs. False: with none.
bool tiles_of(const TemplateData& t, const mapping::Pmapping& nodes,
              std::vector<std::int64_t>& tiles);

/// The point that the LoopTree is. Scratch of one thread.
class Encoding {
public:
    Encoding(const OpenSpace::Data& space, Joiner& joiner, Drawing& drawing, Evaluation& evaluation)
        : space_(space), repair_(space, joiner, drawing, evaluation) {}

    /// Calls `accept(point)` for the points that may be it, until that says true. False: none was
    /// accepted. \throws UserError and IllegalMapping as mapping::split().
    template <class Accept>
    bool encode(const mapping::Mapping& mapping, const Accept& accept);

private:
    struct Choices {
        std::vector<std::uint32_t> templates;
        std::vector<std::vector<std::int64_t>> tiles;
    };
    /// False: some Einsum has none, or they run in another order.
    bool candidates(const mapping::Mapping& mapping, std::vector<Choices>& out) const;
    /// The first `picks.size()` Einsums as picked; false if they do not fit together.
    bool build(const std::vector<Choices>& choices, const std::vector<std::size_t>& picks);

    const OpenSpace::Data& space_;
    Repair repair_;
};

template <class Accept>
bool Encoding::encode(const mapping::Mapping& mapping, const Accept& accept) {
    constexpr int most_steps = 4096;
    std::vector<Choices> choices;
    if (!candidates(mapping, choices)) {
        return false;
    }
    std::vector<std::size_t> picks{0};
    for (int steps = 0; steps < most_steps && !picks.empty(); ++steps) {
        if (picks.back() == choices[picks.size() - 1].templates.size()) {
            picks.pop_back();
            if (!picks.empty()) {
                ++picks.back();
            }
        } else if (!build(choices, picks)) {
            ++picks.back();
        } else if (picks.size() < choices.size()) {
            picks.push_back(0);
        } else if (accept(repair_.built())) {
            return true;
        } else {
            ++picks.back();
        }
    }
    return false;
}

}  // namespace tessera::search
