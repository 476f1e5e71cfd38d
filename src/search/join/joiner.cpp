#include "joiner.hpp"

#include <algorithm>

#include "tessera/base/stop.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::search {

void demanded_trips(const TemplateData& t, const Pattern& pattern,
                    const mapspace::detail::JoinPlan& plan,
                    const std::vector<std::int64_t>& open_trips, std::vector<std::int64_t>& out) {
    out.assign(t.fused.size(), 0);
    int position = 0;
    for (std::size_t k = 0; k < t.fused.size(); ++k) {
        if (!(pattern.loops >> k & 1u)) {
            continue;
        }
        for (int j = 0; j < plan.n_left; ++j) {
            if (plan.right_of_left[j] == position) {
                out[k] = open_trips[j];
            }
        }
        ++position;
    }
}

JoinStates::JoinStates(const OpenSpace::Data& space)
    : space_(space),
      reference_(!space.problem.convention().exchange_by_tree),
      fitting_(space.einsums.size()) {
    intern(std::vector<char>(space.einsums.size(), 0), {});
}

int JoinStates::intern(const std::vector<char>& done,
                       const mapspace::detail::StateStructure& structure) {
    const auto [at, fresh] = index_.try_emplace({done, structure}, states_.size());
    if (fresh) {
        auto state = std::make_unique<State>();
        state->done = done;
        state->structure = structure;
        states_.push_back(std::move(state));
    }
    return at->second;
}

template <class Use>
void JoinStates::for_each_way(int state, int einsum, int structure,
                              const std::vector<char>& needed_later, const Use& use) {
    base::poll_stop();
    std::vector<char> done = states_[state]->done;
    done[einsum] = 1;
    for (mapspace::detail::JoinPlan& plan : mapspace::detail::match(
             states_[state]->structure, space_.einsums[einsum].structures[structure], needed_later,
             reference_)) {
        const int next = intern(done, plan.structure);
        if (use(Way{std::move(plan), next})) {
            return;
        }
    }
}

const std::vector<Way>& JoinStates::ways(int state, int einsum, int structure,
                                         const std::vector<char>& needed_later) {
    std::map<std::pair<int, int>, std::vector<Way>>& known = states_[state]->ways;
    auto at = known.find({einsum, structure});
    if (at == known.end()) {
        std::vector<Way> all;
        for_each_way(state, einsum, structure, needed_later, [&](Way&& way) {
            all.push_back(std::move(way));
            return false;
        });
        at = known.emplace(std::pair(einsum, structure), std::move(all)).first;
    }
    return at->second;
}

const std::vector<int>& JoinStates::fitting(int state, int einsum) {
    std::vector<int> asked;
    for (const mapspace::detail::LiveTensor& t : states_[state]->structure.live) {
        const auto uses = [&](const workload::TensorAccess& a) { return a.tensor == t.tensor; };
        if (std::ranges::any_of(space_.problem.workload->einsums[einsum].accesses, uses)) {
            asked.insert(asked.end(), {t.tensor, t.memory, t.level});
        }
    }
    const auto [at, fresh] = fitting_[einsum].try_emplace(asked);
    if (fresh) {
        const std::vector<mapspace::GroupStructure>& all = space_.einsums[einsum].structures;
        for (std::size_t s = 0; s < all.size(); ++s) {
            if (mapspace::detail::fits(all[s], asked)) {
                at->second.push_back(static_cast<int>(s));
            }
        }
    }
    return at->second;
}

bool JoinStates::can_be_met(int state) {
    for (std::size_t e = 0; e < space_.einsums.size(); ++e) {
        if (states_[state]->done[e] == 0 && fitting(state, static_cast<int>(e)).empty()) {
            return false;
        }
    }
    return true;
}

Joiner::Known& Joiner::known(int state) {
    if (known_.size() <= static_cast<std::size_t>(state)) {
        known_.resize(static_cast<std::size_t>(state) + 1);
    }
    std::unique_ptr<Known>& slot = known_[static_cast<std::size_t>(state)];
    if (!slot) {
        slot = std::make_unique<Known>();
        slot->next = static_cast<int>(std::ranges::count(states_[state].done, 1));
    }
    return *slot;
}

const std::vector<Way>& Joiner::ways(int state, int structure) {
    const int next = known(state).next;
    return states_.ways(state, space_.order[next], structure, space_.needed_later[next]);
}

bool Joiner::completes(int state) {
    using Completes = Known::Completes;
    Known& own = known(state);
    if (own.completes == Completes::unknown) {
        bool found = own.next == static_cast<int>(space_.einsums.size());
        if (!found && states_.can_be_met(state)) {
            const int einsum = space_.order[own.next];
            const std::vector<int>& structures = states_.fitting(state, einsum);
            for (std::size_t i = 0; i < structures.size() && !found; ++i) {
                // Not kept: of most states nothing else is ever asked.
                states_.for_each_way(state, einsum, structures[i], space_.needed_later[own.next],
                                     [&](const Way& way) { return found = completes(way.next); });
            }
        }
        own.completes = found ? Completes::yes : Completes::no;
    }
    return own.completes == Completes::yes;
}

const std::vector<std::vector<std::uint32_t>>& Joiner::leading(int state) {
    if (!known(state).leading) {
        const int einsum = space_.order[known(state).next];
        std::vector<std::vector<std::uint32_t>> all(
            space_.einsums[known(state).next].structures.size());
        for (const int s : states_.fitting(state, einsum)) {
            const std::vector<Way>& of_structure = ways(state, s);
            for (std::uint32_t w = 0; w < of_structure.size(); ++w) {
                if (completes(of_structure[w].next)) {
                    all[s].push_back(w);
                }
            }
        }
        known(state).leading = std::move(all);
    }
    return *known(state).leading;
}

void Joiner::options(int state, std::uint32_t tmpl, std::vector<Option>& out) {
    const std::vector<std::vector<std::uint32_t>>& ways = leading(state);
    const TemplateData& t = space_.einsums[known(state).next].templates[tmpl];
    for (std::uint32_t p = 0; p < t.patterns.size(); ++p) {
        for (const std::uint32_t w : ways[static_cast<std::size_t>(t.patterns[p].structure)]) {
            out.push_back({tmpl, p, w});
        }
    }
}

const std::vector<Joiner::Option>& Joiner::all_options(int state) {
    if (!known(state).options) {
        auto all = std::make_unique<std::vector<Option>>();
        std::vector<std::uint32_t> ends;
        const std::size_t n = space_.einsums[known(state).next].templates.size();
        for (std::uint32_t t = 0; t < n; ++t) {
            options(state, t, *all);
            ends.push_back(static_cast<std::uint32_t>(all->size()));
        }
        known(state).ends = std::move(ends);
        known(state).options = std::move(all);
    }
    return *known(state).options;
}

std::span<const Joiner::Option> Joiner::remembered_options(int state, std::uint32_t tmpl) {
    const std::vector<Option>& all = all_options(state);
    const std::vector<std::uint32_t>& ends = known(state).ends;
    const std::uint32_t begin = tmpl == 0 ? 0 : ends[tmpl - 1];
    return {all.data() + begin, ends[tmpl] - begin};
}

}  // namespace tessera::search
