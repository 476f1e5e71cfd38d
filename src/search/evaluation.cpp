#include "search/evaluation.hpp"

#include <bit>
#include <utility>

namespace tessera::search {

void Followed::join(const Way& way, const std::vector<std::int64_t>& trips) {
    open_trips.resize(static_cast<std::size_t>(way.plan.n_open));
    for (int p = 0; p < way.plan.n_open; ++p) {
        open_trips[p] = trips[way.plan.order[p]];
    }
    state = way.next;
}

bool Followed::fits(const Way& way, const std::vector<std::int64_t>& trips) const {
    for (int j = 0; j < way.plan.n_left; ++j) {
        if (trips[way.plan.right_of_left[j]] != open_trips[j]) {
            return false;
        }
    }
    return true;
}

void Evaluation::add_costs(const EinsumData& einsum, const TemplateData& t,
                           const EinsumMemo::Entry& found, int shared, Outcome& out) {
    const Pattern& pattern = t.patterns[static_cast<std::size_t>(found.pattern)];
    out.energy_j += found.costs[0];
    out.latency_s += found.costs[1];
    capacity_.add_einsum(shared);
    for (const mapspace::BackedTensor& b : einsum.structures[pattern.structure].tensors) {
        if (b.shares_buffer_of >= 0) {
            capacity_.share_buffer(b.tensor, b.shares_buffer_of);
        }
    }
    for (std::size_t i = 0; i < t.holdings.size(); ++i) {
        const Holding& h = t.holdings[i];
        const int depth =
            h.loops_above < 0
                ? -1
                : std::popcount(pattern.loops & ((1ull << t.fused_of_loop[h.loops_above]) - 1));
        capacity_.add({h.memory, depth, h.tensor, found.costs[2 + i]});
    }
}

Outcome Evaluation::evaluate(const Point& point) {
    Outcome out;
    capacity_.start();
    out.verdict = walk(point, [&](std::size_t, const EinsumData& einsum, const TemplateData& t,
                                  const EinsumMemo::Entry& found, const Way& way) {
        add_costs(einsum, t, found, way.plan.n_left, out);
    });
    if (out.legal() && !capacity_.fits()) {
        out.verdict = Verdict::capacity;
    }
    return out;
}

std::uint64_t Evaluation::take_work() {
    return std::exchange(work_, 0);
}

}  // namespace tessera::search
