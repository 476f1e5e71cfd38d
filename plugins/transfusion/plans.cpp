#include "plans.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"

namespace tessera::transfusion {

namespace {

using Names = std::vector<std::string>;

GroupPlan plan_of(const Names& einsums, std::vector<LoopPlan> shared) {
    GroupPlan plan;
    plan.einsums = einsums;
    plan.shared = std::move(shared);
    return plan;
}

}  // namespace

void check_cascade(const Layer& layer, Method method) {
    const bool three = method == Method::unfused || method == Method::flat;
    if (three == layer.one_pass()) {
        throw UserError(std::string("method ") + name(method) + " runs attention in " +
                        (three ? "three passes" : "one pass") +
                        "; give -D CASCADE=" + (three ? "3" : "1"));
    }
}

GroupPlan keys_and_values_plan(const Layer& layer, std::int64_t m, std::vector<LoopPlan> own) {
    GroupPlan plan = plan_of(layer.keys_and_values(), {{"b", 1}, {"m", m}});
    for (const std::string& einsum : layer.keys_and_values()) {
        plan.own[einsum] = own;
    }
    plan.resident = true;
    return plan;
}

GroupPlan query_plan(std::vector<LoopPlan> outer, std::vector<LoopPlan> own) {
    const int depth = static_cast<int>(outer.size());
    GroupPlan plan = plan_of({"Q"}, std::move(outer));
    plan.own["Q"] = std::move(own);
    plan.kept = {{"Q", depth}};
    return plan;
}

GroupPlan attention_plan(const Layer& layer, std::vector<LoopPlan> outer, std::int64_t heads,
                         bool alone) {
    const int depth = static_cast<int>(outer.size());
    GroupPlan plan = plan_of(layer.attention(), std::move(outer));
    plan.shared.push_back({"h", heads});
    if (layer.one_pass()) {
        plan.shared.push_back({"m", 1});
    }
    for (const std::string& tensor :
         layer.one_pass() ? Names{"QK", "LM", "PM", "SLN", "SLD", "SLNV", "PRM", "SPD", "SPNV"}
                          : Names{"QK", "MX", "SN", "SD", "SM"}) {
        plan.kept.push_back({tensor, static_cast<int>(plan.shared.size())});
    }
    for (const char* state : {"RM", "RD", "RNV"}) {
        plan.kept.push_back({state, depth + 1});
    }
    if (!alone) {
        plan.outside = static_cast<std::size_t>(depth);
        plan.kept.push_back({"Q", depth});
        plan.kept.push_back({"AV", depth});
    }
    return plan;
}

GroupPlan norm_plan(const Layer& layer, std::vector<LoopPlan> outer) {
    const int depth = static_cast<int>(outer.size());
    GroupPlan plan = plan_of(layer.norm(), std::move(outer));
    plan.outside = plan.shared.size();
    for (const char* tensor :
         {"AV", "IAV", "SAV", "MAV", "DAV", "QAV", "SQAV", "MQAV", "SR", "NR"}) {
        plan.kept.push_back({tensor, depth});
    }
    return plan;
}

GroupPlan feed_forward_plan(const Layer& layer, std::vector<LoopPlan> outer, std::int64_t s) {
    const int depth = static_cast<int>(outer.size());
    GroupPlan plan = plan_of(layer.feed_forward(), std::move(outer));
    plan.outside = plan.shared.size();
    plan.shared.push_back({"s", s});
    plan.kept = {{"NR", depth}, {"FFN1", depth + 1}, {"AR", depth + 1}};
    return plan;
}

SharedBinding fixed_binding(const Layer& layer, Method method) {
    static const Names on_2d = {"QK", "LM", "SLN", "SLD", "SLNV", "Q", "BK", "BV", "FFN1", "FFN2"};
    static const Names products = {"QK", "AV"};
    const Names& first = method == Method::flat ? products : on_2d;
    std::map<std::string, std::string> binding;
    for (const std::string& einsum : layer.all()) {
        const bool array_2d = std::find(first.begin(), first.end(), einsum) != first.end();
        binding[einsum] = array_2d ? layer.units().front() : layer.units().back();
    }
    return std::make_shared<const std::map<std::string, std::string>>(std::move(binding));
}

}  // namespace tessera::transfusion
