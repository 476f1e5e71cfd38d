#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "transformation/random_problem.hpp"

namespace tessera::transformation {

namespace {

double values_of(const Problem& problem, const Access& access) {
    double values = 1;
    for (const Rank& rank : access.ranks) {
        double extent = 1;
        for (const Term& term : rank.terms) {
            for (const auto& [name, bound] : problem.bounds) {
                extent += name == term.variable ? term.factor * (bound - 1) : 0;
            }
        }
        values *= extent;
    }
    return values;
}

/// Of the largest Einsum.
double bits_of_an_einsum(const Problem& problem) {
    double most = 0;
    for (const Einsum& einsum : problem.einsums) {
        double sum = 0;
        for (const Access& a : einsum.accesses) {
            sum += values_of(problem, a) * problem.bits_per_value.at(a.tensor);
        }
        most = std::max(most, sum);
    }
    return most;
}

std::vector<Action> actions(const std::vector<std::string>& names, double energy_j, Random& r) {
    std::vector<Action> result;
    for (const std::string& name : names) {
        Action a{name, energy_j * (1 + r.below(3)) / 2.0};
        if (r.chance(60)) {
            a.throughput_per_s = r.pick(std::vector{0.5, 1.0, 3.0, 8.0, 20.0, 64.0});
        }
        result.push_back(a);
    }
    return result;
}

Dimension dimension(const std::string& name, const Problem& problem, Random& r) {
    Dimension d{name, r.pick(std::vector{2, 2, 3, 4, 5, 8}), {}};
    const std::vector<std::string> sets{"Nothing", "Inputs", "Outputs"};
    if (r.chance(20)) {
        d.rules.emplace_back("may_reuse", r.pick(sets));
    } else if (r.chance(10)) {
        d.rules.emplace_back("reuse", r.pick(std::vector<std::string>{"Inputs", "Outputs"}));
    }
    if (r.chance(8)) {
        d.rules.emplace_back("min_usage", r.pick(std::vector<std::string>{"0.5", "1"}));
    }
    if (r.chance(10)) {
        const std::string& v =
            problem
                .bounds[static_cast<std::size_t>(r.below(static_cast<int>(problem.bounds.size())))]
                .first;
        d.rules.emplace_back("loop_bounds", "[{expression: " + v + ", operator: \"<=\", value: " +
                                                std::to_string(1 + r.below(2)) + "}]");
    }
    return d;
}

class Hardware {
public:
    Hardware(Problem& problem, Random& r) : problem_(problem), r_(r) {}

    void draw() {
        const bool large = problem_.family == "convolution-2d";
        const int memories = large ? 2 : 2 + (r_.chance(40) ? 1 : 0) + (r_.chance(20) ? 1 : 0);
        const bool spatial = r_.chance(50);
        const bool network = spatial && r_.chance(20);
        const int place = r_.below(memories);  // the fan-out follows this memory
        leaks_ = r_.chance(35);
        for (int i = 0; i < memories; ++i) {
            memory(i, memories);
            if (i == 0 && r_.chance(15)) {
                toll();
            }
            if (i == memories - 2 && r_.chance(15)) {
                compute("Vector");
            }
            if (spatial && i == place) {
                fan_out(network);
            }
        }
        compute("MAC");
    }

private:
    Component& add(const std::string& kind, const std::string& name) {
        Component& c = problem_.components.emplace_back();
        c.kind = kind;
        c.name = name;
        if (leaks_ && kind != "Container" && r_.chance(50)) {
            c.leak_w = r_.pick(std::vector{0.1, 0.5, 2.0});
        }
        return c;
    }

