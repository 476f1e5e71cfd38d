// Tile shapes from an order of loops. Map:
//   add_loops()   the loops of a template by rank variable, and which holders they stand between
//   give()        a factor goes from the outermost loop of its variable to another
//   fill()        spatial loops
//   allocate()    temporal loops
#include "tessera/search/allocation.hpp"

#include <algorithm>
#include <cmath>

#include "search/space_data.hpp"
#include "tessera/base/divisors.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/search/open_space.hpp"

namespace tessera::search {

namespace {

using mapping::NodeKind;

/// A loop that is not fused.
struct Loop {
    int rank_variable = 0;
    int gap = 0;  ///< holders inside it, those next to each other counted once
    bool spatial = false;
    std::vector<int>
        enclosing;  ///< symbols of the loops around it over its variable, fused ones not
};

/// A factor that a spatial loop may take.
struct Gift {
    const Loop* loop = nullptr;
    std::size_t factor = 0;
};

template <typename T>
void shuffle(std::vector<T>& items, Rng& rng) {
    for (std::size_t i = items.size(); i > 1; --i) {
        std::swap(items[i - 1], items[rng.below(i)]);
    }
}

/// Whether the template shares tensors in the outermost memory alone.
bool is_unfused(const TemplateData& t) {
    for (const mapping::PmappingNode& n : t.tmpl.nodes) {
        if (n.kind == NodeKind::storage && n.backing && n.level != 0 &&
            t.path->einsum.tensors[static_cast<std::size_t>(n.tensor)].fusable) {
            return false;
        }
    }
    return !t.patterns.empty() && t.patterns.front().loops == 0;
}

}  // namespace

struct Allocation::Impl {
    explicit Impl(const OpenSpace::Data& opened) : space(opened) {
        for (const EinsumData& einsum : space.einsums.all()) {
            std::vector<std::uint32_t>& chosen = unfused.emplace_back();
            for (std::uint32_t t = 0; t < einsum.templates.size(); ++t) {
                if (is_unfused(einsum.templates[t])) {
                    chosen.push_back(t);
                }
            }
            for (std::uint32_t t = 0; chosen.empty() && t < einsum.templates.size(); ++t) {
                chosen.push_back(t);
            }
        }
    }

    void add_loops() {
        loops.clear();
        const mapping::Template& tmpl = t->tmpl;
        std::vector<int> innermost(t->path->einsum.rank_variables.size(), -1);
        for (std::size_t s = 0; s < tmpl.symbols.size(); ++s) {
            if (tmpl.symbols[s].inner < 0) {
                innermost[static_cast<std::size_t>(tmpl.symbols[s].rank_variable)] =
                    static_cast<int>(s);
            }
        }
        int gap = 0;
        bool holder = false;
        for (std::size_t i = tmpl.nodes.size(); i-- > 0;) {
            const mapping::PmappingNode& n = tmpl.nodes[i];
            if (n.kind == NodeKind::storage) {
                gap += holder ? 0 : 1;
                holder = true;
            }
            if (!n.is_loop() || static_cast<int>(i) < tmpl.n_fused_nodes) {
                continue;
            }
            holder = false;
            Loop loop{n.rank_variable, gap, n.kind == NodeKind::spatial, {}};
            int s = n.symbol >= 0 ? tmpl.symbols[static_cast<std::size_t>(n.symbol)].outer
                                  : innermost[static_cast<std::size_t>(n.rank_variable)];
            for (; s >= 0; s = tmpl.symbols[static_cast<std::size_t>(s)].outer) {
                if (!tmpl.symbols[static_cast<std::size_t>(s)].fused) {
                    loop.enclosing.push_back(s);
                }
            }
            loops.push_back(std::move(loop));
        }
    }

    /// No fused loop runs; everything else is in the outermost loop of its variable.
    void clear() {
        values.assign(t->symbols.size(), 1.0);
        for (const FusedLoop& loop : t->fused) {
            if (loop.symbol >= 0) {
                values[static_cast<std::size_t>(loop.symbol)] = static_cast<double>(loop.bound);
            }
        }
    }

    void measure(std::vector<double>& out) {
        out.resize(t->limits.size());
        t->check.evaluate_one(values, out, workspace);
    }

