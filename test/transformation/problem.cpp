#include "transformation/problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "support/evaluate_text.hpp"

namespace tessera::transformation {

namespace {

std::string number(double value) {
    if (std::isinf(value)) {
        return "inf";
    }
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", value);
    return digits;
}

std::string expression(const Rank& rank) {
    std::string sum;
    for (const Term& term : rank.terms) {
        sum += (sum.empty() ? "" : " + ") +
               (term.factor == 1 ? "" : std::to_string(term.factor) + " * ") + term.variable;
    }
    return sum + (rank.offset == 0 ? "" : " + " + std::to_string(rank.offset));
}

void write(std::ostream& out, const Access& access) {
    out << "    - {name: " << access.tensor << ", projection: {";
    for (std::size_t r = 0; r < access.ranks.size(); ++r) {
        out << (r > 0 ? ", " : "") << access.ranks[r].name << ": " << expression(access.ranks[r]);
    }
    out << "}" << (access.output ? ", output: True" : "") << "}\n";
}

/// `one` for Einsums that access the tensor, if there is one.
std::string chosen(const std::string& one, const std::string& tensor, const std::string& other) {
    return tensor.empty() ? one : one + " if " + tensor + " else " + other;
}

std::string braces(const Rules& rules) {
    std::string inside;
    for (const auto& [key, value] : rules) {
        inside += (inside.empty() ? "" : ", ") + key + ": " + value;
    }
    return "{" + inside + "}";
}

void write(std::ostream& out, const Component& c) {
    out << "  - !" << c.kind << "\n    name: " << c.name << "\n";
    if (c.kind == "Memory") {
        out << "    size: " << chosen(number(c.size_bits), c.follows, number(c.other_size_bits))
            << "\n";
        if (c.banks > 0) {
            out << "    banks: " << c.banks << "\n";
        }
    }
    if (!c.dimensions.empty()) {
        out << "    spatial:\n";
    }
    for (const Dimension& d : c.dimensions) {
        Rules all{{"name", d.name},
                  {"fanout",
                   chosen(std::to_string(d.fanout), d.follows, std::to_string(d.other_fanout))}};
        all.insert(all.end(), d.rules.begin(), d.rules.end());
        out << "    - " << braces(all) << "\n";
    }
    if (c.kind == "Container") {
        return;
    }
    out << "    leak_power: " << number(c.leak_w) << "\n    area: 0\n";
    if (c.kind != "Compute") {
        out << "    bits_per_action: " << number(c.bits_per_action) << "\n";
    }
    if (c.bits_of_outputs > 0) {
        out << "    bits_per_value: {Outputs: " << number(c.bits_of_outputs) << "}\n";
    }
    if (!c.enabled_for.empty()) {
        out << "    enabled: " << chosen("True", c.enabled_for, "False") << "\n";
    }
    for (const auto& [key, value] : c.more) {
        out << "    " << key << ": " << value << "\n";
    }
    out << "    actions:\n";
    for (const Action& a : c.actions) {
        out << "    - {name: " << a.name << ", energy: " << number(a.energy_j)
            << ", throughput: " << number(a.throughput_per_s) << "}\n";
    }
    if (c.holds_tensors()) {
        out << "    tensors: " << braces(c.tensors) << "\n";
    }
}

bool holds(const Rules& rules, const std::string& key) {
    return std::any_of(rules.begin(), rules.end(),
                       [&](const auto& rule) { return rule.first == key; });
}

}  // namespace

std::vector<Term> Einsum::terms() const {
    std::vector<Term> all;
    for (const Access& access : accesses) {
        for (const Rank& rank : access.ranks) {
            all.insert(all.end(), rank.terms.begin(), rank.terms.end());
        }
    }
    return all;
}

bool Problem::has_rule(const std::string& key) const {
    return std::any_of(components.begin(), components.end(), [&](const Component& c) {
        return holds(c.tensors, key) || holds(c.more, key) ||
               std::any_of(c.dimensions.begin(), c.dimensions.end(),
                           [&](const Dimension& d) { return holds(d.rules, key); });
    });
}

std::string text(const Problem& problem) {
    std::ostringstream out;
    out << "arch:\n  nodes:\n";
    for (const Component& component : problem.components) {
        write(out, component);
    }
    out << "workload:\n  iteration_space_shape:\n";
    for (const auto& [name, bound] : problem.bounds) {
        out << "    " << name << ": 0 <= " << name << " < " << bound << "\n";
    }
    out << "  bits_per_value:\n";
    for (const auto& [tensor, bits] : problem.bits_per_value) {
        out << "    " << tensor << ": " << number(bits) << "\n";
    }
    if (!problem.persistent.empty()) {
        out << "  persistent_tensors: ";
        for (const std::string& tensor : problem.persistent) {
            out << (tensor == *problem.persistent.begin() ? "" : " | ") << tensor;
        }
        out << "\n";
    }
    out << "  einsums:\n";
    for (const Einsum& einsum : problem.einsums) {
        out << "  - name: " << einsum.name << "\n"
            << (einsum.copies ? "    is_copy_operation: True\n" : "")
            << "    n_instances: " << einsum.instances << "\n    tensor_accesses:\n";
        for (const Access& access : einsum.accesses) {
            write(out, access);
        }
    }
    return out.str();
}

LoadedProblem::LoadedProblem(const Problem& drawn)
    : workload(testing::workload_of(text(drawn))),
      architecture(testing::architecture_of(text(drawn))),
      problem{&workload, &architecture, drawn.compat} {}

}  // namespace tessera::transformation