    void memory(int i, int of) {
        Component& c = add("Memory", i == 0 ? "Main" : "Buffer" + std::to_string(i));
        const std::vector<double> energies{24, 6, 2, 1};
        c.actions = actions({"read", "write"}, energies[static_cast<std::size_t>(i)], r_);
        if (r_.chance(25)) {
            c.more.emplace_back("total_latency", "max(a.n_calls / a.throughput for a in actions)");
        }
        if (r_.chance(15)) {
            c.more.emplace_back("skip_initial_output_write", "False");
        }
        c.bits_per_action = r_.chance(25) ? r_.pick(std::vector{2, 8}) : 1;
        using Texts = std::vector<std::string>;
        if (i == 0) {
            c.tensors = {
                {"keep", r_.pick(Texts{"~Intermediates", "~Intermediates", "~Shared", "All"})}};
            if (r_.chance(70)) {
                c.tensors.emplace_back("may_keep", "All");
            }
            return;
        }
        // The innermost of several memories keeps one kind of tensors, as scratchpads do.
        c.size_bits = std::max(
            6.0, bits_of_an_einsum(problem_) * r_.pick(i == 1 ? std::vector{0.1, 0.2, 0.4, 0.8, 2.0}
                                                              : std::vector{0.02, 0.05, 0.1}));
        c.size_bits = static_cast<double>(static_cast<long>(c.size_bits));
        if (i == 1) {
            c.tensors = {{"keep", r_.pick(Texts{"~Main", "~Main", "~Main | Outputs", "All"})},
                         {"may_keep", r_.pick(Texts{"All", "All", "Inputs"})}};
        } else if (of > 3) {
            c.tensors = {{"keep", "Nothing"},
                         {"may_keep", r_.pick(Texts{"Outputs", "Inputs - Intermediates"})}};
        } else {
            c.tensors = {
                {"keep", r_.pick(Texts{"Nothing", "Nothing", "Outputs"})},
                {"may_keep", r_.pick(Texts{"Outputs", "Inputs - Intermediates", "Inputs"})}};
        }
        condition(c);
    }

    // More keys for the `tensors` of a memory, now and then.
    void condition(Component& c) {
        switch (r_.below(24)) {
            case 0:
                c.tensors.emplace_back("no_refetch_from_above", "Inputs");
                break;
            case 1:
                c.tensors.emplace_back("no_resend_to_below", "Outputs");
                break;
            case 2:
                c.tensors.emplace_back("tensor_order_options", "[[Inputs, Outputs]]");
                break;
            case 3:
                c.tensors.emplace_back("tensor_order_options",
                                       "[[Outputs, Inputs], [Inputs, Outputs]]");
                break;
            default:
                break;
        }
    }

    void toll() {
        Component& c = add("Toll", "Link");
        c.actions = actions({"read"}, 3, r_);
        c.tensors = {{"keep", r_.pick(std::vector<std::string>{"All", "Inputs", "Outputs"})}};
        c.more.emplace_back("direction",
                            r_.pick(std::vector<std::string>{"up", "down", "up_and_down"}));
    }

    /// A network outside the array carries what its loops spread, one inside what each instance
    /// gets. Few rank variables, so that all orders below it are searched (L9 of the mapspace).
    void fan_out(bool network) {
        const std::size_t variables = most_variables();
        const bool outside = network && variables <= 4 && !sums() && r_.chance(60);
        if (outside) {
            this->network();
        }
        Component& c = add("Container", "Array");
        c.dimensions.push_back(dimension("rows", problem_, r_));
        if (r_.chance(40) && !(outside && variables > 2)) {
            c.dimensions.push_back(dimension("columns", problem_, r_));
        }
        if (network && !outside) {
            this->network();
        }
    }

    /// Of one Einsum.
    std::size_t most_variables() const {
        std::size_t most = 0;
        for (const Einsum& einsum : problem_.einsums) {
            std::set<std::string> variables;
            for (const Term& term : einsum.terms()) {
                variables.insert(term.variable);
            }
            most = std::max(most, variables.size());
        }
        return most;
    }

    /// The reference has no network below a loop inside a sum.
    bool sums() const {
        for (const Einsum& einsum : problem_.einsums) {
            for (const Access& access : einsum.accesses) {
                if (std::ranges::any_of(access.ranks,
                                        [](const Rank& rank) { return rank.terms.size() > 1; })) {
                    return true;
                }
            }
        }
        return false;
    }

    void network() {
        Component& net = add("Network", "Net");
        net.actions = actions({"hop"}, 0.5, r_);
        net.more.emplace_back("topology", r_.pick(std::vector<std::string>{"mesh", "all_to_all"}));
    }

    void compute(const std::string& name) {
        Component& c = add("Compute", name);
        c.actions = {{"compute", r_.pick(std::vector{0.0, 0.25, 1.0}),
                      r_.pick(std::vector{1.0, 2.0, 5.0, 16.0})}};
    }

