#include "search/joiner.hpp"

#include <algorithm>

#include "tessera/base/stop.hpp"

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

Joiner::Joiner(const OpenSpace::Data& space)
    : space_(space),
      reference_(space.problem.compat == arch::Compat::accelforge),
      met_(space.einsums.size()) {
    intern(0, {});
}

int Joiner::intern(int einsum, const mapspace::detail::StateStructure& structure) {
    const auto [at, fresh] = index_.try_emplace({einsum, structure}, states_.size());
    if (fresh) {
        auto state = std::make_unique<State>();
        state->einsum = einsum;
        state->structure = structure;
        states_.push_back(std::move(state));
    }
    return at->second;
}

template <class Use>
void Joiner::for_each_way(int state, int structure, const Use& use) {
    base::poll_stop();
    const int e = states_[state]->einsum;
    const EinsumData& einsum = space_.einsums[e];
    for (mapspace::detail::JoinPlan& plan :
         mapspace::detail::match(states_[state]->structure, einsum.structures[structure],
                                 space_.needed_later[e], reference_)) {
        const int next = intern(e + 1, plan.structure);
        use(Way{std::move(plan), next});
    }
}

const std::vector<Way>& Joiner::ways(int state, int structure) {
    std::map<int, std::vector<Way>>& known = states_[state]->ways;
    auto at = known.find(structure);
    if (at == known.end()) {
        std::vector<Way> all;
        for_each_way(state, structure, [&](Way&& way) { all.push_back(std::move(way)); });
        at = known.emplace(structure, std::move(all)).first;
    }
    return at->second;
}

/// Whether every later Einsum has a pmapping that holds the live tensors where they are: all users
/// of a tensor hold it in one memory below the same loops. Without it one dead end after the other
/// is looked into.
bool Joiner::can_be_met(int einsum, const mapspace::detail::StateStructure& structure) {
    const workload::Workload& w = *space_.problem.workload;
    for (std::size_t e = static_cast<std::size_t>(einsum); e < space_.einsums.size(); ++e) {
        std::vector<int> asked;
        for (const mapspace::detail::LiveTensor& t : structure.live) {
            const auto uses = [&](const workload::TensorAccess& a) { return a.tensor == t.tensor; };
            if (std::ranges::any_of(w.einsums[space_.order[e]].accesses, uses)) {
                asked.insert(asked.end(), {t.tensor, t.memory, t.level});
            }
        }
        const auto [at, fresh] = met_[e].try_emplace(asked, false);
        if (fresh) {
            at->second = std::ranges::any_of(space_.einsums[e].structures,
                                             [&](const mapspace::GroupStructure& g) {
                                                 return mapspace::detail::fits(g, asked);
                                             });
        }
        if (!at->second) {
            return false;
        }
    }
    return true;
}

bool Joiner::completes(int state) {
    using Completes = State::Completes;
    State& own = *states_[state];
    if (own.completes == Completes::unknown) {
        bool found = own.einsum == static_cast<int>(space_.einsums.size());
        const bool ended = found || !can_be_met(own.einsum, own.structure);
        const int n = ended ? 0 : static_cast<int>(space_.einsums[own.einsum].structures.size());
        for (int s = 0; s < n && !found; ++s) {
            // Not kept: of most states nothing else is ever asked.
            for_each_way(state, s, [&](const Way& way) { found = found || completes(way.next); });
        }
        own.completes = found ? Completes::yes : Completes::no;
    }
    return own.completes == Completes::yes;
}

void Joiner::options(int state, std::uint32_t tmpl, std::vector<Option>& out) {
    const TemplateData& t = space_.einsums[states_[state]->einsum].templates[tmpl];
    for (std::uint32_t p = 0; p < t.patterns.size(); ++p) {
        const std::vector<Way>& all = ways(state, t.patterns[p].structure);
        for (std::uint32_t w = 0; w < all.size(); ++w) {
            if (completes(all[w].next)) {
                out.push_back({tmpl, p, w});
            }
        }
    }
}

const std::vector<Joiner::Option>& Joiner::all_options(int state) {
    if (!states_[state]->options) {
        auto all = std::make_unique<std::vector<Option>>();
        std::vector<std::uint32_t> ends;
        const std::size_t n = space_.einsums[states_[state]->einsum].templates.size();
        for (std::uint32_t t = 0; t < n; ++t) {
            options(state, t, *all);
            ends.push_back(static_cast<std::uint32_t>(all->size()));
        }
        states_[state]->ends = std::move(ends);
        states_[state]->options = std::move(all);
    }
    return *states_[state]->options;
}

std::span<const Joiner::Option> Joiner::remembered_options(int state, std::uint32_t tmpl) {
    const std::vector<Option>& all = all_options(state);
    const std::vector<std::uint32_t>& ends = states_[state]->ends;
    const std::uint32_t begin = tmpl == 0 ? 0 : ends[tmpl - 1];
    return {all.data() + begin, ends[tmpl] - begin};
}

}  // namespace tessera::search
