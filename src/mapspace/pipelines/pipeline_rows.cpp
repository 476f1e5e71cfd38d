// One pair of rows, as join_rows.cpp has it for Einsums in turn. Map:
//   Stages           how many rounds branches lag behind
//   PipelinePair     costs, bounds, trip counts, what memories hold
//   closed rows      the pipeline ends with this Einsum: its rounds become latency, the room of all
//                    its branches and of tiles in flight becomes a peak
//   open rows        it may go on: busy times, room and tiles are kept
#include "pipeline_rows.hpp"

#include <algorithm>

#include "mapspace/join/fused_structure.hpp"
#include "mapspace/join/join_held.hpp"
#include "mapspace/relaxed/completion_bounds.hpp"
#include "model/rounds.hpp"
#include "tessera/arch/path.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace::detail {
namespace {

/// Pairs of rows between two looks at the stop token.
constexpr std::size_t poll_every = 256;
/// Rows of a pairing before they are pruned for the first time: they have many columns.
constexpr std::size_t first_pruned = 1u << 14;
std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

class PipelinePair {
public:
    PipelinePair(const PipelinePairing& pairing, const std::vector<TrackedMemory>& memories,
                 const StepBound& bound, PipelineRows& out)
        : pairing_(pairing),
          left_(pairing.left),
          right_(pairing.right),
          plan_(pairing.plan),
          join_(pairing.plan.join),
          memories_(memories),
          bound_(bound),
          out_(out),
          closed_(at(out.closed.layout.stride())),
          open_(at(out.open.layout.stride())),
          busy_(at(plan_.n_stages() * right_.n_busy)),
          tiles_(plan_.open.buffers.size()),
          costs_(at(left_.layout.costs)),
          held_(join_, left_.layout, right_, false),
          trips_(at(join_.n_open)) {}

    void run() {
        const MatchingRows matching(right_, join_.right_of_left, bound_);
        RowLimit closed(first_pruned), open(first_pruned);
        for (std::size_t i = 0; i < left_.rows(); ++i) {
            if (i % poll_every == 0) {
                base::poll_stop();
            }
            matching.for_each(left_.trips_of(i), [&](std::uint32_t j) {
                if (out_.pairs++ % poll_every == 0) {
                    base::poll_stop();
                }
                add(i, j);
            });
            closed.hold(out_.closed);
            open.hold(out_.open);
        }
        prune_pareto(out_.closed);
        prune_pareto(out_.open);
    }

private:
    /// Iterations of the temporal ones among joined loops [from, to).
    double iterations(std::uint32_t j, int from, int to) const {
        double count = 1;
        for (int p = from; p < to; ++p) {
            const int loop = join_.order[at(p)];
            if (right_.structure.loops[at(loop)].spatial_dim < 0) {
                count *= static_cast<double>(
                    trips_of_key(pairing_.match_tile_shapes, right_.trips_of(j)[loop]));
            }
        }
        return count;
    }

    bool of_use(double latency_s, std::uint32_t j) {
        costs_.back() = latency_s;
        return !bound_.pruned_by_bound(costs_.data()) &&
               !bound_.pruned_by_completions(costs_.data(), j);
    }