    Problem& problem_;
    Random& r_;
    bool leaks_ = false;
};

}  // namespace

void draw_hardware(Problem& problem, Random& r) {
    Hardware(problem, r).draw();
}

std::vector<std::string> features(const Problem& problem) {
    std::set<std::string> found;
    int memories = 0, computes = 0;
    for (const Component& c : problem.components) {
        memories += c.kind == "Memory" ? 1 : 0;
        computes += c.kind == "Compute" ? 1 : 0;
        if (c.kind == "Toll" || c.kind == "Network") {
            found.insert(c.kind == "Toll" ? "toll" : "network");
        }
        if (!c.dimensions.empty()) {
            found.insert("spatial");
        }
        if (!c.follows.empty()) {
            found.insert("size by Einsum");
        }
        if (!c.enabled_for.empty()) {
            found.insert("enabled by Einsum");
        }
        if (c.bits_of_outputs > 0) {
            found.insert("bits by memory");
        }
        if (std::ranges::any_of(c.dimensions,
                                [](const Dimension& d) { return !d.follows.empty(); })) {
            found.insert("fan-out by Einsum");
        }
    }
    found.insert(std::to_string(memories) + " memories");
    if (std::ranges::count_if(problem.components,
                              [](const Component& c) { return !c.dimensions.empty(); }) > 1) {
        found.insert("two arrays");
    }
    if (computes > 1) {
        found.insert("several computes");
    }
    if (!problem.persistent.empty()) {
        found.insert("persistent");
    }
    if (std::ranges::any_of(problem.einsums, [](const Einsum& e) { return e.instances > 1; })) {
        found.insert("n_instances");
    }
    for (const auto& [tensor, bits] : problem.bits_per_value) {
        if (bits != std::floor(bits)) {
            found.insert("fractions of bits");
        }
    }
    for (const char* key : {"reuse", "min_usage", "loop_bounds", "usage_scale", "back",
                            "force_memory_hierarchy_order", "no_refetch_from_above",
                            "no_resend_to_below", "tensor_order_options"}) {
        if (problem.has_rule(key)) {
            found.insert(key);
        }
    }
    if (problem.options.partial_tiles()) {
        found.insert("partial tiles");
    }
    return {found.begin(), found.end()};
}

namespace {

mapspace::MapSpaceOptions random_options(Random& r) {
    mapspace::MapSpaceOptions o = mapspace::MapSpaceOptions{};
    switch (r.below(14)) {
        case 0:
            o.max_fused_loops = r.below(3);
            break;
        case 1:
            o.max_fused_loops_per_rank_variable = 2;
            break;
        case 2:
            o.unfused = true;
            break;
        case 3:
            o.imperfect_spatial = true;
            break;
        case 4:
            o.imperfect_temporal = true;
            break;
        case 5:
            o.line_buffers = false;
            break;
        case 6:
            o.all_einsum_orders = false;
            break;
        default:
            break;
    }
    return o;
}

/// Now and then, of whole bits. All else of a problem stays as it is without them.
void draw_banks(Problem& problem, Random r) {
    for (Component& c : problem.components) {
        if (c.kind == "Memory" && std::isfinite(c.size_bits) && r.chance(20)) {
            c.banks = r.pick(std::vector{2, 3, 5, 8});
            c.size_bits = std::max(1.0, std::round(c.size_bits / c.banks)) * c.banks;
        }
    }
}

/// Now and then: what follows the Einsum, shares in use that are scaled, fractions of bits. All
/// else of a problem stays as it is without them.
void draw_varieties(Problem& problem, Random r) {
    const auto tensor = [&] {
        const auto at =
            static_cast<std::ptrdiff_t>(r.below(static_cast<int>(problem.bits_per_value.size())));
        return std::next(problem.bits_per_value.begin(), at)->first;
    };
    const double fraction = r.chance(15) ? r.pick(std::vector{1.1, 0.3, 0.7}) : 1;
    for (auto& [name, bits] : problem.bits_per_value) {
        bits *= fraction;
    }
    for (Einsum& e : problem.einsums) {
        e.instances = r.chance(5) ? 2 + r.below(2) : 1;
    }
    for (Component& c : problem.components) {
        const bool inner = c.kind == "Memory" && std::isfinite(c.size_bits);
        if (inner && c.banks == 0) {
            c.size_bits *= fraction;
            if (r.chance(12)) {
                c.other_size_bits = c.size_bits * r.pick(std::vector{0.5, 2.0, HUGE_VAL});
                c.follows = tensor();
            }
        }
        if (inner && r.chance(8)) {
            c.enabled_for = tensor();
        }
        if (inner && r.chance(8)) {
            c.bits_of_outputs = r.pick(std::vector{4, 12, 32});
        }
        if (inner && r.chance(8)) {
            c.tensors.emplace_back("force_memory_hierarchy_order", "False");
        }
        if (inner && r.chance(5)) {
            c.tensors.emplace_back("back", r.pick(std::vector<std::string>{
                                               "Intermediates", "Outputs & Intermediates"}));
        }
        for (Dimension& d : c.dimensions) {
            if (r.chance(12)) {
                d.other_fanout = r.pick(std::vector{1, 2, 6});
                d.follows = tensor();
            }
            if (r.chance(12)) {
                d.rules.emplace_back("usage_scale",
                                     r.pick(std::vector<std::string>{"0.5", "1.5", "2"}));
            }
        }
    }
}

/// Now and then: another array behind a memory, memories that leave their order. All else of a
/// problem stays as it is without them.
void draw_arrays(Problem& problem, Random r) {
    const bool networks = std::ranges::any_of(
        problem.components, [](const Component& c) { return c.kind == "Network"; });
    if (r.chance(20) && !networks) {
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < problem.components.size(); ++i) {
            if (problem.components[i].kind == "Memory") {
                places.push_back(i);
            }
        }
        Component array;
        array.kind = "Container";
        array.name = "Array2";
        array.dimensions.push_back({"lanes", 2 + r.below(3), {}});
        problem.components.insert(
            problem.components.begin() + static_cast<std::ptrdiff_t>(r.pick(places)) + 1, array);
    }
    int left = r.chance(25) ? 1 + r.below(2) : 0;
    for (std::size_t i = problem.components.size(); i-- > 1 && left > 0;) {
        Component& c = problem.components[i];
        const bool known = std::ranges::any_of(c.tensors, [](const auto& rule) {
            return rule.first == "force_memory_hierarchy_order";
        });
        if (c.kind == "Memory" && !known && r.chance(70)) {
            c.tensors.emplace_back("force_memory_hierarchy_order", "False");
            --left;
        }
    }
}

/// Under the reference's rules such copies are not searched.
bool makes_persistent_copies(const Problem& problem) {
    const auto persistent = [&](const Access& a) { return problem.persistent.contains(a.tensor); };
    return std::ranges::any_of(problem.einsums, [&](const Einsum& e) {
        const auto has = [&](bool output, bool wanted) {
            return std::ranges::any_of(e.accesses, [&](const Access& a) {
                return a.output == output && persistent(a) == wanted;
            });
        };
        return e.copies && has(true, true) && has(false, false);
    });
}

}  // namespace

Problem random_problem(std::uint64_t seed) {
    Random r(seed ^ 0x7ea5);
    Problem problem;
    problem.options = random_options(r);
    draw_workload(problem, static_cast<int>(seed % families().size()), r);
    draw_hardware(problem, r);
    draw_banks(problem, Random(seed ^ 0xba2c));
    draw_varieties(problem, Random(seed ^ 0x7a1e));
    draw_arrays(problem, Random(seed ^ 0xa77a));
    if (problem.options.partial_tiles()) {
        return problem;
    }
    if (r.chance(15) && !makes_persistent_copies(problem)) {
        problem.compat = arch::Compat::accelforge;
        mapspace::MapSpaceOptions o = mapspace::MapSpaceOptions::accelforge();
        o.all_einsum_orders = problem.options.all_einsum_orders;
        o.max_fused_loops = problem.options.max_fused_loops;
        o.max_loops_per_spatial_dimension = problem.options.max_loops_per_spatial_dimension;
        problem.options = o;
    }
    return problem;
}

}  // namespace tessera::transformation
