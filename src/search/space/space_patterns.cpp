// Which fused loops of a template may run only once, and what the join sees in each case.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "mapspace/shape_problem.hpp"
#include "search/space_data.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::search {

using mapspace::TileChoice;

namespace {

/// Tile shapes that stand for every way in which fused loops can run once or more often.
class Patterns {
public:
    explicit Patterns(const TemplateData& t) : t_(t), values_(t.symbols.size(), 1.0) {}

    mapspace::TemplateRows rows;
    std::vector<std::uint32_t> loops;

    void collect(std::size_t k, std::uint32_t running) {
        if (k == t_.fused.size()) {
            finish(running);
            return;
        }
        const FusedLoop& loop = t_.fused[k];
        const double outer =
            loop.outer >= 0 ? value(t_.fused[loop.outer]) : static_cast<double>(loop.bound);
        if (loop.symbol < 0) {
            if (outer > 1 || !loop.runs) {
                collect(k + 1, running | (outer > 1 ? 1u << k : 0u));
            }
            return;
        }
        if (!loop.runs) {
            choose(k, running, loop.symbol, outer);
        }
        if (outer > 1) {
            const double next = inside(loop.symbol, outer);
            choose(k, running | 1u << k, loop.symbol, next);
            if (next > 1 && fixed_inside(loop)) {
                choose(k, running | 1u << k, loop.symbol, 1.0);
            }
        }
    }

private:
    double value(const FusedLoop& loop) const {
        return loop.symbol >= 0 ? values_[loop.symbol] : 1.0;
    }
    /// The largest tile shape below `outer`: leaves most room for loops further in.
    double inside(int symbol, double outer) const {
        const mapspace::TileShapeSymbol& s = t_.symbols[symbol];
        if (s.choice == TileChoice::one_per_trip_count ||
            (s.choice == TileChoice::partial_outermost && outer == static_cast<double>(s.bound))) {
            return std::ceil(outer / 2);
        }
        for (std::int64_t p = 2;; ++p) {
            if (static_cast<std::int64_t>(outer) % p == 0) {
                return outer / static_cast<double>(p);
            }
            if (static_cast<double>(p) * static_cast<double>(p) > outer) {
                return 1.0;
            }
        }
    }
    /// A loop further in with tile shape 1: it runs unless nothing is left for it.
    bool fixed_inside(const FusedLoop& loop) const {
        for (int i = loop.inner; i >= 0; i = t_.fused[i].inner) {
            if (t_.fused[i].symbol < 0) {
                return true;
            }
        }
        return false;
    }
    void choose(std::size_t k, std::uint32_t running, int symbol, double value) {
        values_[symbol] = value;
        collect(k + 1, running);
    }
    void finish(std::uint32_t running) {
        base::poll_stop();
        if (!limits_met() || !seen_.insert(running).second) {
            return;
        }
        loops.push_back(running);
        for (std::size_t s = 0; s < values_.size(); ++s) {
            rows.tiles.push_back(static_cast<std::int64_t>(values_[s]));
        }
        rows.objectives.push_back(0.0);
        ++rows.rows;
    }
    bool limits_met() const {
        for (const mapspace::LoopLimit& limit : t_.loop_limits) {
            int running = 0;
            for (const mapspace::LoopLimit::Loop& loop : limit.loops) {
                const bool fused = t_.tmpl.symbols[loop.own].fused;
                const double outer =
                    loop.outer >= 0 ? values_[loop.outer] : static_cast<double>(loop.bound);
                running += fused && outer > values_[loop.own] ? 1 : 0;
            }
            if (running > limit.limit) {
                return false;
            }
        }
        return true;
    }

    const TemplateData& t_;
    std::vector<double> values_;
    std::unordered_set<std::uint32_t> seen_;
};

}  // namespace

void add_patterns(const OpenSpace::Data& space, TemplateData& t, const model::TemplateFormulas& f,
                  std::vector<mapspace::GroupStructure>& structures) {
    // Structures need no memories; the rows have one cost, which is 0.
    const mapspace::TabulateContext context =
        mapspace::table_context({&space.problem, &space.mapspace, {}, true, false}, *t.path);
    Patterns patterns(t);
    patterns.collect(0, 0);
    std::vector<mapspace::PmappingGroup> groups =
        mapspace::tabulate(context, t.tmpl, f, patterns.rows, 0);
    mapspace::globalise_tensors(groups, t.path->einsum);
    for (mapspace::PmappingGroup& group : groups) {
        t.patterns.push_back(
            {patterns.loops[group.source_row.front()], static_cast<int>(structures.size())});
        structures.push_back(std::move(group.structure));
    }
    std::sort(t.patterns.begin(), t.patterns.end(),
              [](const Pattern& a, const Pattern& b) { return a.loops < b.loops; });
}

}  // namespace tessera::search
