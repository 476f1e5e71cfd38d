// One pair of rows, as join_rows.cpp has it for Einsums in turn. Map:
//   Stages           how many rounds branches lag behind
//   PipelinePair     costs, bounds, trip counts, what memories hold
//   closed rows      the pipeline ends with this Einsum: its rounds become latency, the room of all
//                    its branches and of tiles in flight becomes a peak
//   open rows        it may go on: busy times, room and tiles are kept
#include "pipeline_rows.hpp"

#include <algorithm>

#include "mapspace/relaxed/completion_bounds.hpp"
#include "model/rounds.hpp"
#include "tessera/arch/path.hpp"
#include "tessera/base/hash.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/model/coexistence.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace::detail {
namespace {

/// Pairs of rows between two looks at the stop token.
constexpr std::size_t poll_every = 256;
/// Rows of a pairing before they are pruned for the first time.
constexpr std::size_t first_pruned = 1u << 14;

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

/// Prunes when rows have doubled.
class Pruned {
public:
    void hold(PipelineState& state) {
        if (state.rows() >= next_) {
            prune_pareto(state);
            next_ = std::max(next_, 2 * state.rows());
        }
    }

private:
    std::size_t next_ = first_pruned;
};

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
          shared_(at(join_.n_left + 2)),
          joined_(at(join_.n_right + 2)),
          peak_(at(std::max(join_.n_open, join_.n_left) + 1)),
          trips_(at(join_.n_open)) {}

    void run() {
        index_right();
        Pruned closed, open;
        for (std::size_t i = 0; i < left_.rows(); ++i) {
            if (i % poll_every == 0) {
                base::poll_stop();
            }
            const std::uint64_t key = hash(left_.trips_of(i));
            auto found = std::ranges::lower_bound(index_, std::pair(key, 0u));
            for (; found != index_.end() && found->first == key; ++found) {
                if (out_.pairs % poll_every == 0) {
                    base::poll_stop();
                }
                if (same_loops(i, found->second)) {
                    ++out_.pairs;
                    add(i, found->second);
                }
            }
            closed.hold(out_.closed);
            open.hold(out_.open);
        }
        prune_pareto(out_.closed);
        prune_pareto(out_.open);
    }

private:
    std::uint64_t hash(const std::int64_t* trips) const {
        return base::hash_row(trips, at(join_.n_left));
    }

    /// Right rows by the trip counts of the loops that become the open ones.
    void index_right() {
        std::vector<std::int64_t> key(at(join_.n_left));
        for (std::size_t r = 0; r < right_.rows(); ++r) {
            if (!bound_.has_completion(r)) {
                continue;
            }
            for (std::size_t j = 0; j < key.size(); ++j) {
                key[j] = right_.trips_of(r)[join_.right_of_left[j]];
            }
            index_.emplace_back(hash(key.data()), static_cast<std::uint32_t>(r));
        }
        std::ranges::sort(index_);
    }

    bool same_loops(std::size_t i, std::uint32_t j) const {
        for (int q = 0; q < join_.n_left; ++q) {
            if (left_.trips_of(i)[q] != right_.trips_of(j)[join_.right_of_left[at(q)]]) {
                return false;
            }
        }
        return true;
    }

