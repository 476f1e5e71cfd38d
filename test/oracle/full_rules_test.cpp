// Single rules of docs/ffm-proofs.md and docs/templates.md, on problems made for them.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "mapspace/tile_shapes/test_switches.hpp"
#include "oracle/full_compare.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/model/formula_pool.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

std::string memory(const std::string& name, const std::string& size, int energy,
                   const std::string& tensors) {
    const std::string e = std::to_string(energy);
    return "  - !Memory\n    name: " + name + "\n    size: " + size +
           "\n    leak_power: 0\n    area: 0\n    actions:\n    - {name: read, energy: " + e +
           ", throughput: inf}\n    - {name: write, energy: " + e +
           ", throughput: inf}\n    tensors: " + tensors + "\n";
}

std::string machine(const std::string& buffer_size, const std::string& buffer_tensors) {
    return "arch:\n  nodes:\n" +
           memory("MainMemory", "inf", 10, "{keep: ~Intermediates, may_keep: All}") +
           memory("Buffer", buffer_size, 1, buffer_tensors) +
           "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n    actions:\n"
           "    - {name: compute, energy: 0, throughput: 1}\n";
}

std::string einsum(const std::string& name, const std::vector<std::string>& accesses) {
    std::string text = "  - name: " + name + "\n    tensor_accesses:\n";
    for (const std::string& access : accesses) {
        text += "    - {" + access + "}\n";
    }
    return text;
}

/// W[c] is the same for all a and b. Held inside the loop over a, it makes room for the third
/// Einsum, which does not need it; hoisted above that loop it is there all the time.
oracle::Instance outer_product(const std::string& buffer_size) {
    oracle::Instance out;
    out.kind = "outer-product";
    out.options = mapspace::MapSpaceOptions{};
    out.yaml = machine(buffer_size, "{keep: ~MainMemory, may_keep: All}") +
               "workload:\n  iteration_space_shape:\n    a: 0 <= a < 4\n    b: 0 <= b < 2\n"
               "    c: 0 <= c < 3\n    d: 0 <= d < 3\n  bits_per_value: {All: 1}\n  einsums:\n" +
               einsum("Make", {"name: W, projection: [c]", "name: X, projection: [a, b]",
                               "name: T, projection: [a, b, c], output: True"}) +
               einsum("Sum", {"name: T, projection: [a, b, c]",
                              "name: U, projection: [a], output: True"}) +
               einsum("Spread", {"name: U, projection: [a]", "name: V, projection: [d]",
                                 "name: Z, projection: [a, d], output: True"});
    return out;
}

