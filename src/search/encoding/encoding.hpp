// LoopTrees as points.
#pragma once

#include <vector>

#include "search/points/repair.hpp"
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
    /// One of an Einsum's templates, and which of the ways to run inside the open loops.
    struct Pick {
        std::size_t tmpl = 0;
        std::uint32_t way = 0;
    };
    /// The first `picks.size()` Einsums as picked.
    Repair::Kept build(const std::vector<Choices>& choices, const std::vector<Pick>& picks);

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
    std::vector<Pick> picks{{}};
    for (int steps = 0; steps < most_steps && !picks.empty(); ++steps) {
        if (picks.back().tmpl == choices[picks.size() - 1].templates.size()) {
            picks.pop_back();
            if (!picks.empty()) {
                ++picks.back().way;
            }
            continue;
        }
        const Repair::Kept kept = build(choices, picks);
        if (kept == Repair::Kept::no_way) {
            picks.back() = {picks.back().tmpl + 1, 0};
        } else if (kept == Repair::Kept::yes && picks.size() < choices.size()) {
            picks.push_back({});
        } else if (kept == Repair::Kept::yes && accept(repair_.built())) {
            return true;
        } else {
            ++picks.back().way;
        }
    }
    return false;
}

}  // namespace tessera::search