    void add(std::size_t i, std::uint32_t j) {
        const double* l = left_.row(i);
        const double* r = right_.row(j);
        const int latency = left_.layout.latency();
        const double weighted = r[latency] + (plan_.branch ? l[left_.layout.weighted()] : 0);
        if (costs_.size() > 1) {
            costs_[0] = l[0] + r[0];
        }
        if (!of_use(l[latency] + weighted, j)) {
            return;
        }
        find_busy(l, r);
        const int stages = plan_.n_stages();
        const int split = plan_.open.split;
        const double count = split < 0 ? 1 : iterations(j, plan_.outside, split);
        const double closed_s =
            l[latency] + model::rounds_s(count, stages, right_.n_busy, busy_.data(), true);
        const bool goes_on = plan_.may_go_on;
        const bool ends = of_use(closed_s, j);
        if (!ends && !goes_on) {
            return;
        }
        find_tiles(l, r);
        bool fits = ends;
        for (int m = 0; m < static_cast<int>(memories_.size()); ++m) {
            if (!combine_memory(m, l, r, j, fits)) {
                return;
            }
        }
        std::copy_n(costs_.begin(), costs_.size() - 1, closed_.begin());
        std::copy_n(costs_.begin(), costs_.size() - 1, open_.begin());
        for (int p = 0; p < join_.n_open; ++p) {
            trips_[at(p)] = right_.trips_of(j)[join_.order[at(p)]];
        }
        if (fits) {
            closed_[at(latency)] = closed_s;
            closed_.back() = 0;
            append(closed_, l, r, i, j, out_.closed);
        }
        if (goes_on) {
            open_[at(latency)] = l[latency];
            open_.back() = weighted;
            std::ranges::copy(busy_, open_.begin() + out_.open.layout.busy(0));
            std::ranges::copy(tiles_, open_.begin() + out_.open.layout.tile(0));
            append(open_, l, r, i, j, out_.open);
        }
    }

    void find_busy(const double* l, const double* r) {
        std::ranges::fill(busy_, 0.0);
        if (plan_.branch) {
            std::copy_n(l + left_.layout.busy(0), left_.layout.stages * right_.n_busy,
                        busy_.begin());
        }
        double* own = busy_.data() + plan_.stages.back() * right_.n_busy;
        const int alone = right_.n_busy - 1;
        for (int u = 0; u < alone; ++u) {
            own[u] += r[right_.busy_column(u)];
        }
        own[alone] = std::max(own[alone], r[right_.busy_column(alone)]);
    }

    /// Of the largest user's box.
    void find_tiles(const double* l, const double* r) {
        for (std::size_t b = 0; b < tiles_.size(); ++b) {
            const int left = plan_.tile_left[b];
            tiles_[b] = left < 0 ? 0.0 : l[left_.layout.tile(left)];
            for (const int right : plan_.tile_right[b]) {
                tiles_[b] = std::max(tiles_[b], r[right_.size_column(right)]);
            }
        }
    }

    /// Bits of memory m for tiles that are in flight besides one of each.
    double in_flight(int m, std::uint32_t j) const {
        double bits = 0;
        for (std::size_t b = 0; b < tiles_.size(); ++b) {
            const PipelineBuffer& buffer = plan_.open.buffers[b];
            if (buffer.tracked != m || buffer.first == buffer.last) {
                continue;
            }
            const int split = plan_.open.split;
            const int above = std::clamp(buffer.depth, plan_.outside, split);
            const double tiles =
                model::tiles_in_flight(buffer.last - buffer.first, iterations(j, above, split),
                                       iterations(j, plan_.outside, above));
            bits += tiles_[b] * (tiles - 1);
        }
        return bits;
    }

