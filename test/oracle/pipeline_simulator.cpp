#include "oracle/pipeline_simulator.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <string>

namespace tessera::oracle {

namespace {

struct Interval {
    std::int64_t begin = 0, end = 0;
};

/// Values of a tensor by rank.
using Box = std::map<std::string, Interval>;

bool meet(const Box& a, const Box& b) {
    return std::all_of(a.begin(), a.end(), [&](const auto& rank) {
        const auto other = b.find(rank.first);
        return other == b.end() ||
               (rank.second.begin < other->second.end && other->second.begin < rank.second.end);
    });
}

/// One branch: the loops around the split as it reads them.
struct Branch {
    int place = 0;  ///< in the tree
    const workload::EinsumView* einsum = nullptr;
    const ChainGroup* group = nullptr;
    const ChainRow* row = nullptr;
    std::size_t circle = 0;  ///< of branches that take turns within a round, the first
    std::int64_t first_round = 0;
    std::vector<std::int64_t> began = {};  ///< round of each iteration that has begun
};

class Pipeline {
public:
    Pipeline(const Space& space, const Tree& tree, const AtOnce& branches)
        : space_(space), tree_(tree), at_once_(branches) {
        for (int i = branches.first; i <= branches.last; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const ChainRow& row = *tree.rows[at];
            branches_.push_back(
                {i, &space.einsums[at].paths[static_cast<std::size_t>(row.path)].einsum,
                 tree.groups[at], &row});
        }
        inside_ = shared(branches.first);
        if (branches.first > 0) {
            outside_ = shared(branches.first - 1);
        }
        if (branches.last < static_cast<int>(tree.shared.size())) {
            outside_ = std::max(outside_, shared(branches.last));
        }
        outside_ = std::min(outside_, inside_);
        for (int l = 0; l < inside_; ++l) {
            const SharedLoop& loop = branches_.front().group->prefix[static_cast<std::size_t>(l)];
            if (!loop.spatial) {
                (l < outside_ ? turns_ : iterations_) *= loop.trips;
            }
        }
    }

    /// Branches that have to wait begin a round later, all of them as early as that allows.
    PipelineRun run() {
        find_circles();
        PipelineRun result;
        for (Branch* waits = first_to_wait(result); waits != nullptr;
             waits = first_to_wait(result)) {
            if (waits->first_round > 2 * static_cast<std::int64_t>(branches_.size())) {
                result.possible = false;
                return result;
            }
            const std::size_t circle = waits->circle;
            for (Branch& branch : branches_) {
                branch.first_round += branch.circle == circle ? 1 : 0;
            }
        }
        for (const double seconds : result.round_s) {
            result.latency_s += seconds * static_cast<double>(turns_);
        }
        for (std::size_t m = 0; m < space_.memories.size(); ++m) {
            result.most_bits.push_back(most_bits(m));
        }
        return result;
    }

private:
    /// `later` has to wait for `earlier` in the same iteration (1), for its iteration before (0),
    /// or not at all (-1), by what their first iterations read.
    int wait(const Branch& earlier, const Branch& later) const {
        int found = -1;
        for (const auto& read : later.einsum->tensors) {
            const auto& tensor = space_.workload->tensors[static_cast<std::size_t>(read.tensor)];
            if (!in(tensor.producers, earlier)) {
                continue;
            }
            if (in(tensor.consumers, later)) {
                found = 1;
            } else if (in(tensor.previous_readers, later) &&
                       state_loop(later, read.tensor) >= outside_) {
                found = std::max(found, 0);
            }
        }
        return found;
    }

    /// Whether `to` can be reached from `from`, over a wait within an iteration if `same` asks.
    bool reaches(std::size_t from, std::size_t to, bool same) const {
        std::set<std::pair<std::size_t, bool>> seen = {{from, false}};
        std::queue<std::pair<std::size_t, bool>> open({{from, false}});
        while (!open.empty()) {
            const auto [at, passed] = open.front();
            open.pop();
            for (std::size_t next = 0; next < branches_.size(); ++next) {
                const int w = next == at ? -1 : wait(branches_[at], branches_[next]);
                const std::pair<std::size_t, bool> then{next, passed || w == 1};
                if (w >= 0 && next == to && (then.second || !same)) {
                    return true;
                }
                if (w >= 0 && seen.insert(then).second) {
                    open.push(then);
                }
            }
        }
        return false;
    }

