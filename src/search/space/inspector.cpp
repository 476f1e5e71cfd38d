#include "tessera/search/inspector.hpp"

#include <algorithm>
#include <cmath>

#include "einsum_orders.hpp"
#include "search/join/evaluation.hpp"
#include "tessera/base/error.hpp"
#include "tile_chooser.hpp"

namespace tessera::search {

namespace {

const OpenSpace& opened(const Space& space) {
    const auto* open = dynamic_cast<const OpenSpace*>(&space);
    if (open == nullptr) {
        throw Bug("facts of a space that the host did not open");
    }
    return *open;
}

double excess_of(double output, double limit) {
    const double off = std::abs(output - limit);
    return limit == 0 ? off : off / std::abs(limit);
}

/// Points whose Einsums run in one order, as they run.
struct InOrder {
    InOrder(const OpenSpace::Data& data, JoinStates& states)
        : space(data),
          joiner(space, states),
          evaluation(space, joiner),
          choosers(space.einsums.size()) {}

    /// Where the tile shapes of every Einsum begin, and the end. False: the point has the wrong
    /// size, or a template that does not exist.
    bool read(const Point& point) {
        starts.assign(1, 0);
        if (point.choices.size() != space.einsums.size()) {
            return false;
        }
        for (std::size_t e = 0; e < space.einsums.size(); ++e) {
            const std::vector<TemplateData>& templates = space.einsums[e].templates;
            if (point.choices[e].tmpl >= templates.size()) {
                return false;
            }
            starts.push_back(starts.back() + templates[point.choices[e].tmpl].symbols.size());
        }
        return starts.back() == point.tiles.size();
    }

    const TemplateData& tmpl(const Point& point, std::size_t e) const {
        return space.einsums[e].templates[point.choices[e].tmpl];
    }

    EinsumFacts einsum(const Point& point, std::size_t e) {
        const std::int64_t* const tiles = point.tiles.data() + starts[e];
        const EinsumMemo::Entry& entry = evaluation.memo().of(e, point.choices[e].tmpl, tiles);
        EinsumFacts out;
        out.verdict = entry.verdict;
        if (entry.verdict == Verdict::legal) {
            out.energy_j = entry.energy_j;
            out.latency_s = entry.latency_s;
        } else if (entry.checked) {
            const TemplateData& t = tmpl(point, e);
            row.assign(tiles, tiles + t.symbols.size());
            outputs.resize(t.limits.size());
            t.check.evaluate_one(row, outputs, workspace);
            for (std::size_t i = 0; i < t.limits.size(); ++i) {
                const Limit& limit = t.limits[i];
                out.excess += limit.holds(outputs[i]) ? 0 : excess_of(outputs[i], limit.limit);
            }
        }
        return out;
    }

    void add_memories(PointFacts& out) {
        const std::vector<std::string>& names = space.problem.architecture->level_names();
        const std::vector<Peak>& peaks = evaluation.peaks();
        for (std::size_t m = 0; m < peaks.size(); ++m) {
            const Memory& memory = space.memories[m];
            out.memories.push_back({names[static_cast<std::size_t>(memory.component)],
                                    memory.size_bits, peaks[m].bits,
                                    static_cast<std::uint32_t>(peaks[m].einsum)});
            if (peaks[m].bits > arch::most_bits(memory.size_bits)) {
                out.violation += excess_of(peaks[m].bits, memory.size_bits);
            }
        }
    }

    void fill(const Point& point, PointFacts& out) {
        out = {};
        const Outcome outcome = evaluation.evaluate(point);
        out.verdict = outcome.verdict;
        if (!read(point)) {
            return;
        }
        const bool joined = outcome.legal() || evaluation.joined();
        if (joined) {
            out.energy_j = outcome.energy_j;
            out.latency_s = outcome.latency_s;
            add_memories(out);
        }
        for (std::size_t e = 0; e < space.einsums.size(); ++e) {
            out.einsums.push_back(einsum(point, e));
            out.violation += out.einsums.back().excess;
        }
    }

