#include "oracle/oracle_instance.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tessera/workload/workload.hpp"

namespace tessera::oracle {

namespace {

struct Variable {
    std::string name;
    int bound = 1;
};

struct Access {
    std::string tensor, projection;
    bool output = false;
};

struct Shape {
    std::string kind;
    std::vector<Variable> variables;
    std::vector<std::vector<Access>> einsums;
    int largest_tensor = 1;  // values, roughly: capacities are drawn around it
};

Shape matmul(Random& r, bool batched) {
    const std::vector<int> b = batched ? std::vector{2, 3, 4} : std::vector{2, 3, 4, 5, 6, 8};
    Shape s{batched ? "batched" : "matmul", {}, {}, 1};
    s.variables = {{"k", r.pick(b)}, {"m", r.pick(b)}, {"n", r.pick(b)}};
    const std::string h = batched ? "h, " : "";
    if (batched) {
        s.variables.push_back({"h", r.pick(std::vector{2, 3})});
    }
    s.einsums = {
        {{"A", "[" + h + "m, k]"}, {"B", "[" + h + "k, n]"}, {"C", "[" + h + "m, n]", true}}};
    return s;
}

Shape convolution(Random& r) {
    Shape s{"conv", {}, {}, 1};
    s.variables = {{"p", r.pick(std::vector{3, 4, 6})},
                   {"r", r.pick(std::vector{2, 3})},
                   {"c", r.pick(std::vector{1, 2, 3})}};
    s.einsums = {{{"I", "{C: c, H: p + r}"}, {"W", "{C: c, R: r}"}, {"O", "{P: p}", true}}};
    if (r.chance(50)) {
        s.variables.push_back({"m", 2});
        s.einsums = {
            {{"I", "{C: c, H: p + r}"}, {"W", "{C: c, M: m, R: r}"}, {"O", "{M: m, P: p}", true}}};
    }
    return s;
}

Shape chain(Random& r, int length) {
    const std::vector<int> b = length == 2 ? std::vector{2, 3, 4, 5, 6} : std::vector{1, 2, 3};
    Shape s{"chain" + std::to_string(length), {}, {}, 1};
    s.variables = {{"m", r.pick(b)}};
    if (length == 3) {
        s.variables[0].bound = r.pick(std::vector{2, 4});
    }
    for (int i = 0; i <= length; ++i) {
        s.variables.push_back({"n" + std::to_string(i), r.pick(b)});
    }
    for (int i = 0; i < length; ++i) {
        const std::string in = "n" + std::to_string(i), out = "n" + std::to_string(i + 1);
        s.einsums.push_back({{"T" + std::to_string(i), "[m, " + in + "]"},
                             {"W" + std::to_string(i), "[" + in + ", " + out + "]"},
                             {"T" + std::to_string(i + 1), "[m, " + out + "]", true}});
    }
    return s;
}

// Matrix times vector, twice or three times: few loops, so that three Einsums stay small.
Shape vector_chain(Random& r, int length) {
    const std::vector<int> b{2, 3, 4, 6};
    Shape s{"vectors" + std::to_string(length), {}, {}, 1};
    for (int i = 0; i <= length; ++i) {
        s.variables.push_back({"n" + std::to_string(i), r.pick(b)});
    }
    for (int i = 0; i < length; ++i) {
        const std::string in = "n" + std::to_string(i), out = "n" + std::to_string(i + 1);
        s.einsums.push_back({{"T" + std::to_string(i), "[" + in + "]"},
                             {"W" + std::to_string(i), "[" + in + ", " + out + "]"},
                             {"T" + std::to_string(i + 1), "[" + out + "]", true}});
    }
    return s;
}

Shape shared_input(Random& r) {
    const std::vector<int> b{2, 3, 4};
    Shape s{"shared-input", {}, {}, 1};
    s.variables = {{"d", r.pick(b)}, {"e", r.pick(b)}, {"f", r.pick(b)}, {"m", r.pick(b)}};
    s.einsums = {{{"X", "[m, d]"}, {"WQ", "[d, e]"}, {"Q", "[m, e]", true}},
                 {{"X", "[m, d]"}, {"WK", "[d, f]"}, {"K", "[m, f]", true}}};
    return s;
}

// Two branches from one input, multiplied element by element.
Shape gated(Random& r) {
    const std::vector<int> b{2, 3, 4};
    Shape s{"gated", {}, {}, 1};
    s.variables = {{"c", r.pick(b)}, {"m", r.pick(b)}};
    s.einsums = {{{"X", "[m]"}, {"WG", "[m, c]"}, {"G", "[m, c]", true}},
                 {{"X", "[m]"}, {"WU", "[m, c]"}, {"U", "[m, c]", true}},
                 {{"G", "[m, c]"}, {"U", "[m, c]"}, {"H", "[m, c]", true}}};
    return s;
}

Shape residual(Random& r) {
    const std::vector<int> b{2, 3, 4};
    Shape s{"residual", {}, {}, 1};
    s.variables = {{"d", r.pick(b)}, {"e", r.pick(b)}};
    s.einsums = {{{"X", "[d]"}, {"Y", "[d]", true}},
                 {{"Y", "[d]"}, {"W", "[d, e]"}, {"Z", "[e]", true}},
                 {{"Y", "{D: e}"}, {"Z", "[e]"}, {"O", "[e]", true}}};
    s.variables[1].bound = s.variables[0].bound;
    return s;
}

// A row statistic that the next Einsum needs whole, next to the tensor it was made from.
Shape normalise(Random& r) {
    const std::vector<int> b{2, 3, 4, 5};
    Shape s{"normalise", {}, {}, 1};
    s.variables = {{"m", r.pick(b)}, {"n", r.pick(b)}};
    s.einsums = {{{"X", "[m, n]"}, {"C", "[m, n]", true}},
                 {{"C", "[m, n]"}, {"D", "[m]", true}},
                 {{"C", "[m, n]"}, {"D", "[m]"}, {"O", "[m, n]", true}}};
    return s;
}

// A pointwise step, then a convolution over its result.
Shape fused_convolution(Random& r) {
    Shape s{"conv2", {}, {}, 1};
    const int p = r.pick(std::vector{2, 3, 4}), w = r.pick(std::vector{1, 2, 3});
    s.variables = {{"c", 2}, {"h", p + w - 1}, {"p", p}, {"r", w}};
    s.einsums = {{{"X", "{H: h}"}, {"V", "{C: c}"}, {"Y", "{C: c, H: h}", true}},
                 {{"Y", "{C: c, H: p + r}"}, {"W", "{C: c, R: r}"}, {"Z", "{P: p}", true}}};
    return s;
}

Shape random_shape(Random& r) {
    switch (r.below(15)) {
        case 0:
        case 1:
            return matmul(r, false);
        case 2:
            return matmul(r, true);
        case 3:
        case 4:
            return convolution(r);
        case 5:
        case 6:
            return chain(r, 2);
        case 7:
            return vector_chain(r, 2);
        case 8:
            return vector_chain(r, 3);
        case 9:
            return shared_input(r);
        case 10:
            return gated(r);
        case 11:
            return residual(r);
        case 12:
            return normalise(r);
        case 13:
            return chain(r, 3);
        default:
            return fused_convolution(r);
    }
}

void write_workload(std::ostream& out, const Shape& s, Random& r, Random order) {
    out << "workload:\n  iteration_space_shape:\n";
    for (const auto& v : s.variables) {
        out << "    " << v.name << ": 0 <= " << v.name << " < " << v.bound << "\n";
    }
    const int bits = r.pick(std::vector{1, 2, 8});
    out << "  bits_per_value: {All: " << bits << "}\n";
    if (r.chance(20)) {
        out << "  n_instances: " << r.pick(std::vector{2, 3}) << "\n";
    }
    out << "  einsums:\n";
    for (std::size_t i = 0; i < s.einsums.size(); ++i) {
        out << "  - name: E" << i << "\n    tensor_accesses:\n";
        for (const auto& a : s.einsums[i]) {
            out << "    - {name: " << a.tensor
                << ", projection: " << shuffled_ranks(a.projection, order)
                << (a.output ? ", output: True" : "") << "}\n";
        }
    }
}

std::string actions(Random& r, int energy, bool limited) {
    std::ostringstream out;
    const auto throughput = [&]() -> std::string {
        return limited && r.chance(70) ? std::to_string(r.pick(std::vector{1, 2, 4, 7, 16}))
                                       : "inf";
    };
    const int write = energy + r.below(energy + 1);
    out << "    actions:\n    - {name: read, energy: " << energy << ", throughput: " << throughput()
        << "}\n    - {name: write, energy: " << write << ", throughput: " << throughput() << "}\n";
    if (r.chance(25)) {
        out << "    total_latency: max(a.n_calls / a.throughput for a in actions)\n";
    }
    if (r.chance(20)) {
        out << "    bits_per_action: " << r.pick(std::vector{2, 4}) << "\n";
    }
    return out.str();
}

std::string spatial(Random& r, const std::string& name, const std::string& variable) {
    std::ostringstream out;
    out << "{name: " << name << ", fanout: " << r.pick(std::vector{2, 3, 4});
    switch (r.below(6)) {
        case 0:
            out << ", may_reuse: Nothing";
            break;
        case 1:
            out << ", may_reuse: Inputs";
            break;
        case 2:
            out << ", reuse: Outputs";
            break;
        default:
            break;
    }
    if (r.chance(12)) {
        out << ", loop_bounds: [{expression: " << variable
            << ", operator: \"<=\", value: " << r.pick(std::vector{1, 2}) << "}]";
    }
    if (r.chance(12)) {
        out << ", min_usage: " << r.pick(std::vector<std::string>{"0.5", "1"});
    }
    out << "}";
    return out.str();
}

struct MemoryOptions {
    std::string name, size, tensors;
    int energy = 1;
    bool limited = true;
    bool leaks = false;
    std::string spatial;
};

void write_memory(std::ostream& out, const MemoryOptions& m, Random& r) {
    out << "  - !Memory\n    name: " << m.name << "\n    size: " << m.size << "\n    leak_power: "
        << (m.leaks ? r.pick(std::vector<std::string>{"0.25", "1", "3"}) : "0")
        << "\n    area: 0\n";
    if (r.chance(15)) {
        out << "    skip_initial_output_write: False\n";
    }
    if (!m.spatial.empty()) {
        out << "    spatial: [" << m.spatial << "]\n";
    }
    out << actions(r, m.energy, m.limited) << "    tensors: " << m.tensors << "\n";
}

struct ArchitectureOptions {
    int levels = 2;
    int fanouts = 0;
    std::vector<int> buffer_bits;   // candidate sizes of GlobalBuffer
    std::vector<int> scratch_bits;  // candidate sizes of Scratchpad
    bool few_scratch_tensors = true;
    std::string variable;  // one rank variable of every Einsum, for loop bounds
};

// More keys for the `tensors` of a memory, now and then.
std::string with_conditions(std::string tensors, Random& r, bool any_order) {
    std::string more;
    switch (r.below(20)) {
        case 0:
            more = ", no_refetch_from_above: Inputs";
            break;
        case 1:
            more = ", no_refetch_from_above: Outputs";
            break;
        case 2:
            more = ", no_resend_to_below: Outputs";
            break;
        case 3:
            more = ", tensor_order_options: [[Inputs, Outputs]]";
            break;
        case 4:
            more =
                ", tensor_order_options: [[Outputs, Inputs], [Inputs & Intermediates, All - "
                "(Inputs & Intermediates)]]";
            break;
        case 5:
            more = any_order ? ", force_memory_hierarchy_order: False" : "";
            break;
        default:
            break;
    }
    return tensors.insert(tensors.size() - 1, more);
}

void write_architecture(std::ostream& out, const ArchitectureOptions& o, Random& r) {
    const bool leaks = r.chance(40);
    out << "arch:\n  nodes:\n";
    const std::string main_tensors = r.chance(15)   ? "{keep: All}"
                                     : r.chance(25) ? "{keep: ~Shared, may_keep: All}"
                                                    : "{keep: ~Intermediates, may_keep: All}";
    write_memory(
        out, {"MainMemory", "inf", main_tensors, r.pick(std::vector{10, 20, 50}), true, false, ""},
        r);
    const std::vector<std::string> buffer{"{keep: ~MainMemory, may_keep: All}",
                                          "{keep: ~MainMemory, may_keep: All}",
                                          "{keep: ~MainMemory, may_keep: Inputs}", "{keep: All}",
                                          "{keep: ~MainMemory | Outputs, may_keep: All}"};
    int left = o.fanouts;
    const bool any_order = o.fanouts == 0;
    write_memory(out,
                 {"GlobalBuffer", std::to_string(r.pick(o.buffer_bits)),
                  with_conditions(r.pick(buffer), r, any_order), r.pick(std::vector{1, 2, 4}), true,
                  leaks, ""},
                 r);
    if (left > 1 || (left == 1 && r.chance(50))) {
        out << "  - !Container\n    name: Array\n    spatial: [" << spatial(r, "X", o.variable)
            << "]\n";
        --left;
    }
    if (o.levels == 3) {
        const std::vector<std::string> scratch =
            o.few_scratch_tensors
                ? std::vector<std::string>{"{keep: Outputs}", "{may_keep: Outputs}",
                                           "{may_keep: Inputs - Intermediates}"}
                : std::vector<std::string>{"{may_keep: All}", "{may_keep: Inputs}"};
        std::string own;
        if (left > 0 && r.chance(30)) {
            own = spatial(r, "Z", o.variable);
            --left;
        }
        write_memory(out,
                     {"Scratchpad", std::to_string(r.pick(o.scratch_bits)),
                      with_conditions(r.pick(scratch), r, any_order), 1, r.chance(30),
                      leaks && r.chance(50), own},
                     r);
    }
    out << "  - !Compute\n    name: MAC\n    leak_power: " << (leaks ? "0.5" : "0")
        << "\n    area: 0\n";
    if (left > 0) {
        out << "    spatial: [" << spatial(r, "Y", o.variable) << "]\n";
    }
    out << "    actions:\n    - {name: compute, energy: " << r.pick(std::vector{1, 3})
        << ", throughput: " << r.pick(std::vector{1, 2, 8}) << "}\n";
}

// A variable that every Einsum has; loop bounds may name it. Shapes without one name their first.
std::string common_variable(const Shape& s) {
    for (const auto& v : s.variables) {
        const bool everywhere =
            std::all_of(s.einsums.begin(), s.einsums.end(), [&](const auto& einsum) {
                return std::any_of(einsum.begin(), einsum.end(), [&](const Access& a) {
                    return a.projection.find(v.name) != std::string::npos;
                });
            });
        if (everywhere) {
            return v.name;
        }
    }
    return "All.rank_variables";
}

mapspace::MapSpaceOptions random_options(Random& r) {
    mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
    switch (r.below(12)) {
        case 0:
            options.max_fused_loops = 0;
            break;
        case 1:
            options.max_fused_loops = 1;
            break;
        case 2:
            options.max_fused_loops_per_rank_variable = 2;
            break;
        case 3:
            options.max_fused_loops_per_rank_variable = mapspace::MapSpaceOptions::unlimited;
            break;
        case 4:
            options.unfused = true;
            break;
        default:
            break;
    }
    return options;
}

}  // namespace

Instance random_instance(std::uint64_t seed) {
    Random r(seed);
    const Shape shape = random_shape(r);
    ArchitectureOptions o;
    o.levels = r.chance(25) ? 3 : 2;
    o.fanouts = r.chance(45) ? 1 + (r.chance(20) ? 1 : 0) : 0;
    // Tight: between a handful of values and about all tensors.
    o.buffer_bits = {6, 9, 12, 16, 20, 27, 40, 64, 100, 200, 400};
    o.scratch_bits = {4, 8, 12, 24, 48};
    o.variable = common_variable(shape);
    std::ostringstream out;
    write_architecture(out, o, r);
    write_workload(out, shape, r, Random(~seed));
    return {seed, shape.kind, out.str(), random_options(r)};
}

Instance random_large_instance(std::uint64_t seed) {
    Random r(seed ^ 0x5eed);
    Shape s = r.chance(40)   ? chain(r, 2)
              : r.chance(40) ? matmul(r, false)
              : r.chance(50) ? matmul(r, true)
                             : convolution(r);
    for (auto& v : s.variables) {
        v.bound = v.name == "r" || v.name == "h" ? v.bound : r.pick(std::vector{6, 8, 9, 12, 16});
    }
    ArchitectureOptions o;
    o.variable = common_variable(s);
    o.levels = 3;
    o.fanouts = r.below(2);
    o.few_scratch_tensors = r.chance(30);
    o.buffer_bits = {64, 100, 200, 400, 1000, 3000};
    o.scratch_bits = {16, 32, 48, 100, 300};
    std::ostringstream out;
    write_architecture(out, o, r);
    write_workload(out, s, r, Random(~seed));
    return {seed, s.kind, out.str(), {}};
}

std::string shuffled_ranks(const std::string& projection, Random& order) {
    std::vector<std::string> ranks;
    std::istringstream inside(projection.substr(1, projection.size() - 2));
    for (std::string rank; std::getline(inside >> std::ws, rank, ',');) {
        ranks.insert(ranks.begin() + order.below(static_cast<int>(ranks.size()) + 1), rank);
    }
    std::string text;
    for (const std::string& rank : ranks) {
        text += (text.empty() ? "" : ", ") + rank;
    }
    return projection.front() + text + projection.back();
}

std::string with_persistent_inputs(const std::string& yaml) {
    const std::string section = "\nworkload:\n";
    const std::size_t at = yaml.find(section) + section.size();
    return yaml.substr(0, at) + "  persistent_tensors: Inputs - Intermediates\n" + yaml.substr(at);
}

LoadedInstance::LoadedInstance(const std::string& yaml, arch::Compat compat) {
    namespace fs = std::filesystem;
    std::string name = (fs::temp_directory_path() / "tessera-oracle-XXXXXX").string();
    const int handle = ::mkstemp(name.data());
    if (handle < 0) {
        throw std::runtime_error("cannot make a temporary file");
    }
    ::close(handle);
    const fs::path file = name + ".yaml";
    fs::rename(name, file);
    std::ofstream(file) << yaml;
    try {
        workload = workload::load_workload(file.string(), {});
        architecture =
            std::make_unique<arch::Architecture>(arch::load_architecture(file.string(), {}));
    } catch (...) {
        fs::remove(file);
        throw;
    }
    fs::remove(file);
    problem = {&workload, architecture.get(), compat};
}

}  // namespace tessera::oracle
