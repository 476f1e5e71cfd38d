// Costs and legality of points, by the templates' formulas.
#pragma once

#include <cstdint>
#include <vector>

#include "search/einsum_memo.hpp"
#include "search/joiner.hpp"
#include "search/joint_capacity.hpp"

namespace tessera::search {

/// What later Einsums see of those before, kept up to date Einsum after Einsum.
struct Followed {
    int state = 0;
    std::vector<std::int64_t> open_trips;

    void start(const Joiner& joiner) {
        state = joiner.first();
        open_trips.clear();
    }
    /// `trips`: of the running fused loops of the Einsum that was joined.
    void join(const Way& way, const std::vector<std::int64_t>& trips);
    bool operator==(const Followed&) const = default;

    /// Whether an Einsum with these trip counts can run inside the open loops in this way.
    bool fits(const Way& way, const std::vector<std::int64_t>& trips) const;
};

/// Scratch of one thread.
class Evaluation {
public:
    Evaluation(const OpenSpace::Data& space, Joiner& joiner)
        : space_(space), joiner_(joiner), memo_(space), capacity_(space) {}

    Outcome evaluate(const Point& point);

    /// `visit(e, einsum, template, found, way)` for every Einsum while the point is sound.
    template <class Visit>
    Verdict walk(const Point& point, const Visit& visit);
    /// During a visit: what the Einsum finds open.
    const Followed& before() const {
        return followed_;
    }

    EinsumMemo& memo() {
        return memo_;
    }
    /// Tile shapes that were tried since the last call.
    std::uint64_t take_work();

private:
    void add_costs(const EinsumData& einsum, const TemplateData& t, const EinsumMemo::Entry& found,
                   int shared, Outcome& out);

    const OpenSpace::Data& space_;
    Joiner& joiner_;
    EinsumMemo memo_;
    JointCapacity capacity_;
    Followed followed_;
    std::uint64_t work_ = 0;
};

template <class Visit>
Verdict Evaluation::walk(const Point& point, const Visit& visit) {
    if (point.choices.size() != space_.einsums.size()) {
        return Verdict::tile_shape;
    }
    followed_.start(joiner_);
    std::size_t at = 0;
    for (std::size_t e = 0; e < space_.einsums.size(); ++e) {
        const EinsumData& einsum = space_.einsums[e];
        const Choice& choice = point.choices[e];
        if (choice.tmpl >= einsum.templates.size()) {
            return Verdict::incompatible;
        }
        const TemplateData& t = einsum.templates[choice.tmpl];
        if (at + t.symbols.size() > point.tiles.size()) {
            return Verdict::tile_shape;
        }
        const EinsumMemo::Entry& found = memo_.of(e, choice.tmpl, point.tiles.data() + at);
        at += t.symbols.size();
        work_ += found.checked;
        if (found.verdict != Verdict::legal) {
            return found.verdict;
        }
        const Pattern& pattern = t.patterns[static_cast<std::size_t>(found.pattern)];
        const std::vector<Way>& ways = joiner_.ways(followed_.state, pattern.structure);
        if (choice.join >= ways.size() || !followed_.fits(ways[choice.join], found.trips)) {
            return Verdict::incompatible;
        }
        const Way& way = ways[choice.join];
        visit(e, einsum, t, found, way);
        followed_.join(way, found.trips);
    }
    return at == point.tiles.size() ? Verdict::legal : Verdict::tile_shape;
}

}  // namespace tessera::search