    void list(const Point& point, std::size_t e, std::size_t symbol) {
        values.clear();
        if (!read(point) || e >= space.einsums.size() || symbol >= tmpl(point, e).symbols.size()) {
            return;
        }
        const TemplateData& t = tmpl(point, e);
        tiles.assign(point.tiles.begin() + static_cast<std::ptrdiff_t>(starts[e]),
                     point.tiles.begin() + static_cast<std::ptrdiff_t>(starts[e + 1]));
        if (*std::min_element(tiles.begin(), tiles.end()) < 1) {
            return;
        }
        std::vector<std::unique_ptr<TileChooser>>& of_einsum = choosers[e];
        of_einsum.resize(space.einsums[e].templates.size());
        std::unique_ptr<TileChooser>& chooser = of_einsum[point.choices[e].tmpl];
        if (!chooser) {
            chooser = std::make_unique<TileChooser>(t, divisors, workspace);
        }
        chooser->between(static_cast<int>(symbol), tiles.data(), candidates);
        for (const double value : candidates) {
            tiles[symbol] = static_cast<std::int64_t>(value);
            const Verdict verdict =
                evaluation.memo().of(e, point.choices[e].tmpl, tiles.data()).verdict;
            if (verdict == Verdict::legal) {
                values.push_back(tiles[symbol]);
            }
        }
    }

    const OpenSpace::Data& space;
    Joiner joiner;
    Evaluation evaluation;
    mapspace::DivisorCache divisors;
    model::FormulaWorkspace workspace;
    std::vector<std::vector<std::unique_ptr<TileChooser>>> choosers;  // by Einsum and template
    std::vector<std::size_t> starts;
    std::vector<double> row, outputs, candidates;
    std::vector<std::int64_t> tiles, values;
};

}  // namespace

struct Inspector::Impl {
    explicit Impl(const OpenSpace& open) : space(open), states(open.data()), by_order(open) {}

    InOrder& in(std::uint32_t order) {
        return by_order.of(order, states);
    }

    void fill(const Point& point) {
        if (point.order == 0) {
            in(0).fill(point, out);
            return;
        }
        if (!by_order.has_shape(point)) {
            out = {};
            out.verdict = Verdict::incompatible;
            return;
        }
        InOrder& own = in(point.order);
        const std::vector<int>& order = own.space.order;
        as_run(own.space, point, inside);
        own.fill(inside, out);
        const std::vector<EinsumFacts> run = out.einsums;
        for (std::size_t i = 0; i < run.size(); ++i) {
            out.einsums[static_cast<std::size_t>(order[i])] = run[i];
        }
        for (MemoryFacts& memory : out.memories) {
            memory.einsum = static_cast<std::uint32_t>(order[memory.einsum]);
        }
    }

    const std::vector<std::int64_t>& list(const Point& point, std::size_t e, std::size_t symbol) {
        const std::uint32_t order = point.order < space.n_orders() ? point.order : 0;
        InOrder& own = in(order);
        if (order == 0) {
            own.list(point, e, symbol);
        } else if (!by_order.has_shape(point) || e >= own.space.order.size()) {
            own.values.clear();
        } else {
            as_run(own.space, point, inside);
            const auto at = std::ranges::find(own.space.order, static_cast<int>(e));
            own.list(inside, static_cast<std::size_t>(at - own.space.order.begin()), symbol);
        }
        return own.values;
    }

    const OpenSpace& space;
    JoinStates states;
    ByOrder<InOrder> by_order;
    Point inside;
    PointFacts out;
};

Inspector::Inspector(const Space& space) : impl_(std::make_unique<Impl>(opened(space))) {}
Inspector::~Inspector() = default;

const PointFacts& Inspector::facts(const Point& point) {
    impl_->fill(point);
    return impl_->out;
}

std::int64_t Inspector::bound(std::uint32_t einsum, std::uint32_t tmpl,
                              std::uint32_t symbol) const {
    return impl_->space.data().einsums[einsum].templates[tmpl].symbols[symbol].bound;
}

const std::vector<std::int64_t>& Inspector::values(const Point& point, std::uint32_t einsum,
                                                   std::uint32_t symbol) {
    return impl_->list(point, einsum, symbol);
}

}  // namespace tessera::search
