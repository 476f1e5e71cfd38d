#include "join_relaxed.hpp"

#include <algorithm>
#include <utility>

#include "tessera/base/stop.hpp"

namespace tessera::mapspace::detail {
namespace {

constexpr std::size_t max_choices = 20000;
/// Rows between two looks at the stop token.
constexpr std::size_t poll_every = 256;

}  // namespace

template <class Loops>
void CompatibilityIndex::write_key(const HeldTensor& t, const std::vector<int>& ranks,
                                   const Loops& loops, const std::int64_t* trips,
                                   Scratch& to) const {
    if (detail_ == Detail::memory) {
        to.key.assign({t.memory, 0});
        return;
    }
    const bool by_trips = detail_ == Detail::trips;
    to.key.assign({t.memory, t.level, t.window_rank, t.window_base,
                   t.window_rank >= 0 && by_trips ? trips[t.level] : 0});
    to.loops.clear();
    for (int j = 0; j < t.level; ++j) {
        to.loops.push_back({ranks[j], loops[j].spatial_dim, by_trips ? trips[j] : 0});
    }
    std::sort(to.loops.begin(), to.loops.end());
    for (const auto& loop : to.loops) {
        to.key.insert(to.key.end(), loop.begin(), loop.end());
    }
}

std::int32_t CompatibilityIndex::of_group(const GroupStructure& g, std::size_t index,
                                          const std::int64_t* trips) {
    const BackedTensor& t = g.tensors[index];
    write_key(t, t.rank_of_loop, g.loops, trips, scratch_);
    auto& known = known_[static_cast<std::size_t>(t.tensor)];
    return known.try_emplace(scratch_.key, static_cast<std::int32_t>(known.size())).first->second;
}

std::int32_t CompatibilityIndex::of_state(const StateStructure& st, std::size_t live,
                                          const std::int64_t* trips) const {
    const LiveTensor& t = st.live[live];
    thread_local Scratch scratch;
    write_key(t, t.ranks, st.loops, trips, scratch);
    const auto& known = known_[static_cast<std::size_t>(t.tensor)];
    const auto it = known.find(scratch.key);
    return it == known.end() ? -1 : it->second;
}

RelaxedRows::RelaxedRows(const workload::Workload& w,
                         const std::vector<std::vector<PmappingGroup>>& groups, int objectives,
                         const StepBound& bound)
    : workload_(w), groups_(groups), objectives_(objectives), bound_(bound) {
    for (const std::vector<PmappingGroup>& einsum : groups) {
        useful_.emplace_back();
        for (const PmappingGroup& g : einsum) {
            useful_.back().emplace_back(g.rows(), char{1});
            n_useful_ += g.rows();
        }
    }
    for (const Detail detail : {Detail::memory, Detail::loops, Detail::trips}) {
        std::unique_ptr<Round> next = make_round(detail);
        if (!next) {
            return;
        }
        round_ = std::move(next);
        mark(*round_);
    }
}

/// Choices of the useful rows of one group.
void RelaxedRows::add_rows(const PmappingGroup& g, std::size_t e, std::size_t group, Round& round,
                           ChoiceTable& table, CoarserJoin& coarser) {
    std::vector<std::pair<int, std::size_t>> order;
    for (std::size_t t = 0; t < g.structure.tensors.size(); ++t) {
        order.emplace_back(g.structure.tensors[t].tensor, t);
    }
    std::sort(order.begin(), order.end());
    std::vector<int> tensors;
    for (const auto& [tensor, index] : order) {
        tensors.push_back(tensor);
    }
    uniform_ = uniform_ && (round.choices[e].empty() || table.tensors == tensors);
    table.tensors = tensors;
    std::vector<std::uint32_t>& own = round.choices_of[e][group];
    own.assign(g.rows(), 0);
    const std::size_t loops = g.structure.loops.size();
    TensorChoices key(tensors.size());
    std::size_t last = g.rows();  // the last useful row
    for (std::size_t r = 0; r < g.rows(); ++r) {
        if (r % poll_every == 0) {
            base::poll_stop();
        }
        if (!useful_[e][group][r]) {
            continue;
        }
        const std::int64_t* trips = g.trips_of(r);
        if (last < r && std::equal(trips, trips + loops, g.trips_of(last))) {
            own[r] = own[last];
        } else {
            for (std::size_t t = 0; t < key.size(); ++t) {
                key[t] = round.compatibility_keys.of_group(g.structure, order[t].second, trips);
                if (round_) {
                    auto& to = coarser.choices[static_cast<std::size_t>(tensors[t])];
                    if (static_cast<std::size_t>(key[t]) >= to.size()) {
                        to.push_back(round_->compatibility_keys.of_group(g.structure,
                                                                         order[t].second, trips));
                    }
                }
            }
            const auto [it, fresh] = round.numbers[e].try_emplace(
                key, static_cast<std::uint32_t>(round.choices[e].size()));
            if (fresh) {
                round.choices[e].push_back(key);
            }
            own[r] = it->second;
        }
        last = r;
        const double* v = g.row(r);
        table.add(round.choices[e][own[r]], {v[0], objectives_ == 2 ? v[1] : 0.0});
    }
}

std::unique_ptr<RelaxedRows::Round> RelaxedRows::make_round(Detail detail) {
    auto round = std::make_unique<Round>(
        Round{CompatibilityIndex(workload_.tensors.size(), detail), {}, {}, {}, {}});
    CoarserJoin coarser;
    coarser.choices.resize(workload_.tensors.size());
    if (round_) {
        coarser.join = &*round_->relaxed;
        coarser.useless = [this](double a, double b) { return bound_.pruned_by_incumbent(a, b); };
    }
    std::vector<ChoiceTable> einsums;
    for (std::size_t e = 0; e < groups_.size(); ++e) {
        ChoiceTable& table = einsums.emplace_back();
        round->choices_of.emplace_back(groups_[e].size());
        round->choices.emplace_back();
        round->numbers.emplace_back();
        for (std::size_t g = 0; g < groups_[e].size(); ++g) {
            add_rows(groups_[e][g], e, g, *round, table, coarser);
        }
    }
    if (!uniform_) {
        return nullptr;
    }
    round->relaxed.emplace(std::move(einsums), workload_.tensors.size(), max_choices, coarser);
    return round->relaxed->valid() ? std::move(round) : nullptr;
}

/// Unmarks the rows that cannot be part of a mapping of use.
void RelaxedRows::mark(const Round& round) {
    n_useful_ = 0;
    for (std::size_t e = 0; e < groups_.size(); ++e) {
        const ChoiceTable rest = round.relaxed->rest(e);
        std::vector<const CostFront*> fronts;
        for (const TensorChoices& key : round.choices[e]) {
            const auto it = rest.rows.find(key);
            fronts.push_back(it != rest.rows.end() ? &it->second : nullptr);
        }
        for (std::size_t g = 0; g < groups_[e].size(); ++g) {
            const PmappingGroup& group = groups_[e][g];
            std::vector<char>& marks = useful_[e][g];
            for (std::size_t r = 0; r < group.rows(); ++r) {
                if (r % poll_every == 0) {
                    base::poll_stop();
                }
                const CostFront* front = marks[r] ? fronts[round.choices_of[e][g][r]] : nullptr;
                marks[r] =
                    front != nullptr && !bound_.pruned_by_bound(group.row(r), *front) ? 1 : 0;
                n_useful_ += marks[r] ? 1 : 0;
            }
        }
    }
}

const CostFront* RelaxedRows::from(std::size_t e, const StateStructure& st,
                                   const std::int64_t* trips) const {
    const ChoiceTable& table = round_->relaxed->from(e);
    TensorChoices key;
    for (const int tensor : table.tensors) {
        std::int32_t choice = -1;
        for (std::size_t i = 0; i < st.live.size(); ++i) {
            if (st.live[i].tensor == tensor) {
                choice = round_->compatibility_keys.of_state(st, i, trips);
            }
        }
        if (choice < 0) {
            return nullptr;
        }
        key.push_back(choice);
    }
    const auto it = table.rows.find(key);
    return it == table.rows.end() ? nullptr : &it->second;
}

}  // namespace tessera::mapspace::detail