    /// Upper limits hold, or are exceeded no more than before.
    bool give(const Loop& loop, std::int64_t trips) {
        const auto scale = [&](double by) {
            for (const int s : loop.enclosing) {
                values[static_cast<std::size_t>(s)] *= by;
            }
        };
        if (loop.enclosing.empty()) {
            return true;  // it is there
        }
        measure(before);
        scale(static_cast<double>(trips));
        measure(after);
        bool good = true;
        for (std::size_t i = 0; i < t->limits.size(); ++i) {
            const Limit& limit = t->limits[i];
            const bool upper = limit.relation == mapspace::Relation::less_equal ||
                               limit.relation == mapspace::Relation::less;
            good = good && (!upper || limit.holds(after[i]) || after[i] <= before[i]);
        }
        if (!good) {
            for (const int s : loop.enclosing) {
                values[static_cast<std::size_t>(s)] /= static_cast<double>(trips);
            }
        }
        return good;
    }

    /// Gives factors to spatial loops.
    void fill(Rng& rng) {
        enum : std::uint8_t { in_turn, mixed, thinned };
        static constexpr std::uint8_t ways[] = {in_turn, in_turn, mixed, thinned};
        const std::uint8_t way = ways[rng.below(std::size(ways))];
        std::vector<const Loop*> spatial;
        for (const Loop& loop : loops) {
            if (loop.spatial && !loop.enclosing.empty()) {
                spatial.push_back(&loop);
            }
        }
        shuffle(spatial, rng);
        std::vector<Gift> gifts;
        for (const Loop* loop : spatial) {
            for (std::size_t i = factors.size(); i-- > 0;) {
                if (factors[i].rank_variable == loop->rank_variable) {
                    gifts.push_back({loop, i});
                }
            }
        }
        if (way != in_turn) {
            shuffle(gifts, rng);
        }
        if (way == thinned) {
            std::erase_if(gifts, [&](const Gift&) { return rng.below(4) == 0; });
        }
        for (const Gift& gift : gifts) {
            LoopFactor& factor = factors[gift.factor];
            if (factor.trips > 1 && give(*gift.loop, factor.trips)) {
                factor.trips = 1;  // given
            }
        }
        std::erase_if(factors, [](const LoopFactor& factor) { return factor.trips == 1; });
    }

    bool start(std::uint32_t einsum, std::uint32_t tmpl, Rng& rng) {
        t = &space.einsums[einsum].templates[tmpl];
        factors.clear();
        if (t->patterns.empty() || t->patterns.front().loops != 0) {
            return false;
        }
        add_loops();
        clear();
        const auto& variables = t->path->einsum.rank_variables;
        for (std::size_t v = 0; v < variables.size(); ++v) {
            for (const std::int64_t prime : base::prime_factors(variables[v].bound)) {
                for (std::int64_t rest = variables[v].bound; rest % prime == 0; rest /= prime) {
                    factors.push_back({static_cast<int>(v), prime});
                }
            }
        }
        fill(rng);
        of_spatial = values;
        return true;
    }

    void allocate(std::span<const LoopFactor> order) {
        values = of_spatial;
        tiles.clear();
        std::size_t at = 0;  // loops from the inside out; a gap ends where `gap` grows
        for (const LoopFactor& factor : order) {
            // Within its gap the order of loops is the template's.
            while (at > 0 && at < loops.size() && loops[at - 1].gap == loops[at].gap) {
                --at;
            }
            std::size_t l = at;
            while (l < loops.size() &&
                   (loops[l].spatial || loops[l].rank_variable != factor.rank_variable ||
                    !give(loops[l], factor.trips))) {
                ++l;
            }
            at = l < loops.size() ? l : at;
        }
        measure(after);
        for (std::size_t i = 0; i < t->limits.size(); ++i) {
            if (!t->limits[i].holds(after[i])) {
                return;
            }
        }
        if (wrong_tile_shape(*t, values.data()) >= 0 || !meets_loop_limits(*t, values.data())) {
            return;
        }
        for (const double value : values) {
            tiles.push_back(static_cast<std::int64_t>(value));
        }
    }

    bool draw(Rng& rng, std::uint32_t einsum, Point& point) {
        for (int i = 0; i < attempts; ++i) {
            const std::uint32_t tmpl = unfused[einsum][rng.below(unfused[einsum].size())];
            if (!start(einsum, tmpl, rng)) {
                continue;
            }
            std::vector<LoopFactor> order = factors;
            shuffle(order, rng);
            allocate(order);
            if (!tiles.empty() || t->symbols.empty()) {
                point.choices.push_back({tmpl, 0});
                point.tiles.insert(point.tiles.end(), tiles.begin(), tiles.end());
                return true;
            }
        }
        return false;
    }