/// Three matrix-vector products of one size, `change` made to the text.
oracle::Instance equal_products(const std::string& size, const std::string& from,
                                const std::string& to) {
    oracle::Instance out;
    out.kind = "equal-products";
    out.options = mapspace::MapSpaceOptions{};
    out.yaml = machine(size, "{keep: ~MainMemory, may_keep: All}") +
               "workload:\n  iteration_space_shape:\n";
    for (int i = 0; i < 4; ++i) {
        const std::string n = "n" + std::to_string(i);
        out.yaml += "    " + n + ": 0 <= " + n + " < 2\n";
    }
    out.yaml += "  bits_per_value: {All: 1}\n  einsums:\n";
    for (int i = 0; i < 3; ++i) {
        const std::string a = std::to_string(i), b = std::to_string(i + 1);
        out.yaml += einsum("E" + a, {"name: T" + a + ", projection: [n" + a + "]",
                                     "name: W" + a + ", projection: [n" + a + ", n" + b + "]",
                                     "name: T" + b + ", projection: [n" + b + "], output: True"});
    }
    if (!from.empty()) {
        const std::size_t at = out.yaml.find(from);
        BOOST_TEST_REQUIRE(at != std::string::npos, from);
        out.yaml.replace(at, from.size(), to);
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(full_rules)

BOOST_AUTO_TEST_CASE(hoisting_loops_in_fused_gaps_loses_optima_and_is_noticed) {
    for (const char* size : {"4", "5", "6", "7", "8", "9", "10", "12"}) {
        const auto right = oracle::judge(outer_product(size));
        BOOST_TEST(right.judged);
        BOOST_TEST(right.error == "", size << ": " << right.error);
    }
    const oracle::Instance tight = oracle::random_full_instance(48);  // the same graph
    BOOST_TEST_REQUIRE(tight.kind == "three-outer");
    BOOST_TEST(oracle::judge(tight).error == "");
    mapspace::hoist_fused_loops_in_tests = true;
    const auto hoisted = oracle::judge(tight);
    mapspace::hoist_fused_loops_in_tests = false;
    BOOST_TEST(hoisted.error != "");
}

// docs/ffm-proofs.md 2.6: with equal fused tile shapes, what stands above the innermost fused loop
// has one size.
BOOST_AUTO_TEST_CASE(reservations_above_fused_loops_depend_on_fused_tile_shapes_only) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    int reservations = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const oracle::Instance drawn = oracle::random_full_instance(seed);
        const oracle::LoadedInstance instance(drawn.yaml);
        for (int e = 0; e < static_cast<int>(instance.workload.einsums.size()); ++e) {
            const arch::Path path =
                instance.architecture->path(instance.workload, e, "MAC", instance.problem.compat);
            mapspace::enumerate_templates(path, drawn.options, [&](const mapspace::Template& tmpl) {
                model::FormulaPool pool;
                const model::FormulaScope scope(pool);
                model::SymbolSet fused;
                for (std::size_t s = 0; s < tmpl.symbols.size(); ++s) {
                    fused |= model::SymbolSet::of(tmpl.symbols[s].fused ? static_cast<int>(s) : -1);
                }
                int fused_loops = 0;
                for (int i = 0; i < tmpl.n_fused_nodes; ++i) {
                    const auto kind = tmpl.nodes[static_cast<std::size_t>(i)].kind;
                    fused_loops +=
                        kind == mapping::NodeKind::temporal || kind == mapping::NodeKind::spatial;
                }
                const auto f = model->formulate(instance.problem, path, tmpl);
                for (const model::OccupancyFormula& o : f.occupancies) {
                    // Where the order is open the reservation sinks further, below all of them.
                    const bool open = tmpl.nodes[static_cast<std::size_t>(o.node)].open_order;
                    if (o.loops_above < fused_loops || (o.loops_above == fused_loops && !open)) {
                        ++reservations;
                        BOOST_TEST(fused.contains(pool.mask(o.bits)));
                    }
                }
            });
        }
    }
    BOOST_TEST(reservations > 10000);
}

// docs/ffm-proofs.md 2.8: Einsums that differ in what costs or roles depend on are not taken for
// equal.
BOOST_AUTO_TEST_CASE(equal_einsums_are_explored_once_and_unequal_ones_are_not) {
    const std::vector<std::pair<std::string, std::string>> changes{
        {"", ""},
        {"projection: [n1, n2]", "projection: [n1, n2], bits_per_value: 3"},
        {"projection: [n1, n2]", "projection: [n1, n2], persistent: True"},
        {"n2: 0 <= n2 < 2", "n2: 0 <= n2 < 3"},
        {"{keep: ~MainMemory, may_keep: All}", "{keep: ~MainMemory | W1, may_keep: All}"},
        {"{keep: ~MainMemory, may_keep: All}", "{keep: ~MainMemory, may_keep: All - W2}"},
    };
    for (const auto& [from, to] : changes) {
        for (const char* size : {"4", "7", "11", "100"}) {
            const auto outcome = oracle::judge(equal_products(size, from, to));
            BOOST_TEST(outcome.judged);
            BOOST_TEST(outcome.error == "", size << ' ' << to << ": " << outcome.error);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