    /// Held, peak and room of memory m. False: neither kind fits. `ends`: so far the closed one
    /// does.
    bool combine_memory(int m, const double* l, const double* r, std::uint32_t j, bool& ends) {
        const double most = arch::most_bits(memories_[at(m)].size_bits);
        const int open = join_.n_open;
        held_.find(m, l, r);
        std::vector<double>& peak = held_.peak();
        double& innermost = peak[at(open)];
        const double all = held_.held(join_.n_right);
        const OwnSize* own_size = pairing_.own_sizes[at(m)];
        const double own = r[right_.occupancy_column(m, join_.n_right)] - held_.shared();
        double room = all;
        if (own_size != nullptr) {  // what it holds while it runs alone counts in bits, besides
            innermost = std::max(innermost, all);
            room = std::max(0.0, own - own_size->taken_bits) * own_size->share +
                   (plan_.branch ? l[left_.layout.room(m)] : 0);
        } else if (plan_.branch) {
            room = l[left_.layout.room(m)] + own;
        }
        put_suffix_maxima(peak, open_, out_.open.layout, m);
        if (!(room <= most) || !(open_[at(out_.open.layout.peak(m, 0))] <= most)) {
            return false;
        }
        if (own_size == nullptr) {
            innermost = std::max(innermost, room + in_flight(m, j));
        }
        put_suffix_maxima(peak, closed_, out_.closed.layout, m);
        ends = ends && closed_[at(out_.closed.layout.peak(m, 0))] <= most;
        if (!ends && !plan_.may_go_on) {
            return false;
        }
        const double live = held_.live(m, l, r);
        put_held(live, closed_, out_.closed.layout, m);
        if (plan_.may_go_on) {
            put_held(live, open_, out_.open.layout, m);
            open_[at(out_.open.layout.room(m))] = room;
        }
        return true;
    }

    void put_suffix_maxima(const std::vector<double>& peak, std::vector<double>& row,
                           const PipelineLayout& layout, int m) const {
        double highest = 0;
        for (int d = join_.n_open; d >= 0; --d) {
            highest = std::max(highest, peak[at(d)]);
            row[at(layout.peak(m, d))] = highest;
        }
    }

    void put_held(double live, std::vector<double>& row, const PipelineLayout& layout,
                  int m) const {
        for (int d = -1; d < join_.n_open; ++d) {
            row[at(layout.held(m, d))] = held_.held(d);
        }
        row[at(layout.held(m, join_.n_open))] = live;
    }

    void append(std::vector<double>& row, const double* l, const double* r, std::size_t i,
                std::uint32_t j, PipelineState& to) {
        for (std::size_t z = 0; z < join_.sizes.size(); ++z) {
            row[at(to.layout.size(static_cast<int>(z)))] = held_.size_of(l, r, join_.sizes[z]);
        }
        to.values.insert(to.values.end(), row.begin(), row.end());
        to.trips.insert(to.trips.end(), trips_.begin(), trips_.end());
        to.from.push_back({pairing_.left_index, static_cast<std::uint32_t>(i), pairing_.right_index,
                           j, pairing_.plan_index});
    }

    const PipelinePairing& pairing_;
    const PipelineState& left_;
    const PmappingGroup& right_;
    const PipelinePlan& plan_;
    const JoinPlan& join_;
    const std::vector<TrackedMemory>& memories_;
    const StepBound& bound_;
    PipelineRows& out_;
    std::vector<double> closed_, open_, busy_, tiles_, costs_;
    HeldTogether<PipelineLayout> held_;
    std::vector<std::int64_t> trips_;
};

}  // namespace

Stages::Stages(const workload::Workload& workload)
    : reads_(workload.einsums.size(), std::vector<char>(workload.einsums.size(), 0)) {
    for (const workload::Tensor& tensor : workload.tensors) {
        for (const int writer : tensor.producers) {
            for (const int reader : tensor.consumers) {
                reads_[at(reader)][at(writer)] = reader != writer;
            }
        }
    }
}

std::vector<int> Stages::of(const std::vector<int>& branches) const {
    std::vector<int> out;
    for (std::size_t b = 0; b < branches.size(); ++b) {
        out.push_back(0);
        for (std::size_t before = 0; before < b; ++before) {
            if (reads_[at(branches[b])][at(branches[before])] != 0) {
                out[b] = std::max(out[b], out[before] + 1);
            }
        }
    }
    return out;
}

int PipelinePlan::n_stages() const {
    return *std::ranges::max_element(stages) + 1;
}

void combine(const PipelinePairing& pairing, const std::vector<TrackedMemory>& memories,
             const StepBound& bound, PipelineRows& out) {
    PipelinePair(pairing, memories, bound, out).run();
}

}  // namespace tessera::mapspace::detail