    void find_circles() {
        for (std::size_t i = 0; i < branches_.size(); ++i) {
            branches_[i].circle = i;
            for (std::size_t j = 0; j < i; ++j) {
                if (reaches(i, i, true) && reaches(i, j, false) && reaches(j, i, false)) {
                    branches_[i].circle = j;
                    break;
                }
            }
        }
    }

    /// Goes through all rounds. A branch that has begun goes on in every round; returned is one
    /// that cannot, nothing if there is none.
    Branch* first_to_wait(PipelineRun& result) {
        result.round_s.clear();
        for (Branch& branch : branches_) {
            branch.began.clear();
        }
        for (std::int64_t round = 0; !done(); ++round) {
            std::vector<Branch*> active;
            for (Branch& branch : branches_) {
                if (branch.first_round > round || next(branch) == iterations_) {
                    continue;
                }
                if (!may_begin(branch, round)) {
                    return &branch;
                }
                active.push_back(&branch);
            }
            for (Branch* branch : active) {
                branch->began.push_back(round);
            }
            result.round_s.push_back(serve(active));
        }
        return nullptr;
    }

    int shared(int i) const {
        return tree_.shared[static_cast<std::size_t>(i)];
    }
    std::int64_t next(const Branch& branch) const {
        return static_cast<std::int64_t>(branch.began.size());
    }
    bool done() const {
        return std::all_of(branches_.begin(), branches_.end(),
                           [&](const Branch& b) { return next(b) == iterations_; });
    }

    /// Number of the iteration of each loop around, those further out at their first.
    std::vector<std::int64_t> digits(const Branch& branch, std::int64_t iteration) const {
        std::vector<std::int64_t> found(static_cast<std::size_t>(inside_), 0);
        for (int l = inside_ - 1; l >= outside_; --l) {
            const SharedLoop& loop = branch.group->prefix[static_cast<std::size_t>(l)];
            if (!loop.spatial) {
                found[static_cast<std::size_t>(l)] = iteration % loop.trips;
                iteration /= loop.trips;
            }
        }
        return found;
    }

    Box box(const Branch& branch, const workload::LocalTensor& tensor,
            std::int64_t iteration) const {
        std::vector<Interval> ranges;
        for (const auto& v : branch.einsum->rank_variables) {
            ranges.push_back({0, v.bound});
        }
        const std::vector<std::int64_t> number = digits(branch, iteration);
        for (std::size_t l = 0; l < number.size(); ++l) {
            const SharedLoop& loop = branch.group->prefix[l];
            Interval& range = ranges[static_cast<std::size_t>(loop.rank_variable)];
            const std::int64_t n = number[l];
            const std::int64_t begin = range.begin + n * loop.tile + (n > 0 ? loop.prologue : 0);
            range = {begin, std::min(range.end, range.begin + (n + 1) * loop.tile + loop.prologue)};
        }
        Box values;
        for (const auto& rank : tensor.ranks) {
            Interval reach{rank.constant, rank.constant + 1};
            for (const auto& term : rank.terms) {
                const Interval& range = ranges[static_cast<std::size_t>(term.rank_variable)];
                const std::int64_t a = term.coefficient * range.begin;
                const std::int64_t b = term.coefficient * (range.end - 1);
                reach = {reach.begin + std::min(a, b), reach.end + std::max(a, b)};
            }
            values[rank.rank] = reach;
        }
        return values;
    }

    bool in(const std::vector<int>& einsums, const Branch& branch) const {
        return std::count(einsums.begin(), einsums.end(), branch.einsum->einsum) > 0;
    }

