// check(): runs the checks and orders what they find.
#include "tessera/mapspace/legality.hpp"

#include "legality_internal.hpp"
#include "mapspace/legality_rules.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::mapspace {

namespace legality {

std::string in_quotes(const std::string& name) {
    return "'" + name + "'";
}

std::string number(double value) {
    return spec::number_text(value);
}

std::string loop_text(const Leaf& leaf, const Node& node) {
    return std::string(node.kind == Kind::spatial ? "spatial" : "temporal") + " loop over " +
           in_quotes(leaf.variable(node)) + " (" + std::to_string(node.outer) + " -> " +
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

}  // namespace legality

std::vector<Violation> check(const model::Problem& problem, const mapping::Mapping& mapping,
                             const MapSpaceOptions* options) {
    legality::Checker checker{problem, mapping, options};
    checker.read_leaves();
    for (const auto& leaf : checker.leaves) {
        checker.check_nest(*leaf);
        checker.check_states(*leaf);
        checker.check_constraints(*leaf);
        checker.check_member(*leaf);
    }
    checker.check_einsum_order();
    checker.check_exchange();
    checker.check_capacity();
    return std::move(checker.found);
}

std::map<std::string, double> peak_bits(const model::Problem& problem,
                                        const mapping::Mapping& mapping) {
    legality::Checker checker{problem, mapping, nullptr};
    checker.read_leaves();
    return checker.peak_bits();
}

std::string rule_of(const std::string& code) {
    static const std::map<std::string, std::string> rules = {
        {"keep", "H1"},
        {"may_keep", "H1"},
        {"back", "H1"},
        {"hierarchy", "H2"},
        {"outermost", "H3"},
        {"tensor_order", "H4"},
        {"recomputation", "L1"},
        {"imperfect", "L6"},
        {"max_fused_loops", "L8"},
        {"max_fused_loops_per_rank_variable", "L8"},
        {"line_buffers", "S1"},
        {"reuse", "C1"},
        {"loop_bounds", "C2"},
        {"no_refetch", "C3"},
        {"no_resend", "C3"},
        {"min_usage", "C4"}};
    const auto found = rules.find(code);
    return found == rules.end() ? code : found->second;
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