    /// Iterations of the temporal ones among joined loops [from, to).
    double iterations(std::uint32_t j, int from, int to) const {
        double count = 1;
        for (int p = from; p < to; ++p) {
            const int loop = join_.order[at(p)];
            if (right_.structure.loops[at(loop)].spatial_dim < 0) {
                count *= static_cast<double>(right_.trips_of(j)[loop]);
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
        const int s = join_.n_left, n = join_.n_right, open = join_.n_open;
        double* shared = shared_.data() + 1;  // index -1..s
        double* joined = joined_.data() + 1;  // index -1..n
        double* peak = peak_.data();
        find_shared(m, l, r, shared);
        const model::Appended all{&l[left_.layout.held(m, 0)], &r[right_.occupancy_column(m, 0)],
                                  shared, s};
        for (int d = -1; d <= n; ++d) {
            joined[d] = all.held(d);
        }
        std::ranges::fill(peak_, 0.0);
        for (int d = 0; d <= s; ++d) {
            double& target = peak[std::min(d, open)];
            target = std::max(target, all.peak(l[left_.layout.peak(m, d)], d));
        }
        const OwnSize* own_size = pairing_.own_sizes[at(m)];
        const double held = r[right_.occupancy_column(m, n)];
        double room = joined[n];
        if (own_size != nullptr) {  // what it holds while it runs alone counts in bits, besides
            peak[open] = std::max(peak[open], joined[n]);
            const double own = std::max(0.0, held - own_size->taken_bits - shared[s]);
            room = own * own_size->share + (plan_.branch ? l[left_.layout.room(m)] : 0);
        } else if (plan_.branch) {
            room = l[left_.layout.room(m)] + held - shared[s];
        }
        put_suffix_maxima(peak, open, open_, out_.open.layout, m);
        if (!(room <= most) || !(open_[at(out_.open.layout.peak(m, 0))] <= most)) {
            return false;
        }
        const double closed_room = room + in_flight(m, j);
        ends = ends && closed_room <= most;
        peak[open] = own_size != nullptr ? peak[open] : std::max(peak[open], closed_room);
        put_suffix_maxima(peak, open, closed_, out_.closed.layout, m);
        ends = ends && closed_[at(out_.closed.layout.peak(m, 0))] <= most;
        if (!ends && !plan_.may_go_on) {
            return false;
        }
        double live = joined[open - 1];
        for (const SizeSource& z : join_.sizes) {
            if (z.tracked == m && z.level == open && z.counts) {
                live += size_of(l, r, z);
            }
        }
        put_held(joined, live, open, closed_, out_.closed.layout, m);
        if (plan_.may_go_on) {
            put_held(joined, live, open, open_, out_.open.layout, m);
            open_[at(out_.open.layout.room(m))] = room;
        }
        return true;
    }

    static void put_suffix_maxima(const double* peak, int open, std::vector<double>& row,
                                  const PipelineLayout& layout, int m) {
        double highest = 0;
        for (int d = open; d >= 0; --d) {
            highest = std::max(highest, peak[d]);
            row[at(layout.peak(m, d))] = highest;
        }
    }

    static void put_held(const double* joined, double live, int open, std::vector<double>& row,
                         const PipelineLayout& layout, int m) {
        for (int d = -1; d < open; ++d) {
            row[at(layout.held(m, d))] = joined[d];
        }
        row[at(layout.held(m, open))] = live;
    }

    /// What both sides hold in memory m, by depth.
    void find_shared(int m, const double* l, const double* r, double* shared) {
        std::ranges::fill(shared_, 0.0);
        for (const SharedTensor& x : join_.shared) {
            if (x.tracked == m) {
                const double twice = std::min(l[left_.layout.size(x.left_index)],
                                              r[right_.size_column(x.right_index)]);
                for (int d = x.level; d <= join_.n_left; ++d) {
                    shared[d] += twice;
                }
            }
        }
    }

    double size_of(const double* l, const double* r, const SizeSource& z) const {
        return std::max(z.left < 0 ? 0.0 : l[left_.layout.size(z.left)],
                        z.right < 0 ? 0.0 : r[right_.size_column(z.right)]);
    }

    void append(std::vector<double>& row, const double* l, const double* r, std::size_t i,
                std::uint32_t j, PipelineState& to) {
        for (std::size_t z = 0; z < join_.sizes.size(); ++z) {
            row[at(to.layout.size(static_cast<int>(z)))] = size_of(l, r, join_.sizes[z]);
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
    std::vector<std::pair<std::uint64_t, std::uint32_t>> index_;  ///< hash, right row
    std::vector<double> closed_, open_, busy_, tiles_, costs_, shared_, joined_, peak_;
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

void prune_pareto(PipelineState& s) {
    const std::vector<std::uint32_t> keep =
        pareto_rows(s.values.data(), s.layout.stride(), s.layout.compared(), s.trips.data(),
                    s.layout.n, s.rows());
    keep_rows(s.values, at(s.layout.stride()), keep);
    keep_rows(s.trips, at(s.layout.n), keep);
    keep_rows(s.from, 1, keep);
}

void combine(const PipelinePairing& pairing, const std::vector<TrackedMemory>& memories,
             const StepBound& bound, PipelineRows& out) {
    PipelinePair(pairing, memories, bound, out).run();
}

}  // namespace tessera::mapspace::detail