    bool may_begin(const Branch& branch, std::int64_t round) const {
        const std::int64_t iteration = next(branch);
        for (const auto& read : branch.einsum->tensors) {
            const auto& tensor = space_.workload->tensors[static_cast<std::size_t>(read.tensor)];
            for (const Branch& other : branches_) {
                if (other.circle == branch.circle || !in(tensor.producers, other)) {
                    continue;
                }
                if (in(tensor.previous_readers, branch) &&
                    state_loop(branch, read.tensor) >= outside_ && iteration > 0 &&
                    !finished(other, iteration - 1, round)) {
                    return false;
                }
                if (in(tensor.consumers, branch) && !made(other, branch, read, iteration, round)) {
                    return false;
                }
            }
        }
        return !would_replace(branch, iteration, round);
    }

    /// A state that other branches have still to read, all of them being at the same one.
    bool would_replace(const Branch& branch, std::int64_t iteration, std::int64_t round) const {
        for (const auto& written : branch.einsum->tensors) {
            const auto& tensor = space_.workload->tensors[static_cast<std::size_t>(written.tensor)];
            for (const Branch& other : branches_) {
                if (other.circle != branch.circle && in(tensor.producers, branch) &&
                    in(tensor.previous_readers, other) &&
                    state_loop(branch, written.tensor) < outside_ &&
                    !finished(other, iteration, round)) {
                    return true;
                }
            }
        }
        return false;
    }

    /// Place of the loop over the iterative variable of a state among the loops around; -1: further
    /// in, or none.
    int state_loop(const Branch& branch, int tensor) const {
        for (const auto& t : branch.einsum->tensors) {
            for (int l = 0; t.tensor == tensor && t.state_variable >= 0 && l < inside_; ++l) {
                const SharedLoop& loop = branch.group->prefix[static_cast<std::size_t>(l)];
                if (loop.rank_variable == t.state_variable) {
                    return l;
                }
            }
        }
        return -1;
    }

    static bool finished(const Branch& branch, std::int64_t iteration, std::int64_t round) {
        return static_cast<std::int64_t>(branch.began.size()) > iteration &&
               branch.began[static_cast<std::size_t>(iteration)] < round;
    }

    /// In all iterations that come before in turn, as far as this one reads of them.
    bool made(const Branch& writer, const Branch& reader, const workload::LocalTensor& read,
              std::int64_t iteration, std::int64_t round) const {
        const Box needed = box(reader, read, iteration);
        for (const auto& written : writer.einsum->tensors) {
            for (std::int64_t k = 0; written.tensor == read.tensor && k <= iteration; ++k) {
                if (meet(needed, box(writer, written, k)) && !finished(writer, k, round)) {
                    return false;
                }
            }
        }
        return true;
    }

    /// Branches that take turns go through a round at a steady pace: a component is kept free for
    /// them all the time, as much as whichever of them needs it most.
    std::map<std::size_t, std::vector<double>> busy_together(
        const std::vector<Branch*>& active) const {
        std::map<std::size_t, std::vector<double>> busy_s;
        std::map<std::size_t, double> turns_s;
        for (const Branch* branch : active) {
            turns_s[branch->circle] += branch->row->latency_s;
        }
        for (const Branch* branch : active) {
            std::vector<double>& all = busy_s[branch->circle];
            all.resize(space_.components.size(), 0);
            for (std::size_t c = 0; c < all.size() && branch->row->latency_s > 0; ++c) {
                const double share = branch->row->busy_s[c] / branch->row->latency_s;
                all[c] = std::max(all[c], share * turns_s[branch->circle]);
            }
        }
        return busy_s;
    }

