// Convolutions of six to nine rank variables on four and five memories: templates with more tile
// shapes than any other family has. They are too many for brute force, so they are held against
//   a reduced form   variables that index the same tensors in the same way (batch, rows without a
//                    filter) are symmetric variables: one variable of all their values has the same
//                    optimum (docs/ffm-proofs.md, 2.21), and half as many tile shapes
//   a plain search   without best-first search, without open loop orders
//   drawn mappings   none costs less than a proven optimum
// TESSERA_SOAK=n: n / 50 convolutions in place of a few, from number TESSERA_SOAK_FROM.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "oracle/oracle_instance.hpp"
#include "oracle/random.hpp"
#include "support/setting.hpp"
#include "tessera/arch/path.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/strategy.hpp"

using namespace tessera;
using mapper::Metric;
using oracle::Random;

namespace {

constexpr double rounding = 1e-9;

struct Variable {
    std::string name;
    int bound = 1;
};

/// O[n.., p, m] += I[n.., p + r, c] * W[r, c, m]; `plain` variables index O and I by themselves,
/// every pair of `line_buffer` ones by their sum.
struct Convolution {
    std::vector<Variable> plain;
    std::vector<std::pair<Variable, Variable>> line_buffer;
    int stride = 1, channels = 2, outputs = 2;
    int offset = 0;         ///< of the first line buffer
    bool mirrored = false;  ///< p - r in place of p + r
};

std::string workload_of(const Convolution& c) {
    std::vector<Variable> all = c.plain;
    std::string o, i, w;
    const auto add = [](std::string& to, const std::string& rank, const std::string& expression) {
        to += (to.empty() ? "" : ", ") + rank + ": " + expression;
    };
    for (const Variable& v : c.plain) {
        add(o, "D" + v.name, v.name);
        add(i, "D" + v.name, v.name);
    }
    for (const auto& [out, filter] : c.line_buffer) {
        const bool is_first = out.name == c.line_buffer.front().first.name;
        all.push_back(out);
        all.push_back(filter);
        add(o, "X" + out.name, out.name);
        add(i, "X" + out.name,
            (c.stride > 1 ? std::to_string(c.stride) + "*" : "") + out.name +
                (c.mirrored ? " - " : " + ") + filter.name +
                (c.offset > 0 && is_first ? " + " + std::to_string(c.offset) : ""));
        add(w, "F" + filter.name, filter.name);
    }
    all.push_back({"c", c.channels});
    all.push_back({"m", c.outputs});
    add(i, "C", "c");
    add(w, "C", "c");
    add(w, "M", "m");
    add(o, "M", "m");
    std::string text = "workload:\n  iteration_space_shape:\n";
    for (const Variable& v : all) {
        text += "    " + v.name + ": 0 <= " + v.name + " < " + std::to_string(v.bound) + "\n";
    }
    return text + "  bits_per_value: {All: 8}\n  einsums:\n  - name: conv\n    tensor_accesses:\n" +
           "    - {name: O, projection: {" + o + "}, output: True}\n    - {name: I, projection: {" +
           i + "}}\n    - {name: W, projection: {" + w + "}}\n";
}

/// Memories without constraints, the outermost without bounds; `optional`: how many inner ones may
/// leave tensors out.
std::string machine(Random& random, int memories, int optional) {
    std::string text = "arch:\n  nodes:\n";
    double energy = 64, bits = 4096;
    for (int l = 0; l < memories; ++l) {
        const std::string name = "Level" + std::to_string(l);
        if (l > 0 && random.chance(50)) {
            text += "  - !Container\n    name: Array" + std::to_string(l) +
                    "\n    spatial:\n    - {name: x" + std::to_string(l) +
                    ", fanout: " + std::to_string(2 + random.below(4)) + "}\n";
        }
        const bool may = l >= memories - optional;
        text +=
            "  - !Memory\n    name: " + name + "\n    size: " +
            (l == 0 ? "inf"
                    : std::to_string(std::max(24, static_cast<int>(bits)) + 8 * random.below(16))) +
            "\n    actions:\n    - {name: read, energy: " + std::to_string(energy) +
            ", throughput: " + std::to_string(1 << (2 * l + random.below(3))) +
            "}\n    - {name: write, energy: " + std::to_string(energy * (1 + random.below(2))) +
            ", throughput: " + (random.chance(40) ? "inf" : std::to_string(4 << l)) +
            "}\n    tensors: " + (may ? "{may_keep: All}" : "{keep: All}") + "\n";
        energy /= 2 + random.below(4);
        bits /= 3 + random.below(3);
    }
    return text +
           "  - !Compute\n    name: MAC\n    actions:\n    - {name: compute, energy: 0.1, "
           "throughput: 1}\n";
}

mapper::Result run_mapper(const std::string& name, const plugin::KnobSettings& knobs,
                          const std::string& text, Metric metric, mapper::Options options) {
    const oracle::LoadedInstance instance(text, arch::Compat::none);
    const auto mapper = plugin::Registry<mapper::Mapper>::instance().create(name, knobs);
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    options.metrics = {metric};
    return mapper->map(instance.problem, *model, options);
}

mapper::Result solve(const std::string& text, Metric metric, const mapper::Options& options) {
    return run_mapper("ffm", {}, text, metric, options);
}

mapper::Result search_with(const std::string& strategy, const std::string& text, Metric metric,
                           const mapper::Options& options) {
    return run_mapper("search", {{"strategy", strategy}}, text, metric, options);
}

double least(const std::string& text, Metric metric, const mapper::Options& settings = {}) {
    const mapper::Result r = solve(text, metric, settings);
    BOOST_TEST_REQUIRE((r.status == mapper::Status::optimal));
    return mapper::metric_value(metric, r.solutions.front().report);
}

std::size_t most_symbols(const std::string& text) {
    const oracle::LoadedInstance instance(text, arch::Compat::none);
    const arch::Path path =
        instance.architecture->path(instance.workload, 0, "MAC", arch::Compat::none);
    std::size_t most = 0;
    mapspace::enumerate_templates(path, mapspace::MapSpaceOptions{}, [&](mapspace::Template&& t) {
        most = std::max(most, t.symbols.size());
    });
    return most;
}

void test_equal(double a, double b, const std::string& text) {
    BOOST_TEST(std::abs(a - b) <= rounding * std::max(a, b), a << " and " << b << " of\n" << text);
}

int convolutions(int few) {
    return std::max(few, static_cast<int>(test::setting("TESSERA_SOAK", 0) / 50));
}

int first() {
    return static_cast<int>(test::setting("TESSERA_SOAK_FROM", 0));
}

Metric metric_of(int k) {
    return std::vector<Metric>{Metric::edp, Metric::energy, Metric::latency}[k % 3];
}

struct OfManyVariables {
    std::string whole, reduced;
    Metric metric = Metric::edp;
};

/// Batch, and one or two dimensions without a filter, in 2D and 3D.
OfManyVariables of_many_variables(int k) {
    Random random(static_cast<std::uint64_t>(k) + 100);
    const int memories = 4 + k % 2;
    const std::string arch = machine(random, memories, memories == 4 && random.chance(30));
    Convolution whole;
    const int n = 2 + random.below(2), q = 2 + random.below(2), d = 2;
    whole.plain = {{"n", n}, {"q", q}};
    if (memories == 4) {
        whole.plain.push_back({"d", d});
    }
    whole.line_buffer = {{{"p", 2 + random.below(4)}, {"r", 2 + random.below(2)}}};
    whole.stride = 1 + random.below(2);
    whole.channels = 2 + random.below(2);
    whole.outputs = 2 + random.below(3);
    Convolution reduced = whole;
    reduced.plain = {{"v", n * q * (memories == 4 ? d : 1)}};
    return {arch + workload_of(whole), arch + workload_of(reduced), metric_of(k)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(convolutions_of_many_variables_equal_their_reduced_form) {
    std::size_t most = 0;
    for (int k = first(); k < first() + convolutions(6); ++k) {
        const OfManyVariables problem = of_many_variables(k);
        most = std::max(most, most_symbols(problem.whole));
        test_equal(least(problem.whole, problem.metric), least(problem.reduced, problem.metric),
                   problem.whole);
    }
    BOOST_TEST(most > 32u);
}

// Each of the two is a search of its own; together they are the one that users get.
BOOST_AUTO_TEST_CASE(best_first_search_and_open_loop_orders_change_no_optimum) {
    for (int k = first(); k < first() + convolutions(4); ++k) {
        Random random(static_cast<std::uint64_t>(k) + 500);
        const std::string arch = machine(random, 3, 2);
        Convolution c;
        c.line_buffer = {{{"p", 2 + random.below(6)}, {"r", 2 + random.below(3)}}};
        if (k % 4 == 0) {
            c.line_buffer.push_back({{"q", 2}, {"s", 2}});
        }
        c.stride = 1 + random.below(2);
        c.channels = 1 + random.below(4);
        c.outputs = 1 + random.below(4);
        const std::string text = arch + workload_of(c);
        const Metric metric = metric_of(k);
        mapper::Options plain;
        plain.mapspace = mapspace::MapSpaceOptions::accelforge();
        plain.threads = 1;
        const double best = least(text, metric, plain);
        plain.without = {"best-first"};
        test_equal(best, least(text, metric, plain), text);
        plain.mapspace.open_loop_orders = false;
        test_equal(best, least(text, metric, plain), text);
        plain.without.clear();
        test_equal(best, least(text, metric, plain), text);
    }
}

// What is read lies elsewhere, and is as much.
BOOST_AUTO_TEST_CASE(offsets_and_signs_of_projections_change_no_optimum) {
    for (int k = first(); k < first() + convolutions(2); ++k) {
        Random random(static_cast<std::uint64_t>(k) + 1324);
        const std::string arch = machine(random, 3, 0);
        Convolution c;
        c.line_buffer = {{{"p", 2 + random.below(6)}, {"r", 2 + random.below(3)}},
                         {{"q", 2 + random.below(6)}, {"s", 2 + random.below(3)}}};
        c.stride = 1 + random.below(2);
        c.channels = 1 + random.below(3);
        c.outputs = 1 + random.below(3);
        const std::string plain = arch + workload_of(c);
        const Metric metric = metric_of(k);
        mapper::Options options;
        options.mapspace = mapspace::MapSpaceOptions::accelforge();
        options.threads = 1;
        const double best = least(plain, metric, options);
        c.offset = 9;
        test_equal(best, least(arch + workload_of(c), metric, options), arch + workload_of(c));
        c.mirrored = true;
        test_equal(best, least(arch + workload_of(c), metric, options), arch + workload_of(c));
    }
}

BOOST_AUTO_TEST_CASE(no_drawn_mapping_of_a_large_convolution_beats_the_optimum) {
    int drawn = 0;
    std::size_t most = 0;
    for (int k = first(); k < first() + convolutions(1); ++k) {
        Random random(static_cast<std::uint64_t>(k) + 900);
        const std::string arch = machine(random, 4, 0);
        Convolution c;
        c.plain = {{"n", 2}};
        c.line_buffer = {{{"p", 2 + random.below(3)}, {"r", 2}},
                         {{"q", 2 + random.below(3)}, {"s", 2}}};
        const std::string text = arch + workload_of(c);
        most = std::max(most, most_symbols(text));
        const Metric metric = metric_of(k);
        const double best = least(text, metric);
        mapper::Options options;
        options.budget.max_evals = 300;
        options.threads = 1;
        const mapper::Result r = search_with("random", text, metric, options);
        ++drawn;
        BOOST_TEST(mapper::metric_value(metric, r.solutions.front().report) >=
                   best * (1 - rounding));
    }
    BOOST_TEST(drawn > 0);
    BOOST_TEST(most > 32u);
}

// The optimum is that of the reduced form, which is found sooner.
BOOST_AUTO_TEST_CASE(every_strategy_runs_on_convolutions_of_many_variables) {
    const auto& strategies = plugin::Registry<search::SearchStrategy>::instance();
    int run = 0;
    for (int k = first(); k < first() + convolutions(2); ++k) {
        const OfManyVariables problem = of_many_variables(k);
        const double best = least(problem.reduced, problem.metric);
        for (const auto& entry : strategies.entries()) {
            const std::string& strategy = entry.name;
            BOOST_TEST_CONTEXT(strategy << " on convolution " << k) {
                mapper::Options options;
                options.budget.max_evals = 300;
                options.threads = 1;
                options.seed = static_cast<std::uint64_t>(k);
                const mapper::Result r =
                    search_with(strategy, problem.whole, problem.metric, options);
                BOOST_TEST_REQUIRE(!r.solutions.empty());
                BOOST_TEST(mapper::metric_value(problem.metric, r.solutions.front().report) >=
                           best * (1 - rounding));
                ++run;
            }
        }
    }
    BOOST_TEST(run > 0);
}

// Nothing is indexed by a number that was not checked.
BOOST_AUTO_TEST_CASE(too_many_tile_shapes_are_refused_by_number) {
    Random random(7);
    Convolution c;
    for (int v = 0; v < 45; ++v) {
        c.plain.push_back({"v" + std::to_string(v), 2});
    }
    c.line_buffer = {{{"p", 2}, {"r", 2}}};
    const std::string arch = machine(random, 5, 0);
    try {
        most_symbols(arch + workload_of(c));
        BOOST_ERROR("nothing was refused");
    } catch (const UserError& e) {
        BOOST_TEST(std::string(e.what()).find("at most 128") != std::string::npos, e.what());
    }
}
