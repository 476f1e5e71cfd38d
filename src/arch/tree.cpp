// Tables of what the kinds of components know.

#include "arch/tree.hpp"

#include <algorithm>

#include "spec/quantities.hpp"

namespace tessera::arch {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

bool TreeNode::contains(const std::string& name) const {
    return (kind == Kind::leaf && component.name == name) ||
           std::any_of(children.begin(), children.end(),
                       [&](const TreeNode& child) { return child.contains(name); });
}

const std::map<std::string, NumberInfo>& component_numbers() {
    static const std::map<std::string, NumberInfo> infos = {
        {"size", {infinity, spec::quantity().or_infinite()}},
        {"banks", {infinity, spec::extent().or_infinite()}},
        {"area", {0, spec::quantity()}},
        {"leak_power", {0, spec::quantity()}},
        {"area_scale", {1, spec::quantity()}},
        {"leak_power_scale", {1, spec::quantity()}},
        {"energy_scale", {1, spec::quantity()}},
        {"throughput_scale", {1, spec::positive_quantity().or_infinite()}},
        {"latency_scale", {1, spec::quantity()}},
        {"actions_scale", {1, spec::quantity()}},
        {"n_parallel_instances", {1, spec::positive_quantity()}},
        {"bits_per_action", {1, spec::positive_quantity()}},
    };
    return infos;
}

const std::map<std::string, NumberInfo>& action_numbers() {
    static const std::map<std::string, NumberInfo> infos = {
        {"energy", {0, spec::quantity()}},
        {"energy_scale", {1, spec::quantity()}},
        {"throughput", {infinity, spec::positive_quantity().or_infinite()}},
        {"throughput_scale", {1, spec::positive_quantity().or_infinite()}},
        {"latency", {0, spec::quantity()}},
        {"latency_scale", {1, spec::quantity()}},
        {"bits_per_action", {1, spec::positive_quantity()}},
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
