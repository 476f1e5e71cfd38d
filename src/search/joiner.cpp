#include "search/joiner.hpp"

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
    : space_(space), reference_(space.problem.compat == arch::Compat::accelforge) {
    intern(0, {});
}

int Joiner::intern(int einsum, const mapspace::detail::StateStructure& structure) {
    const auto [at, fresh] = index_.try_emplace({einsum, structure}, states_.size());
    if (fresh) {
        auto state = std::make_unique<State>();
        state->einsum = einsum;
        state->structure = structure;
        if (einsum < static_cast<int>(space_.einsums.size())) {
            state->ways.resize(space_.einsums[einsum].structures.size());
        }
        states_.push_back(std::move(state));
    }
    return at->second;
}

const std::vector<Way>& Joiner::ways(int state, int structure) {
    State& from = *states_[state];
    std::unique_ptr<std::vector<Way>>& slot = from.ways[structure];
    if (!slot) {
        slot = std::make_unique<std::vector<Way>>();
        const EinsumData& einsum = space_.einsums[from.einsum];
        for (mapspace::detail::JoinPlan& plan : mapspace::detail::match(
                 from.structure, einsum.structures[structure], einsum.needed_later, reference_)) {
            const int next = intern(from.einsum + 1, plan.structure);
            slot->push_back({std::move(plan), next});
        }
    }
    return *slot;
}

bool Joiner::completes(int state) {
    using Completes = State::Completes;
    State& own = *states_[state];
    if (own.completes == Completes::unknown) {
        bool found = own.einsum == static_cast<int>(space_.einsums.size());
        const int n = found ? 0 : static_cast<int>(space_.einsums[own.einsum].structures.size());
        for (int s = 0; s < n && !found; ++s) {
            for (const Way& way : ways(state, s)) {
                found = found || completes(way.next);
            }
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
