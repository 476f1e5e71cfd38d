#include "cascade.hpp"

namespace bench::chips {

namespace {

/// "Y" of "Y[m, n]".
std::string name_of(const std::string& access) {
    return access.substr(0, access.find('['));
}

}  // namespace

void Cascade::add(const std::string& output, const std::string& text, const std::string& roles,
                  const std::vector<std::string>& limited) {
    einsums_ +=
        "  - name: " + name_of(output) + "\n    einsum: \"" + output + " = " + text + "\"\n";
    if (with_roles_) {
        einsums_ += "    renames: {output: " + name_of(output) + ", " + roles + "}\n";
    }
    std::string limits;
    for (const std::string& variable : limited) {
        limits += (limits.empty() ? "" : ", ") + std::string("\"0 <= ") + variable + " < " +
                  std::to_string(limits_.at(variable)) + "\"";
    }
    if (!limits.empty()) {
        einsums_ += "    iteration_space_shape: [" + limits + "]\n";
    }
}

void Cascade::product(const std::string& output, const std::string& input,
                      const std::string& weight, const std::vector<std::string>& limited) {
    add(output, input + " * " + weight, "input: " + name_of(input) + ", weight: " + name_of(weight),
        limited);
}

void Cascade::elementwise(const std::string& output, const std::string& text,
                          const std::vector<std::string>& inputs) {
    std::string set;
    for (const std::string& input : inputs) {
        set += (set.empty() ? "" : " | ") + input;
    }
    add(output, text, "input: " + set + ", weight: Nothing", {});
}

std::string Cascade::yaml() const {
    std::string text = "workload:\n  rank_sizes:\n";
    for (const auto& [rank, size] : sizes_) {
        text += "    " + rank + ": " + std::to_string(size) + "\n";
    }
    return text + "  bits_per_value: {All: " + std::to_string(bits_) + "}\n  einsums:\n" + einsums_;
}

Text draw_workload(Random& random, int bits_per_value) {
    Cascade cascade(bits_per_value, random.chance(60));
    Text text;
    const int kind = random.below(100);
    (kind < 24   ? transformer_layer
     : kind < 34 ? decode_layer
     : kind < 48 ? attention
     : kind < 66 ? matmul_chain
     : kind < 76 ? residual_block
     : kind < 88 ? bottleneck_block
                 : separable_block)(cascade, random, text);
    text.kind += ", " + std::to_string(bits_per_value) + " bit";
    text.yaml = cascade.yaml();
    return text;
}

}  // namespace bench::chips
