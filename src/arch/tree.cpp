// Tables of what the kinds of components know.

#include "arch/tree.hpp"

#include <algorithm>

namespace tessera::arch {

namespace {

using spec::Range;

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

bool TreeNode::contains(const std::string& name) const {
    return (kind == Kind::leaf && component.name == name) ||
           std::any_of(children.begin(), children.end(),
                       [&](const TreeNode& child) { return child.contains(name); });
}

const std::map<std::string, NumberInfo>& component_numbers() {
    static const Range scale = Range::at_least(0);
    static const std::map<std::string, NumberInfo> infos = {
        {"size", {infinity, Range::at_least(0).or_infinite()}},
        {"area", {0, Range::at_least(0)}},
        {"leak_power", {0, Range::at_least(0)}},
        {"area_scale", {1, scale}},
        {"leak_power_scale", {1, scale}},
        {"energy_scale", {1, scale}},
        {"throughput_scale", {1, Range::above(0).or_infinite()}},
        {"latency_scale", {1, scale}},
        {"actions_scale", {1, scale}},
        {"n_parallel_instances", {1, Range::above(0)}},
        {"bits_per_action", {1, Range::above(0)}},
    };
    return infos;
}

const std::map<std::string, NumberInfo>& action_numbers() {
    static const std::map<std::string, NumberInfo> infos = {
        {"energy", {0, Range::at_least(0)}},
        {"energy_scale", {1, Range::at_least(0)}},
        {"throughput", {infinity, Range::above(0).or_infinite()}},
        {"throughput_scale", {1, Range::above(0).or_infinite()}},
        {"latency", {0, Range::at_least(0)}},
        {"latency_scale", {1, Range::at_least(0)}},
        {"bits_per_action", {1, Range::above(0)}},
    };
    return infos;
}

std::string kind_name(LevelKind kind) {
    static const char* const names[] = {"memory",    "toll",    "compute",
                                        "container", "network", "array"};
    return names[static_cast<std::size_t>(kind)];
}

const std::vector<std::string>& action_names(LevelKind kind) {
    static const std::vector<std::string> memory = {"read", "write"};
    static const std::vector<std::string> toll = {"read"};
    static const std::vector<std::string> compute = {"compute"};
    static const std::vector<std::string> network = {"hop"};
    static const std::vector<std::string> none;
    switch (kind) {
        case LevelKind::memory:
            return memory;
        case LevelKind::toll:
            return toll;
        case LevelKind::compute:
            return compute;
        case LevelKind::network:
            return network;
        default:
            return none;
    }
}

}  // namespace tessera::arch
