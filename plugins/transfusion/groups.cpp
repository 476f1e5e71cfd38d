#include "groups.hpp"

#include <algorithm>
#include <limits>

#include "tessera/base/error.hpp"
#include "tessera/mapping/assemble.hpp"

namespace tessera::transfusion {

namespace {

using Choices = std::vector<std::shared_ptr<const Costed>>;

constexpr double never = std::numeric_limits<double>::infinity();

void append(std::string& key, std::int64_t number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void append(std::string& key, const std::string& text) {
    key += text;
    key += '\0';
}

std::string key_of(const std::string& einsum, const std::string& compute, const ChainPlan& plan) {
    std::string key;
    append(key, einsum);
    append(key, compute);
    append(key, std::int64_t{plan.resident});
    for (const auto* loops : {&plan.shared, &plan.own}) {
        append(key, static_cast<std::int64_t>(loops->size()));
        for (const LoopPlan& loop : *loops) {
            append(key, loop.variable);
            append(key, loop.tile);
        }
    }
    for (const auto* plans : {&plan.kept, &plan.held}) {
        append(key, static_cast<std::int64_t>(plans->size()));
        for (const KeepPlan& one : *plans) {
            append(key, one.tensor);
            append(key, std::int64_t{one.depth});
        }
    }
    return key;
}

/// Plans that differ in loops of one iteration only make the same nodes.
std::string key_of(const Place& place, const mapping::Pmapping& nodes) {
    std::string key;
    append(key, place.path->einsum.name);
    append(key, place.compute);
    for (const mapping::PmappingNode& node : nodes) {
        for (const auto part :
             {static_cast<char>(node.kind), static_cast<char>(node.tensor),
              static_cast<char>(node.level), static_cast<char>(node.dim),
              static_cast<char>(node.rank_variable), static_cast<char>(node.backing),
              static_cast<char>(node.line_buffer)}) {
            key += part;
        }
        append(key, node.tile);
    }
    return key;
}

Part part_of(const Costed& chain) {
    return {&chain.place->path->einsum, chain.place->path.get(), &chain.nodes, &chain.report};
}

/// Loops that all Einsums of a group share.
int inside(const Group& group) {
    return loops_of(group.chains.front()->place->path->einsum, group.plan.shared);
}

/// Those of them that are around other groups too.
int outside(const Group& group) {
    std::vector<LoopPlan> loops = group.plan.shared;
    loops.resize(group.plan.outside);
    return loops_of(group.chains.front()->place->path->einsum, loops);
}

}  // namespace

ChainPlan chain_plan(const GroupPlan& plan, const std::string& einsum) {
    const auto own = plan.own.find(einsum);
    return {plan.shared, own == plan.own.end() ? std::vector<LoopPlan>{} : own->second, plan.kept,
            plan.held, plan.resident};
}

std::shared_ptr<const Costed> Groups::costed(const std::string& einsum, const Place& place,
                                             const ChainPlan& plan) {
    std::shared_ptr<const Costed>& known = known_[key_of(einsum, place.compute, plan)];
    if (known) {
        return known;
    }
    mapping::Pmapping nodes = chain(*place.path, plan);
    std::shared_ptr<const Costed>& same = of_nodes_[key_of(place, nodes)];
    if (!same) {
        auto made = std::make_shared<Costed>();
        made->place = &place;
        made->nodes = std::move(nodes);
        effort_.evaluated();
        try {
            made->report = model_.evaluate(layer_.problem(), *place.path, made->nodes);
            made->legal = true;
        } catch (const IllegalMapping&) {
        }
        same = std::move(made);
    }
    return known = same;
}

std::optional<Group> Groups::best(const GroupPlan& plan) {
    effort_.poll();
    std::vector<Choices> choices;
    for (const std::string& einsum : plan.einsums) {
        const ChainPlan one = chain_plan(plan, einsum);
        const std::string* const unit =
            plan.binding != nullptr ? &plan.binding->at(einsum) : nullptr;
        choices.emplace_back();
        for (const Place& place : layer_.places(einsum)) {
            if (unit != nullptr && &place != &layer_.place(einsum, *unit)) {
                continue;
            }
            const auto made = costed(einsum, place, one);
            if (made->legal) {
                choices.back().push_back(made);
            }
        }
        if (choices.back().empty()) {
            return std::nullopt;
        }
    }
    return plan.overlap != Overlap::none && pipelines_ ? at_once(plan, choices)
                                                       : in_turn(plan, choices);
}

Group Groups::in_turn(const GroupPlan& plan, const std::vector<Choices>& choices) const {
    Group group;
    group.plan = plan;
    for (const Choices& places : choices) {
        const auto value = [&](const auto& chain) {
            return mapper::metric_value(metric_, chain->report.energy_j(), chain->report.latency_s);
        };
        const auto least =
            *std::min_element(places.begin(), places.end(),
                              [&](const auto& a, const auto& b) { return value(a) < value(b); });
        group.chains.push_back(least);
        group.latency_s += least->report.latency_s;
        group.energy_j += least->report.energy_j();
    }
    group.stages.assign(choices.size(), 0);
    return group;
}

Group Groups::at_once(const GroupPlan& plan, const std::vector<Choices>& choices) const {
    const std::vector<std::string>& units = layer_.units();
    std::vector<std::vector<double>> latency_s;
    std::vector<Part> parts;
    for (const Choices& places : choices) {
        latency_s.emplace_back(units.size(), never);
        for (const auto& chain : places) {
            const auto unit =
                std::find(units.begin(), units.end(), chain->place->compute) - units.begin();
            latency_s.back()[static_cast<std::size_t>(unit)] = chain->report.latency_s;
        }
        parts.push_back(part_of(*places.front()));
    }
    const Range all{0, static_cast<int>(parts.size())};
    const schedule::Schedule schedule =
        schedule::pipeline(dag_of(layer_.workload(), parts, all, units, latency_s), mode_);
    Group group;
    group.plan = plan;
    const std::vector<int> binding = schedule.binding();
    for (std::size_t i = 0; i < choices.size(); ++i) {
        const std::string& unit = units[static_cast<std::size_t>(binding[i])];
        group.chains.push_back(
            *std::find_if(choices[i].begin(), choices[i].end(),
                          [&](const auto& chain) { return chain->place->compute == unit; }));
        group.energy_j += group.chains.back()->report.energy_j();
        parts[i] = part_of(*group.chains.back());
    }
    const int around = inside(group);
    model::Rounds rounds = model::rounds_of(parts, std::vector<int>(parts.size() - 1, around), all);
    rounds.count = model::iterations(parts.front(), outside(group), around);
    if (plan.overlap == Overlap::spread) {
        const model::Stages stages =
            model::stages_of(layer_.workload(), parts, all, {outside(group), around});
        group.stages = stages.stage;
        group.latency_s =
            model::latency_of(model::with_circles(rounds, stages.circle), stages.stage);
    } else {
        const PipelineCost cost = pipeline_cost(layer_.workload(), parts, all, rounds, mode_);
        group.latency_s = cost.pipeline.latency_s;
        group.stages = cost.schedule.overlap.stage;
    }
    return group;
}

int Groups::misfit(std::span<const Group> groups, const std::vector<int>& shared) const {
    std::vector<Part> parts;
    std::vector<int> between;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (std::size_t i = 0; i < groups[g].chains.size(); ++i) {
            parts.push_back(part_of(*groups[g].chains[i]));
            const bool last = i + 1 == groups[g].chains.size();
            if (!last) {
                between.push_back(inside(groups[g]));
            } else if (g < shared.size()) {
                between.push_back(shared[g]);
            }
        }
    }
    int begin = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const Group& group = groups[g];
        const int end = begin + static_cast<int>(group.chains.size());
        const bool pipelined = pipelines_ && group.plan.overlap != Overlap::none;
        for (int i = begin; i < end; i = pipelined ? end : i + 1) {
            const Range range{i, pipelined ? end : i + 1};
            const std::vector<int> stages = pipelined ? group.stages : std::vector<int>{0};
            if (!model::fits(
                    model::shares_held(layer_.workload(), parts, between, range, stages))) {
                return static_cast<int>(g);
            }
        }
        begin = end;
    }
    return -1;
}