    static constexpr int attempts = 256;
    const OpenSpace::Data& space;
    model::FormulaWorkspace workspace;
    std::vector<std::vector<std::uint32_t>> unfused;
    const TemplateData* t = nullptr;
    std::vector<Loop> loops;  // from the inside out
    std::vector<LoopFactor> factors;
    std::vector<double> values, of_spatial, before, after;
    std::vector<std::int64_t> tiles;
};

Allocation::Allocation(const Space& space) {
    const auto* open = dynamic_cast<const OpenSpace*>(&space);
    if (open == nullptr) {
        throw UserError(
            "the strategy fills the memories of Tessera's templates, which this mapspace has not");
    }
    impl_ = std::make_unique<Impl>(open->data());
}
Allocation::~Allocation() = default;

const std::vector<std::uint32_t>& Allocation::unfused(std::uint32_t einsum) const {
    return impl_->unfused[einsum];
}

bool Allocation::unfused(const Point& point) const {
    auto tile = point.tiles.begin();
    for (std::uint32_t e = 0; e < point.choices.size(); ++e) {
        const std::uint32_t tmpl = point.choices[e].tmpl;
        const TemplateData& t = impl_->space.einsums[e].templates[tmpl];
        const bool runs = std::any_of(t.fused.begin(), t.fused.end(), [&](const FusedLoop& loop) {
            return loop.symbol >= 0 && tile[loop.symbol] != loop.bound;
        });
        if (runs || !std::binary_search(impl_->unfused[e].begin(), impl_->unfused[e].end(), tmpl)) {
            return false;
        }
        tile += static_cast<std::ptrdiff_t>(t.symbols.size());
    }
    return true;
}

const arch::Path& Allocation::path(std::uint32_t einsum, std::uint32_t tmpl) const {
    return *impl_->space.einsums[einsum].templates[tmpl].path;
}

bool Allocation::start(std::uint32_t einsum, std::uint32_t tmpl, Rng& rng) {
    return impl_->start(einsum, tmpl, rng);
}

const std::vector<LoopFactor>& Allocation::factors() const {
    return impl_->factors;
}

const std::vector<std::int64_t>& Allocation::allocate(std::span<const LoopFactor> order) {
    impl_->allocate(order);
    return impl_->tiles;
}

bool Allocation::draw(Rng& rng, Point& point) {
    point = {};
    for (std::uint32_t e = 0; e < impl_->unfused.size(); ++e) {
        base::poll_stop();
        if (!impl_->draw(rng, e, point)) {
            return false;
        }
    }
    return true;
}

Point Allocation::with(const Point& point, std::uint32_t einsum, std::uint32_t tmpl,
                       const std::vector<std::int64_t>& tiles) const {
    Point result;
    result.order = point.order;
    result.choices = point.choices;
    result.choices[einsum] = {tmpl, 0};
    auto at = point.tiles.begin();
    for (std::uint32_t e = 0; e < point.choices.size(); ++e) {
        const auto n = static_cast<std::ptrdiff_t>(
            impl_->space.einsums[e].templates[point.choices[e].tmpl].symbols.size());
        if (e == einsum) {
            result.tiles.insert(result.tiles.end(), tiles.begin(), tiles.end());
        } else {
            result.tiles.insert(result.tiles.end(), at, at + n);
        }
        at += n;
    }
    return result;
}

void merge_factors(std::vector<LoopFactor>& factors, std::size_t most) {
    std::sort(factors.begin(), factors.end());
    while (factors.size() > most) {
        std::size_t best = factors.size(), longest = 1;
        for (std::size_t i = 0; i < factors.size();) {
            std::size_t end = i;
            while (end < factors.size() && factors[end].rank_variable == factors[i].rank_variable) {
                ++end;
            }
            if (end - i > longest) {
                longest = end - i;
                best = i;
            }
            i = end;
        }
        if (best == factors.size()) {
            return;
        }
        factors[best].trips *= factors[best + 1].trips;
        factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(best) + 1);
        std::sort(factors.begin(), factors.end());
    }
}

}  // namespace tessera::search
