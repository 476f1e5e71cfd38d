// Random problems for the preset `full`: one to four Einsums in chains and DAGs, shared inputs,
// convolutions that fuse over a halo, two to four levels, one or two computes, bounds that are not
// powers of two. Bounds are tiny, so that all LoopTrees can be enumerated; capacities are drawn
// between a few values and everything.
#include <set>
#include <sstream>

#include "oracle/oracle_instance.hpp"

namespace tessera::oracle {

namespace {

struct Shape {
    std::string kind;
    std::vector<std::pair<std::string, int>> bounds;
    std::vector<std::string> einsums;  ///< each the list of its accesses, outputs marked by '>'
};

// "T[m, n]" -> "{name: T, projection: [m, n]}"; ">T[m]" is an output; "I{H: p + r}" a map.
std::string access(const std::string& text, Random& order) {
    const bool output = text[0] == '>';
    const std::size_t bracket = text.find_first_of("[{");
    return "    - {name: " + text.substr(output ? 1 : 0, bracket - (output ? 1 : 0)) +
           ", projection: " + shuffled_ranks(text.substr(bracket), order) +
           (output ? ", output: True" : "") + "}\n";
}

std::string workload_text(const Shape& s, Random& r, Random order, bool iterative = false) {
    std::ostringstream out;
    out << "workload:\n"
        << (iterative ? "  iterative_ranks: [M]\n" : "") << "  iteration_space_shape:\n";
    for (const auto& [name, bound] : s.bounds) {
        out << "    " << name << ": 0 <= " << name << " < " << bound << "\n";
    }
    out << "  bits_per_value: {All: " << r.pick(std::vector{1, 2, 8}) << "}\n";
    if (r.chance(15)) {
        out << "  n_instances: 2\n";
    }
    out << "  einsums:\n";
    for (std::size_t e = 0; e < s.einsums.size(); ++e) {
        out << "  - name: E" << e << "\n    tensor_accesses:\n";
        std::istringstream list(s.einsums[e]);
        for (std::string one; std::getline(list, one, ';');) {
            out << access(one, order);
        }
    }
    return out.str();
}

Shape single(Random& r) {
    const std::vector<int> b{2, 3, 4, 5, 6};
    if (r.chance(40)) {
        return {"one-conv",
                {{"p", r.pick(std::vector{2, 3, 4, 6})},
                 {"r", r.pick(std::vector{2, 3})},
                 {"c", r.pick(std::vector{1, 2})}},
                {"I{C: c, H: p + r};W{C: c, R: r};>O{P: p}"}};
    }
    return {"one-matmul",
            {{"k", r.pick(b)}, {"m", r.pick(b)}, {"n", r.pick(b)}},
            {"A[m, k];B[k, n];>C[m, n]"}};
}

Shape pair(Random& r) {
    const std::vector<int> b{2, 3, 4, 6};
    switch (r.below(4)) {
        case 0:
            return {
                "two-matmuls",
                {{"m", r.pick(b)}, {"k", 2}, {"n", r.pick(b)}, {"o", r.pick(std::vector{2, 3})}},
                {"A[m, k];V[k, n];>T[m, n]", "T[m, n];W[n, o];>Z[m, o]"}};
        case 1:
            return {"two-shared-input",
                    {{"m", r.pick(b)}, {"d", r.pick(b)}, {"e", 2}, {"f", r.pick(b)}},
                    {"X[m, d];V[d, e];>Q[m, e]", "X[m, d];W[d, f];>K[m, f]"}};
        case 2:  // a tensor that lacks two of the variables that may be shared
            return {"two-outer",
                    {{"a", r.pick(std::vector{2, 3, 4})},
                     {"b", r.pick(std::vector{2, 3, 4})},
                     {"c", r.pick(std::vector{2, 4})}},
                    {"W[c];X[a, b];>T[a, b, c]", "T[a, b, c];U[b];>Z[a, c]"}};
        default:
            return {"two-vectors",
                    {{"n", r.pick(b)}, {"k", r.pick(b)}, {"o", r.pick(b)}},
                    {"A[k];V[k, n];>T[n]", "T[n];W[n, o];>Z[o]"}};
    }
}

Shape convolutions(Random& r) {
    const int p = r.pick(std::vector{2, 3, 4}), w = r.pick(std::vector{2, 3});
    if (r.chance(30)) {
        return {"conv-conv",
                {{"q", p + w - 1}, {"s", 2}, {"p", p}, {"r", w}},
                {"X{G: q + s};V{S: s};>Y{H: q}", "Y{H: p + r};W{R: r};>Z{P: p}"}};
    }
    return {"map-conv",
            {{"c", r.pick(std::vector{1, 2})}, {"h", p + w - 1}, {"p", p}, {"r", w}},
            {"X{H: h};V{C: c};>Y{C: c, H: h}", "Y{C: c, H: p + r};W{C: c, R: r};>Z{P: p}"}};
}

Shape triple(Random& r) {
    const std::vector<int> b{2, 3, 4};
    switch (r.below(5)) {
        case 0:
            return {"three-gated",
                    {{"c", r.pick(b)}, {"m", r.pick(b)}},
                    {"X[m];V[m, c];>G[m, c]", "X[m];W[m, c];>U[m, c]", "G[m, c];U[m, c];>H[m, c]"}};
        case 1:
            return {"three-normalise",
                    {{"m", r.pick(b)}, {"n", r.pick(b)}},
                    {"X[m, n];>C[m, n]", "C[m, n];>D[m]", "C[m, n];D[m];>O[m, n]"}};
        case 2:
            return {"three-chain",
                    {{"m", r.pick(std::vector{2, 4})}, {"n", 2}, {"o", r.pick(b)}, {"q", 2}},
                    {"A[m, n];>T[m, n]", "T[m, n];W[n, o];>U[m, o]", "U[m, o];>Z[m, o]"}};
        case 3:  // W[c] may leave while the third Einsum runs, if it is held inside the shared loop
            return {"three-outer",
                    {{"a", r.pick(std::vector{2, 4})}, {"b", 2}, {"c", r.pick(std::vector{2, 3})}},
                    {"W[c];X[a, b];>T[a, b, c]", "T[a, b, c];>U[a]", "U[a];V[c];>Z[a, c]"}};
        default:
            return {"three-two-tiles",  // two intermediates of different depth along m
                    {{"m", r.pick(std::vector{4, 6, 8})}, {"n", 2}},
                    {"A[m];>T[m]", "T[m];W[n];>U[m, n]", "U[m, n];>Z[m]"}};
    }
}

Shape quadruple(Random& r) {
    const std::vector<int> b{2, 3, 4};
    switch (r.below(3)) {
        case 0:
            return {"four-diamond",
                    {{"m", r.pick(b)}, {"n", r.pick(std::vector{1, 2, 3})}},
                    {"X[m];>Y[m]", "Y[m];V[n];>P[m, n]", "Y[m];>Q[m]", "P[m, n];Q[m];>Z[m, n]"}};
        case 1:
            return {"four-chain",
                    {{"m", r.pick(std::vector{2, 3, 4, 6})}},
                    {"A[m];>B[m]", "B[m];>C[m]", "C[m];>D[m]", "D[m];>E[m]"}};
        default:
            return {"four-branches",  // two branches that only an order of their own keeps small
                    {{"m", r.pick(b)}, {"n", r.pick(std::vector{2, 3})}},
                    {"X[m];>P[m, n]", "X[m];>Q[m, n]", "P[m, n];>S[m]", "Q[m, n];S[m];>Z[m]"}};
    }
}

/// Convolutions (1D, the last one separable in 2D) whose input is read again further on: the
/// Einsums between keep step with neither, or with one of them.
Shape residuals(Random& r) {
    const int p = r.pick(std::vector{2, 3, 4}), w = r.pick(std::vector{2, 3});
    const int h = r.chance(70) ? p : p + w - 1;  // padded, or as long as what is read
    const std::pair<std::string, int> P{"p", p}, W{"r", w}, H{"h", h}, S{"s", 2};
    switch (r.below(8)) {
        case 0:
            return {"residual-conv",
                    {P, W},
                    {"X{H: p + r};W{R: r};>A{P: p}", "A{P: p};X{H: p};>Y{P: p}"}};
        case 1:
            return {"residual-two",
                    {P, W, S},
                    {"X{H: p + r};W{R: r};>A{P: p}", "A{P: p + s};V{S: s};>B{Q: p}",
                     "B{Q: p};X{H: p};>Y{P: p}"}};
        case 2:
            return {"residual-made",
                    {H, P, W},
                    {"A[h];>X{H: h}", "X{H: p + r};W{R: r};>B{P: p}", "B{P: p};X{H: p};>Y{P: p}"}};
        case 3:
            return {"residual-shortcut",
                    {P, W},
                    {"X{H: p + r};W{R: r};>A{P: p}", "X{H: p};V{P: p};>S{P: p}",
                     "A{P: p};S{P: p};>Y{P: p}"}};
        case 4:
            return {"residual-next",
                    {P, W, S},
                    {"X{H: p + r};W{R: r};>A{P: p}", "A{P: p};X{H: p};>Y{P: p}",
                     "Y{P: p + s};V{S: s};>Z{P: p}"}};
        case 5:
            return {"residual-block",
                    {H, P, W},
                    {"X{H: h};>E{H: h}", "E{H: p + r};W{R: r};>D{P: p}", "D{P: p};>F{P: p}",
                     "F{P: p};X{H: p};>Y{P: p}"}};
        case 6:
            return {"residual-stride",
                    {{"p", 2}, W, {"h", 4}},
                    {"A[h];>X{H: h}", "X{H: 2 * p + r};W{R: r};>B{P: p}",
                     "B{P: p};X{H: 2 * p};>Y{P: p}"}};
        default:
            return {"residual-separable",
                    {{"h", 2}, {"g", 2}, {"p", 2}, {"q", 2}, {"r", 2}, {"s", 2}},
                    {"X[h, g];>E{H: h, G: g}", "E{H: p + r, G: g};>D{P: p, G: g}",
                     "D{P: p, G: q + s};>Z{P: p, Q: q}"}};
    }
}

/// With running states R and S.
Shape states(Random& r) {
    const std::vector<int> b{2, 3, 4};
    const std::pair<std::string, int> m{"m", r.pick(std::vector{1, 2, 3, 4})},
        p{"p", r.pick(std::vector{1, 2, 3})}, n{"n", r.pick(std::vector{1, 2})};
    const std::string update = "R{M: m, P: p};A[m, n, p];>R{M: m + 1, P: p}";
    switch (r.below(8)) {
        case 0:
            return {"state-next", {m, p, n}, {update, "R{M: m + 1, P: p};B[n];>Z[m, n, p]"}};
        case 1:
            return {"state-last", {m, p, n}, {update, "R{M: last, P: p};>Z[p]"}};
        case 2:  // one Einsum reads, another makes the state
            return {"state-pair",
                    {m, p, n},
                    {"S{M: m, P: p};A[m, p];>T[m, p]", "T[m, p];B[m, n];>S{M: m + 1, P: p}",
                     "S{M: last, P: p};>Z[p]"}};
        case 3:
            return {"state-made-before",
                    {m, p, n},
                    {"A[m, n, p];>L[m, p]", "R{M: m, P: p};L[m, p];>R{M: m + 1, P: p}",
                     "R{M: m + 1, P: p};L[m, p];>Z[m]"}};
        case 4:  // the older state goes on as a second output
            return {"state-older",
                    {m, p},
                    {"R{M: m, P: p};A[m, p];>R{M: m + 1, P: p};>O[m, p]",
                     "R{M: m + 1, P: p};O[m, p];>Z[m, p]"}};
        case 5:
            return {"state-reduced",  // the reader runs over a variable that the state lacks
                    {m, {"p", r.pick(b)}, {"x", r.pick(std::vector{2, 3})}},
                    {"S{M: m, P: p};W[x];>T[m, p, x]", "T[m, p, x];>S{M: m + 1, P: p}",
                     "S{M: m + 1, P: p};>Z[m, p]"}};
        case 6:
            return {"state-two-last",
                    {{"m", r.pick(std::vector{2, 3})}, {"p", 2}},
                    {"R{M: m, P: p};A[m, p];>R{M: m + 1, P: p}",
                     "S{M: m, P: p};R{M: m + 1, P: p};>S{M: m + 1, P: p}",
                     "R{M: last, P: p};S{M: last, P: p};>Z[p]"}};
        default:
            return {"state-two-readers",
                    {{"m", r.pick(std::vector{2, 3})}, {"p", 2}},
                    {"S{M: m, P: p};A[m];>T[m, p]", "S{M: m, P: p};B[p];>U[m, p]",
                     "T[m, p];U[m, p];>S{M: m + 1, P: p}", "S{M: last, P: p};>Z[p]"}};
    }
}

std::string memory(Random& r, const std::string& name, const std::string& size, int energy,
                   bool leaks, const std::string& tensors, const std::string& spatial = "") {
    std::ostringstream out;
    const auto throughput = [&] {
        return r.chance(50) ? std::to_string(r.pick(std::vector{1, 2, 4, 7})) : std::string("inf");
    };
    out << "  - !Memory\n    name: " << name << "\n    size: " << size << "\n    leak_power: "
        << (leaks ? r.pick(std::vector<std::string>{"0", "0.25", "1"}) : "0") << "\n    area: 0\n";
    if (!spatial.empty()) {
        out << "    spatial: [" << spatial << "]\n";
    }
    out << "    actions:\n    - {name: read, energy: " << energy << ", throughput: " << throughput()
        << "}\n    - {name: write, energy: " << energy + r.below(energy + 1)
        << ", throughput: " << throughput() << "}\n";
    if (r.chance(20)) {
        out << "    total_latency: max(a.n_calls / a.throughput for a in actions)\n";
    }
    out << "    tensors: " << tensors << "\n";
    return out.str();
}

std::string compute(Random& r, const std::string& name, const std::string& spatial) {
    std::ostringstream out;
    out << "  - !Compute\n    name: " << name
        << "\n    leak_power: " << r.pick(std::vector<std::string>{"0", "0", "0.5"})
        << "\n    area: 0\n";
    if (!spatial.empty()) {
        out << "    spatial: [" << spatial << "]\n";
    }
    out << "    actions:\n    - {name: compute, energy: " << r.pick(std::vector{0, 1, 3})
        << ", throughput: " << r.pick(std::vector{1, 2, 8}) << "}\n";
    return out.str();
}

std::string fanout(Random& r, const std::string& name) {
    return "{name: " + name + ", fanout: " + std::to_string(r.pick(std::vector{2, 3})) +
           (r.chance(30) ? ", may_reuse: Nothing}" : "}");
}

std::string architecture_text(Random& r, std::size_t einsums) {
    const bool leaks = r.chance(40);
    const int extra = einsums == 1 ? r.below(3) : einsums == 2 && r.chance(20) ? 1 : 0;
    bool fans = r.chance(einsums <= 2 ? 35 : 10);
    std::string out = "arch:\n  nodes:\n";
    const auto main_tensors =
        r.chance(20) && einsums > 1
            ? std::vector<std::string>{"{keep: ~Shared, may_keep: All}"}
            : std::vector<std::string>{"{keep: ~Intermediates, may_keep: All}",
                                       "{keep: ~Intermediates}"};
    out +=
        memory(r, "MainMemory", "inf", r.pick(std::vector{5, 10, 30}), false, r.pick(main_tensors));
    const std::vector<std::string> sizes{"3",  "4",  "6",  "8",  "10", "13",
                                         "18", "26", "40", "64", "120"};
    out += memory(r, "Buffer", r.pick(sizes), r.pick(std::vector{1, 2}), leaks,
                  r.pick(std::vector<std::string>{"{keep: ~MainMemory, may_keep: All}",
                                                  "{keep: ~MainMemory, may_keep: All}",
                                                  "{keep: ~MainMemory, may_keep: Inputs}"}));
    const bool second = r.chance(25);
    if (second) {
        out += compute(r, "Vector", fans && r.chance(30) ? fanout(r, "V") : "");
    }
    for (int i = 0; i < extra; ++i) {
        const std::string own = fans && r.chance(40) ? fanout(r, "S") : "";
        fans = fans && own.empty();
        out += memory(r, "Pad" + std::to_string(i),
                      r.pick(std::vector<std::string>{"4", "8", "24"}), 1, leaks,
                      r.pick(std::vector<std::string>{"{keep: Outputs}", "{may_keep: Outputs}",
                                                      "{may_keep: Inputs - Intermediates}"}),
                      own);
    }
    return out + compute(r, "MAC", fans ? fanout(r, "X") : "");
}

std::string network(Random& r, const std::string& name) {
    std::string out = "  - !Network\n    name: " + name + "\n    leak_power: 0\n    area: 0\n";
    out += std::string("    topology: ") + (r.chance(75) ? "mesh" : "all_to_all") + "\n";
    out += std::string("    total_latency: ") + (r.chance(50) ? "max_hops" : "0") + "\n";
    return out + "    actions:\n    - {name: hop, energy: " +
           std::to_string(r.pick(std::vector{1, 2, 7})) + ", latency: 1, throughput: inf}\n";
}

/// A network spreads what two memories send over two dimensions, or over one at each of two levels.
/// `wide`: one dimension alone, for Einsums of three rank variables.
std::string networked_text(Random& r, bool wide) {
    std::string out = "arch:\n  nodes:\n";
    out += memory(r, "MainMemory", "inf", r.pick(std::vector{5, 10}), false,
                  r.pick(std::vector<std::string>{"{keep: ~Intermediates, may_keep: All}",
                                                  "{keep: ~Intermediates}"}));
    const bool outer = r.chance(30);
    out += outer ? network(r, "Wide") : "";
    out += memory(r, "Buffer", r.pick(std::vector<std::string>{"8", "18", "40", "120"}), 1, false,
                  "{keep: ~MainMemory, may_keep: All}");
    out += outer ? "" : network(r, "Wide");
    const bool both = !wide && r.chance(40), stacked = !wide && !both;
    if (stacked || r.chance(30)) {
        // Inside the array: Einsums exchange a tensor below its loops.
        const std::string inside =
            r.chance(50) ? fanout(r, "P") + ", " + fanout(r, "Q") : fanout(r, "P");
        out += memory(r, "Pad", r.pick(std::vector<std::string>{"4", "8", "24"}), 1, false,
                      r.pick(std::vector<std::string>{"{may_keep: Outputs}", "{may_keep: All}",
                                                      "{may_keep: Inputs - Intermediates}"}),
                      stacked ? inside : "");
    }
    out += r.chance(30) ? network(r, "Near") : "";
    const std::string own = both ? fanout(r, "X") + ", " + fanout(r, "Y") : fanout(r, "X");
    return out + compute(r, "MAC", stacked && r.chance(50) ? "" : own);
}

/// Containers right above each other, around a memory in which Einsums may exchange tensors.
std::string stacked_text(Random& r) {
    std::string out = "arch:\n  nodes:\n";
    out += memory(r, "MainMemory", "inf", r.pick(std::vector{5, 10, 30}), false,
                  r.pick(std::vector<std::string>{"{keep: ~Intermediates, may_keep: All}",
                                                  "{keep: ~Intermediates}"}));
    for (int i = 0; i < 2; ++i) {
        const std::string name(1, static_cast<char>('A' + i));
        out += "  - !Container\n    name: Array" + name + "\n    spatial: [" +
               fanout(r, name + "0") +
               (i == 1 && r.chance(30) ? ", " + fanout(r, name + "1") : "") + "]\n";
    }
    out += memory(r, "Pad", r.pick(std::vector<std::string>{"2", "4", "8", "24", "60"}), 1,
                  r.chance(30),
                  r.pick(std::vector<std::string>{"{keep: ~MainMemory, may_keep: All}",
                                                  "{keep: ~MainMemory, may_keep: Inputs}"}));
    return out + compute(r, "MAC", "");
}

}  // namespace

Instance random_stacked_instance(std::uint64_t seed) {
    Random r(seed ^ 0x57ac);
    const Shape shape = r.chance(20) ? single(r) : r.chance(60) ? pair(r) : triple(r);
    Instance out{seed, shape.kind, "", mapspace::MapSpaceOptions{}};
    out.yaml = stacked_text(r);
    out.yaml += workload_text(shape, r, Random(~seed));
    return out;
}

Instance random_network_instance(std::uint64_t seed) {
    Random r(seed ^ 0x4e7);
    Shape shape;
    do {  // the reference has no network below a loop inside a sum
        shape = r.chance(30) ? single(r) : r.chance(70) ? pair(r) : triple(r);
    } while (shape.kind == "one-conv");
    Instance out{seed, shape.kind, "", mapspace::MapSpaceOptions{}};
    const std::set<std::string> narrow{"two-vectors", "three-gated", "three-normalise",
                                       "three-two-tiles"};
    out.yaml = networked_text(r, !narrow.contains(shape.kind));
    out.yaml += workload_text(shape, r, Random(~seed));
    if (r.chance(30)) {
        out.options.max_fused_loops_per_rank_variable = mapspace::MapSpaceOptions::unlimited;
    }
    return out;
}

Instance random_state_instance(std::uint64_t seed) {
    Random r(seed ^ 0x57a7e);
    const Shape shape = states(r);
    Instance out{seed, shape.kind, "", mapspace::MapSpaceOptions{}};
    out.yaml = architecture_text(r, shape.einsums.size());
    out.yaml += workload_text(shape, r, Random(~seed), true);
    if (r.chance(20)) {
        out.options.max_fused_loops_per_rank_variable = mapspace::MapSpaceOptions::unlimited;
    }
    return out;
}

namespace {

/// Asks for usage of some of the arrays of computes.
void ask_for_usage(std::string& yaml, Random r) {
    for (const char* dimension : {"{name: X, fanout: ", "{name: V, fanout: "}) {
        const std::size_t at = yaml.find(dimension);
        if (at != std::string::npos && r.chance(60)) {
            yaml.insert(at + 8, ", min_usage: " + std::string(r.chance(50) ? "1" : "0.5"));
        }
    }
}

}  // namespace

Instance random_residual_instance(std::uint64_t seed) {
    Random r(seed ^ 0x2e51d);
    const Shape shape = residuals(r);
    Instance out{seed, shape.kind, "", mapspace::MapSpaceOptions{}};
    out.yaml = architecture_text(r, shape.einsums.size() > 2 ? 4 : 2);
    out.yaml += workload_text(shape, r, Random(~seed));
    ask_for_usage(out.yaml, Random(~seed ^ 0x05a6e));
    if (r.chance(20)) {
        out.options.max_fused_loops_per_rank_variable = mapspace::MapSpaceOptions::unlimited;
    }
    return out;
}

Instance random_full_instance(std::uint64_t seed) {
    Random r(seed ^ 0xf011);
    const int kind = r.below(12);
    const Shape shape = kind < 2    ? single(r)
                        : kind < 5  ? pair(r)
                        : kind < 7  ? convolutions(r)
                        : kind < 10 ? triple(r)
                                    : quadruple(r);
    Instance out{seed, shape.kind, "", mapspace::MapSpaceOptions{}};
    out.yaml = architecture_text(r, shape.einsums.size());
    out.yaml += workload_text(shape, r, Random(~seed));
    ask_for_usage(out.yaml, Random(~seed ^ 0x05a6e));
    switch (r.below(10)) {
        case 0:
        case 2:
        case 3:
            out.options.max_fused_loops_per_rank_variable = mapspace::MapSpaceOptions::unlimited;
            break;
        case 1:
            out.options.max_fused_loops = 2;
            break;
        default:
            break;
    }
    return out;
}

}  // namespace tessera::oracle