    /// Seconds until all components are done with an iteration of each branch.
    double serve(const std::vector<Branch*>& active) const {
        constexpr int parts = 2;  // of an iteration, so that branches take turns
        const double rounds = static_cast<double>(turns_ * iterations_);
        std::vector<std::queue<double>> jobs(space_.components.size());
        for (int part = 0; part < parts; ++part) {
            for (const auto& [circle, busy_s] : busy_together(active)) {
                for (std::size_t c = 0; c < jobs.size(); ++c) {
                    jobs[c].push(busy_s[c] / rounds / parts);
                }
            }
        }
        using Event = std::pair<double, std::size_t>;  // when a component is done with a job
        std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
        const auto begin = [&](std::size_t c, double now) {
            if (!jobs[c].empty()) {
                events.emplace(now + jobs[c].front(), c);
                jobs[c].pop();
            }
        };
        for (std::size_t c = 0; c < jobs.size(); ++c) {
            begin(c, 0);
        }
        double now = 0;
        while (!events.empty()) {
            const Event event = events.top();
            events.pop();
            now = event.first;
            begin(event.second, now);
        }
        return now;
    }

    const Backing* backing(const ChainGroup& group, int tensor) const {
        const auto found = std::find_if(group.backings.begin(), group.backings.end(),
                                        [&](const Backing& b) { return b.tensor == tensor; });
        return found == group.backings.end() ? nullptr : &*found;
    }

    /// Number of the tile of a tensor that an iteration uses: how often the loops above its holder
    /// have turned, and for a line buffer the loop with which it moves.
    std::int64_t tile(const Branch& branch, const Backing& held, std::int64_t iteration) const {
        std::int64_t number = 0;
        const std::vector<std::int64_t> all = digits(branch, iteration);
        const int loops = std::min(held.persistent ? 0 : held.shared_loops(), inside_);
        for (int l = outside_; l < loops; ++l) {
            const SharedLoop& loop = branch.group->prefix[static_cast<std::size_t>(l)];
            number = loop.spatial ? number : number * loop.trips + all[static_cast<std::size_t>(l)];
        }
        return number;
    }

    /// By the branch itself, or by one with which it takes turns.
    bool made_in_turn(const Branch& branch, const std::vector<int>& producers) const {
        return std::any_of(branches_.begin(), branches_.end(), [&](const Branch& other) {
            return other.circle == branch.circle && in(producers, other);
        });
    }

    /// The most tiles of a tensor that are kept in one round.
    std::int64_t tiles_kept(int tensor) const {
        const auto& t = space_.workload->tensors[static_cast<std::size_t>(tensor)];
        std::map<std::int64_t, Interval> life;  // rounds, by tile
        std::int64_t last = 0;
        for (const Branch& branch : branches_) {
            const Backing* held = backing(*branch.group, tensor);
            for (std::int64_t i = 0; held != nullptr && i < iterations_; ++i) {
                const std::int64_t round = branch.began[static_cast<std::size_t>(i)];
                const int m = state_loop(branch, tensor);
                const bool older = in(t.previous_readers, branch) &&
                                   !made_in_turn(branch, t.producers) && m >= outside_ &&
                                   digits(branch, i)[static_cast<std::size_t>(m)] > 0;
                const std::int64_t own = tile(branch, *held, i);
                for (std::int64_t used = older ? own - 1 : own; used <= own; ++used) {
                    Interval& kept = life.try_emplace(used, Interval{round, round}).first->second;
                    kept = {std::min(kept.begin, round), std::max(kept.end, round)};
                }
                last = std::max(last, round);
            }
        }
        std::int64_t most = 1;
        for (std::int64_t round = 0; round <= last; ++round) {
            most =
                std::max(most, static_cast<std::int64_t>(
                                   std::count_if(life.begin(), life.end(), [&](const auto& one) {
                                       return one.second.begin <= round && round <= one.second.end;
                                   })));
        }
        return most;
    }

    int shared_between(int i, int j) const {
        int fewest = std::numeric_limits<int>::max();
        for (int k = std::min(i, j); k < std::max(i, j); ++k) {
            fewest = std::min(fewest, shared(k));
        }
        return fewest;
    }

