#include "parts.hpp"

namespace bench::chips {

namespace {

/// A dimension with what its instances share; empty: nothing is said of it.
std::string dimension(const std::string& name, int fanout, const std::string& rules) {
    return "- {name: " + name + ", fanout: " + std::to_string(fanout) +
           (rules.empty() ? "" : ", " + rules) + "}";
}

/// A register or scratchpad of so many values. Small ones cost a twentieth of the multiplier.
std::string registers(const std::string& name, int values, const std::string& tensors,
                      const Scale& scale, Random& random) {
    if (values > 16) {
        return memory({name, values * scale.bits / 8.0, scale.bits, 0, tensors}, scale, random);
    }
    const double energy_j = 0.5e-15 * scale.bits * (values > 1 ? 4 : 1);
    return node("Memory", {"name: " + name, "size: " + std::to_string(values * scale.bits),
                           "bits_per_action: " + std::to_string(scale.bits),
                           "actions:", action("read", energy_j, 0), action("write", energy_j, 0),
                           "tensors: " + tensors});
}

/// That all instances of a dimension share a tensor: asked for, allowed alone, or asked for and as
/// many of them in use as sizes allow.
std::string shares(const std::string& tensor, int strictness) {
    if (strictness == 0) {
        return "may_reuse: " + tensor;
    }
    return "reuse: " + tensor + ", may_reuse: " + tensor +
           (strictness == 1 ? "" : ", min_usage: 1");
}

std::string elements(const std::string& first, const std::string& second, const Array& array) {
    return node("Container", {"name: PE", "spatial:", dimension("row", array.rows, first),
                              dimension("column", array.columns, second)});
}

// What is drawn stands in statements of its own: arguments have no order of evaluation.

void stationary(Array& array, const char* held, const char* by_row, const char* by_column,
                const Scale& scale, Random& random) {
    array.style = std::string(held) + "-stationary";
    const int strictness = random.pick({0, 1, 1, 1, 2});
    array.yaml = elements(shares(by_row, strictness), shares(by_column, strictness), array);
    array.yaml += registers("Register", random.pick({1, 1, 1, 2, 4}),
                            std::string("{keep: ") + held + "}", scale, random);
}

void row_stationary(Array& array, const Scale& scale, Random& random) {
    array.style = "row-stationary";
    array.yaml = elements(shares("weight", 1), shares("output", 1), array);
    array.yaml +=
        registers("InputPad", random.pick({8, 12, 16, 32}), "{keep: input}", scale, random);
    array.yaml +=
        registers("WeightPad", random.pick({64, 128, 192, 256}), "{keep: weight}", scale, random);
    array.yaml +=
        registers("OutputPad", random.pick({8, 16, 24, 32}), "{keep: output}", scale, random);
}

/// Elements of a vector of multipliers each, which add up what they multiply.
void dot_products(Array& array, const Scale& scale, Random& random) {
    array.style = "dot-product";
    const int width = random.pick({4, 8, 16});
    array.rows = array.rows / width > 1 ? array.rows / width : 2;
    array.yaml = elements(random.pick({"", "may_reuse: input"}), shares("input", 1), array);
    array.yaml += node("Container", {"name: Multiplier",
                                     "spatial:", dimension("lane", width, shares("output", 1))});
    if (random.chance(50)) {
        array.yaml +=
            registers("WeightRegister", random.pick({1, 2, 4, 8}), "{keep: weight}", scale, random);
    }
}

/// Dimensions without a rule, registers that hold what the mapping likes.
void unconstrained(Array& array, const Scale& scale, Random& random) {
    array.style = "free";
    array.yaml = elements("", random.pick({"", "", "may_reuse: input | output"}), array);
    const std::string tensors = random.pick({"{may_keep: All}", "{may_keep: All}", "{keep: All}",
                                             "{may_keep: weight | output}", "{keep: output}"});
    array.yaml +=
        registers("Registers", random.pick({4, 8, 16, 32, 64, 256, 512}), tensors, scale, random);
}

void multiplier(Array& array, const Scale& scale, Random& random) {
    const double energy_j = (scale.bits == 8 ? 0.08e-12 : 0.3e-12) * random.pick({0.7, 1.0, 1.5});
    Lines lines{"name: MAC"};
    if (scale.vector_unit) {
        lines.push_back("enabled: len(All) > 2");
    }
    lines.push_back("actions:");
    lines.push_back(action("compute", energy_j, scale.clock_hz));
    array.yaml += node("Compute", lines);
}

}  // namespace

Array draw_array(Random& random, const Scale& scale) {
    Array array;
    const auto side = [&] {
        return scale.server ? random.pick({32, 64, 64, 96, 128, 128, 128, 192, 256, 256})
                            : random.pick({8, 8, 12, 14, 16, 16, 24, 32, 32, 64});
    };
    array.rows = side();
    array.columns = random.chance(65) ? array.rows : side();
    const int style = random.below(100);
    if (style < 28) {
        stationary(array, "weight", "output", "input", scale, random);
    } else if (style < 42) {
        stationary(array, "output", "weight", "input", scale, random);
    } else if (style < 47) {
        stationary(array, "input", "output", "weight", scale, random);
    } else if (style < 60) {
        row_stationary(array, scale, random);
    } else if (style < 72) {
        dot_products(array, scale, random);
    } else {
        unconstrained(array, scale, random);
    }
    multiplier(array, scale, random);
    return array;
}

}  // namespace bench::chips
