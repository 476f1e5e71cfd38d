// check(): runs the checks and orders what they find.
#include "tessera/mapspace/legality.hpp"

#include "legality_internal.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::mapspace {

namespace legality {

std::string quoted(const std::string& name) {
    return "'" + name + "'";
}

std::string number(double value) {
    return spec::number_text(value);
}

std::string loop_text(const Leaf& leaf, const Node& node) {
    return std::string(node.kind == Kind::spatial ? "spatial" : "temporal") + " loop over " +
           quoted(leaf.variable(node)) + " (" + std::to_string(node.outer) + " -> " +
           std::to_string(node.tile) + ")";
}

Violation& Checker::add(const char* code, Severity severity, const std::string& message,
                        const Leaf* leaf, const Node* node) {
    Violation& v = found.emplace_back();
    v.code = code;
    v.severity = severity;
    v.message = message;
    if (leaf) {
        v.einsum = leaf->view().name;
        v.mapping_where = leaf->compute->where;
    }
    if (node) {
        v.mapping_where = node->tree->where;
        if (node->tensor >= 0) {
            v.tensor = leaf->tensor(*node).name;
        }
        if (node->level >= 0) {
            v.level = leaf->level(*node).name;
        }
    }
    return v;
}

void Checker::check_order() {
    if (options == nullptr || options->all_einsum_orders) {
        return;
    }
    for (std::size_t i = 1; i < leaves.size(); ++i) {
        if (leaves[i]->einsum < leaves[i - 1]->einsum) {
            add("einsum_order", Severity::constraint,
                "Einsum " + quoted(leaves[i]->view().name) + " comes after " +
                    quoted(leaves[i - 1]->view().name) +
                    ", which the workload has later; other orders than its own are switched off",
                leaves[i].get());
        }
    }
}

}  // namespace legality

std::vector<Violation> check(const model::Problem& problem, const mapping::Mapping& mapping,
                             const MapSpaceOptions* options, mapping::PathCache& paths) {
    legality::Checker checker{problem, mapping, options, paths, {}, {}};
    checker.read_leaves();
    checker.check_order();
    for (const auto& leaf : checker.leaves) {
        checker.check_nest(*leaf);
        checker.check_states(*leaf);
        checker.check_constraints(*leaf);
    }
    checker.check_exchange();
    checker.check_capacity();
    return std::move(checker.found);
}

std::vector<Violation> check(const model::Problem& problem, const mapping::Mapping& mapping,
                             const MapSpaceOptions* options) {
    mapping::PathCache paths(*problem.workload, *problem.architecture, problem.compat);
    return check(problem, mapping, options, paths);
}

std::map<std::string, double> peak_bits(const model::Problem& problem,
                                        const mapping::Mapping& mapping) {
    mapping::PathCache paths(*problem.workload, *problem.architecture, problem.compat);
    legality::Checker checker{problem, mapping, nullptr, paths, {}, {}};
    checker.read_leaves();
    return checker.peak_bits();
}

std::string to_text(const Violation& violation) {
    std::string text = violation.message + " [" + violation.code + "]";
    if (!violation.mapping_where.text().empty()) {
        text += "\n  mapping: " + violation.mapping_where.text();
    }
    if (!violation.where.text().empty()) {
        text += "\n  constraint: " + violation.where.text();
    }
    return text;
}

}  // namespace tessera::mapspace