int common_loops(const Layer& layer, const std::vector<LoopPlan>& loops, std::size_t common) {
    int n = 0;
    std::map<std::string, std::int64_t> open;
    for (std::size_t i = 0; i < std::min(common, loops.size()); ++i) {
        const auto at = open.try_emplace(loops[i].variable, layer.bound(loops[i].variable)).first;
        n += loops[i].tile < at->second;
        at->second = std::min(at->second, loops[i].tile);
    }
    return n;
}

mapping::Mapping tree(const std::vector<Group>& groups, const std::vector<int>& shared,
                      bool pipelines) {
    std::vector<mapping::Branch> branches;
    std::vector<int> between;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (std::size_t i = 0; i < groups[g].chains.size(); ++i) {
            const Costed& chain = *groups[g].chains[i];
            branches.push_back({chain.place->path.get(),
                                mapping::without_null_loops(*chain.place->path, chain.nodes)});
            if (i + 1 < groups[g].chains.size()) {
                between.push_back(inside(groups[g]));
            } else if (g < shared.size()) {
                between.push_back(shared[g]);
            }
        }
    }
    mapping::Mapping mapping = mapping::assemble(branches, between);
    for (const Group& group : groups) {
        if (pipelines && group.plan.overlap != Overlap::none && group.chains.size() > 1) {
            mapping::run_at_once(mapping, group.plan.einsums);
        }
    }
    return mapping;
}

}  // namespace tessera::transfusion