    double most_bits(std::size_t m) const {
        const int n = static_cast<int>(tree_.rows.size());
        double bits = 0;
        for (int j = 0; j < n; ++j) {
            const auto at = static_cast<std::size_t>(j);
            const int width = static_cast<int>(tree_.groups[at]->prefix.size()) + 1;
            const bool runs = at_once_.first <= j && j <= at_once_.last;
            const int nearest = std::clamp(j, at_once_.first, at_once_.last);
            const int deepest = runs ? width : std::min(shared_between(j, nearest), width);
            for (int d = 0; d < deepest; ++d) {
                bits +=
                    tree_.rows[at]
                        ->bits[m * static_cast<std::size_t>(width) + static_cast<std::size_t>(d)];
            }
        }
        for (int t = 0; t < static_cast<int>(space_.life.size()); ++t) {
            double largest = 0;
            for (int leaf = at_once_.first; leaf <= at_once_.last; ++leaf) {
                largest = std::max(largest, tensor_bits(m, t, leaf));
            }
            bits += largest > 0 ? largest * static_cast<double>(tiles_kept(t)) : 0;
        }
        return bits;
    }

    /// Of one tile of the tensor while one Einsum runs in turn.
    double tensor_bits(std::size_t m, int tensor, int leaf) const {
        const auto& life = space_.life[static_cast<std::size_t>(tensor)];
        bool lives = life.first <= leaf && leaf <= life.second;
        double bits = 0;
        for (int j = 0; j < static_cast<int>(tree_.groups.size()); ++j) {
            const Backing* b = backing(*tree_.groups[static_cast<std::size_t>(j)], tensor);
            if (b == nullptr || b->memory != space_.memories[m].name) {
                continue;
            }
            const bool kept = shared_between(leaf, j) > b->depth || b->persistent;
            lives = lives || kept;
            bits = kept || j < leaf ? std::max(bits, b->bits) : bits;
        }
        return lives ? bits : 0;
    }

    const Space& space_;
    const Tree& tree_;
    AtOnce at_once_;
    std::vector<Branch> branches_;
    int inside_ = 0, outside_ = 0;
    std::int64_t iterations_ = 1, turns_ = 1;
};

}  // namespace

std::vector<std::vector<AtOnce>> all_overlaps(const std::vector<int>& shared) {
    const int n = static_cast<int>(shared.size()) + 1;
    std::vector<std::vector<AtOnce>> found = {{}};
    std::vector<AtOnce> chosen;
    const auto loops = [&](int i) {
        return i < 0 || i >= n - 1 ? 0 : shared[static_cast<std::size_t>(i)];
    };
    const std::function<void(int)> extend = [&](int from) {
        for (int first = from; first < n; ++first) {
            for (int last = first + 1; last < n && loops(last - 1) == loops(first); ++last) {
                // A branch that shares more loops with a neighbour is a part of another one.
                if (loops(first - 1) > loops(first) || loops(last) > loops(first)) {
                    continue;
                }
                chosen.push_back({first, last});
                found.push_back(chosen);
                extend(last + 1);
                chosen.pop_back();
            }
        }
    };
    extend(0);
    return found;
}

PipelineRun simulate(const Space& space, const Tree& tree, const AtOnce& branches) {
    return Pipeline(space, tree, branches).run();
}

double latency_s(const Space& space, const Tree& tree, const std::vector<AtOnce>& overlap) {
    double total_s = 0;
    std::set<int> at_once;
    for (const AtOnce& branches : overlap) {
        const PipelineRun run = simulate(space, tree, branches);
        if (!run.possible) {
            return std::numeric_limits<double>::infinity();
        }
        for (std::size_t m = 0; m < space.memories.size(); ++m) {
            if (run.most_bits[m] > space.memories[m].size_bits * (1 + 1e-9)) {
                return std::numeric_limits<double>::infinity();
            }
        }
        total_s += run.latency_s;
        for (int i = branches.first; i <= branches.last; ++i) {
            at_once.insert(i);
        }
    }
    for (int i = 0; i < static_cast<int>(tree.rows.size()); ++i) {
        total_s += at_once.contains(i) ? 0 : tree.rows[static_cast<std::size_t>(i)]->latency_s;
    }
    return total_s;
}

}  // namespace tessera::oracle
