#include "timeloop/mapper/failures.hpp"

#include <algorithm>

namespace tessera::timeloop {

FailureLog::FailureLog(const MapSpace& space, bool sample)
    : space_(space),
      levels_(space.architecture().levels()),
      sample_(sample),
      fanout_(levels_),
      capacity_(levels_ + specials) {}

void FailureLog::count(Group& group, double excess, const MappingId& id) {
    if (group.count == 0 || excess < group.excess) {
        group.excess = excess;
        group.nearest = id;
    }
    ++group.count;
    if (sample_ && dice_() % group.count == 0) {
        group.sample = id;
    } else if (group.count == 1) {
        group.sample = id;
    }
}

void FailureLog::add(const Misfit& misfit, const MappingId& id) {
    if (misfit.level == Misfit::low) {
        count(capacity_[levels_ + parallelism], space_.min_parallelism() / misfit.parallelism, id);
        return;
    }
    if (misfit.level == Misfit::loops) {
        count(capacity_[levels_ + loops],
              static_cast<double>(misfit.needed) / static_cast<double>(misfit.available), id);
        return;
    }
    count(fanout_[misfit.level],
          static_cast<double>(misfit.needed) / static_cast<double>(misfit.available), id);
}

void FailureLog::add(const Cost& cost, const MappingId& id) {
    const auto needed = static_cast<double>(cost.fit.needed);
    switch (cost.fit.kind) {
        case Fit::Kind::capacity:
            count(capacity_[cost.fit.level], needed / std::max(cost.fit.available, 1e-9), id);
            return;
        case Fit::Kind::min_utilization:
            count(capacity_[cost.fit.level], cost.fit.available / std::max(needed, 1e-9), id);
            return;
        case Fit::Kind::kept_nowhere:
            count(capacity_[levels_ + nowhere], 1, id);
            return;
        case Fit::Kind::ok:
            count(capacity_[levels_ + (cost.wrapped ? wrapped : forgets)], 1, id);
            return;
        default:
            count(capacity_[levels_ + sparse], 1, id);
            return;
    }
}

// " (Weights 768, Inputs 3)": what the level holds.
std::string FailureLog::tiles(const Mapping& mapping, const Fit& fit) const {
    if (fit.kind != Fit::Kind::capacity && fit.kind != Fit::Kind::min_utilization) {
        return "";
    }
    const Problem& problem = space_.problem();
    std::string text;
    for (std::size_t ds = 0; ds < problem.data_spaces.size(); ++ds) {
        if (!mapping.levels[fit.level].keeps(static_cast<int>(ds))) {
            continue;
        }
        std::int64_t words = 1;
        for (const auto& rank : problem.data_spaces[ds].ranks) {
            words *= rank_extent<std::int64_t>(rank, [&](int d) {
                std::int64_t inside = 1;
                for (int level = 0; level <= fit.level; ++level) {
                    inside *= mapping.levels[level].spatial.factors[d].end *
                              mapping.levels[level].temporal.factors[d].end;
                }
                return inside - 1;
            });
        }
        text += (text.empty() ? " (" : ", ") + problem.data_spaces[ds].name + " " +
                std::to_string(words);
    }
    return text.empty() ? text : text + ")";
}

std::string FailureLog::reason(const CompiledModel& model, MapSpaceView& view, bool pruned,
                               const MappingId& id, Mapping* mapping) const {
    if (pruned) {
        view.prune(id.factors);
    }
    FlatMapping flat;
    const Misfit misfit = view.build(id, flat, false);
    const Mapping full = view.mapping(id.bypass);
    if (mapping) {
        *mapping = full;
    }
    if (!misfit.ok()) {
        return describe(misfit, space_.architecture(), space_.min_parallelism());
    }
    Cost cost;
    if (space_.architecture().sparse) {
        cost = cost_of(space_.problem(), space_.architecture(), full, {});
    } else {
        CompiledModel::Workspace scratch;
        model.evaluate(flat, scratch, cost);
    }
    if (!cost.fit.ok()) {
        return describe(cost.fit, space_.problem(), space_.architecture()) + tiles(full, cost.fit);
    }
    return cost.wrapped
               ? "a counter of the model fell below zero or went beyond 2^63; its cost means "
                 "nothing"
               : "the outermost level that keeps a data space does not hold it whole; the rest "
                 "would be forgotten";
}

void FailureLog::render(const CompiledModel& model, MapSpaceView& view, bool pruned,
                        std::vector<FailureGroup>& groups) const {
    const auto add = [&](const Group& group, bool fanout, int level) {
        if (group.count == 0) {
            return;
        }
        FailureGroup out;
        out.fanout = fanout;
        out.level = level;
        out.count = group.count;
        out.excess = group.excess;
        out.smallest = reason(model, view, pruned, group.nearest, nullptr);
        out.reason = reason(model, view, pruned, group.sample, &out.sample);
        groups.push_back(std::move(out));
    };
    for (int i = 0; i < levels_; ++i) {
        add(fanout_[i], true, i);
    }
    for (int i = 0; i < levels_ + specials; ++i) {
        add(capacity_[i], false, i < levels_ ? i : -1);
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const auto& a, const auto& b) { return a.excess < b.excess; });
}

}  // namespace tessera::timeloop
