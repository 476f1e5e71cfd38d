// Mapper constraints and mapspace limits, each kept and broken.
#include <boost/test/unit_test.hpp>

#include "legality_fixture.hpp"

using namespace legality_test;

namespace {

Case with(const std::string& dram, const std::string& glb, const std::string& reg = "",
          const std::string& dim = "") {
    std::string nodes = memory("DRAM", "inf", dram) + memory("GLB", "inf", glb);
    if (!reg.empty()) {
        nodes +=
            memory("Reg", "inf", reg,
                   dim.empty() ? "" : "    spatial:\n    - {name: X, fanout: 4, " + dim + "}\n");
    }
    return Case(machine(nodes), matmuls());
}

std::vector<std::string> nest(std::vector<std::string> nodes) {
    nodes.insert(nodes.begin(), store("T0, T1, W0", "DRAM"));
    for (const char* variable : {"m", "n0", "n1"}) {
        nodes.push_back(loop(variable, 1));
    }
    nodes.push_back(compute("E0"));
    return nodes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(keep_and_may_keep) {
    const Case c = with("{keep: All}", "{keep: T0, may_keep: W0}");
    BOOST_TEST(c.codes(nest({store("T0", "GLB")})) == "");
    BOOST_TEST(c.codes(nest({store("T0, W0", "GLB")})) == "");
    BOOST_TEST(c.codes(nest({})) == "keep");
    BOOST_TEST(c.codes(nest({store("T0, T1", "GLB")})) == "may_keep");
    const auto found = c.violations(nest({}));
    BOOST_TEST(found.at(0).tensor == "T0");
    BOOST_TEST(found.at(0).level == "GLB");
    BOOST_TEST(found.at(0).where.line > 0);
    BOOST_TEST((found.at(0).severity == Severity::constraint));
}

BOOST_AUTO_TEST_CASE(sets_see_the_memories_above) {
    const Case c = with("{may_keep: All}", "{keep: ~DRAM}");
    BOOST_TEST(c.codes(nest({})) == "");
    BOOST_TEST(c.codes(nest({store("T0", "GLB")})) == "may_keep");
}

BOOST_AUTO_TEST_CASE(back_demands_the_outermost_holder) {
    const Case c = with("{may_keep: All}", "{back: T1}");
    const std::string back = c.codes(nest({store("T1", "GLB")}));
    BOOST_TEST(back == "back");
    BOOST_TEST(c.codes({store("T0, W0", "DRAM"), store("T1", "GLB"), loop("m", 1), loop("n0", 1),
                        loop("n1", 1), compute("E0")}) == "");
}

BOOST_AUTO_TEST_CASE(disabled_components_hold_and_compute_nothing) {
    const Case c(machine(memory("DRAM", "inf", "{keep: All}") +
                         memory("GLB", "inf", "{may_keep: All}", "    enabled: len(All) == 2\n")),
                 matmuls());
    BOOST_TEST(c.codes(nest({})) == "");
    BOOST_TEST(c.codes(nest({store("T0", "GLB")})) == "disabled");
}

BOOST_AUTO_TEST_CASE(memories_keep_their_order) {
    const auto nodes = [](bool with_loop) {
        std::vector<std::string> between{store("W0", "Reg"), store("T0", "GLB")};
        if (with_loop) {
            between.insert(between.begin() + 1, loop("m", 4));
        }
        return nest(between);
    };
    BOOST_TEST(with("{keep: All}", "{may_keep: All}", "{may_keep: All}").codes(nodes(true)) ==
               "hierarchy");
    // Without a loop between the two the order means nothing.
    BOOST_TEST(with("{keep: All}", "{may_keep: All}", "{may_keep: All}").codes(nodes(false)) == "");
    BOOST_TEST(with("{keep: All}", "{may_keep: All}",
                    "{may_keep: All, force_memory_hierarchy_order: False}")
                   .codes(nodes(true)) == "");
}

BOOST_AUTO_TEST_CASE(reuse_forbids_spatial_loops_that_index_the_tensor) {
    const Case c = with("{keep: All}", "{may_keep: All}", "{may_keep: All}", "reuse: T0");
    BOOST_TEST(c.codes(nest({array("n1", 2, "Reg")})) == "");
    const auto found = c.violations(nest({array("m", 2, "Reg")}));
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].code == "reuse");
    BOOST_TEST(found[0].tensor == "T0");
    BOOST_TEST(found[0].found == 4);
    BOOST_TEST(found[0].limit == 1);
}

BOOST_AUTO_TEST_CASE(loop_bounds_compare_trips) {
    const auto bound = [](const std::string& text) {
        return with("{keep: All}", "{may_keep: All}", "{may_keep: All}",
                    "loop_bounds: [" + text + "]");
    };
    const auto m2 = nest({array("m", 4, "Reg")});
    for (const int limit : {1, 2, 3}) {
        const std::string text = std::to_string(limit);
        for (const auto& [sign, met] :
             {std::pair("==", 2 == limit), std::pair("<=", 2 <= limit), std::pair(">=", 2 >= limit),
              std::pair("<", 2 < limit), std::pair(">", 2 > limit)}) {
            const auto found =
                bound("{expression: m, operator: '" + std::string(sign) + "', value: " + text + "}")
                    .violations(m2);
            BOOST_TEST(found.size() == (met ? 0u : 1u), sign << text);
            for (const Violation& v : found) {
                BOOST_TEST(v.code == "loop_bounds");
                BOOST_TEST(v.message.ends_with("required " + std::string(sign) + " " + text),
                           v.message);
            }
        }
    }
    BOOST_TEST(bound("{expression: m | n1, operator: 'product==', value: 4}")
                   .codes(nest({array("m", 4, "Reg"), array("n1", 4, "Reg")})) == "");
    BOOST_TEST(bound("{expression: m | n1, operator: 'product==', value: 4}").codes(m2) ==
               "loop_bounds");
}

BOOST_AUTO_TEST_CASE(min_usage_is_a_warning) {
    const Case c = with("{keep: All}", "{may_keep: All}", "{may_keep: All}", "min_usage: 1");
    BOOST_TEST(c.codes(nest({array("m", 2, "Reg")})) == "");
    const auto found = c.violations(nest({array("m", 4, "Reg")}));
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].code == "min_usage");
    BOOST_TEST((found[0].severity == Severity::warning));
    BOOST_TEST(found[0].found == 0.5);
}

BOOST_AUTO_TEST_CASE(tensors_that_may_not_move_twice) {
    // n1 does not index T0: between DRAM:T0 and GLB:T0 it fetches T0 again.
    const auto above = nest({loop("n1", 2), store("T0", "GLB")});
    const auto below = nest({store("T0", "GLB"), loop("n1", 2)});
    const Case refetch = with("{keep: All}", "{may_keep: All, no_refetch_from_above: T0}");
    BOOST_TEST(refetch.codes(above) == "no_refetch");
    BOOST_TEST(refetch.codes(below) == "");
    const Case resend = with("{keep: All, no_resend_to_below: T0}", "{may_keep: All}");
    BOOST_TEST(resend.codes(above) == "no_resend");
    BOOST_TEST(resend.codes(below) == "");
    BOOST_TEST(refetch.codes(nest({loop("m", 2), store("T0", "GLB")})) == "");
}

BOOST_AUTO_TEST_CASE(orders_of_one_memory) {
    const Case c = with("{keep: All}", "{may_keep: All, tensor_order_options: [[T0, W0]]}");
    BOOST_TEST(c.codes(nest({store("T0", "GLB"), loop("n1", 4), store("W0", "GLB")})) == "");
    BOOST_TEST(c.codes(nest({store("W0", "GLB"), loop("m", 4), store("T0", "GLB")})) ==
               "tensor_order");
    // Without a loop between them the two have no order, but for what is charged further down
    // because it stands last.
    BOOST_TEST(c.codes(nest({store("W0", "GLB"), store("T0", "GLB"), loop("n1", 4)})) == "");
    const auto found = c.violations(nest({store("W0", "GLB"), store("T0", "GLB"), loop("m", 4)}));
    BOOST_TEST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].code == "tensor_order");
    BOOST_TEST((found[0].severity == Severity::warning));
    BOOST_TEST(found[0].where.line > 0);
}

// What is read behind the last node is seen by a sanitized build (SANITIZE=address).
BOOST_AUTO_TEST_CASE(the_last_holder_of_a_memory_stands_right_above_the_compute) {
    const Case c = with("{keep: All}", "{may_keep: All, tensor_order_options: [[T0, W0]]}");
    const auto at_the_end = [&](const std::string& first, const std::string& last) {
        return c.codes({store("T0, T1, W0", "DRAM"), loop("m", 1), loop("n0", 1), loop("n1", 1),
                        store(first, "GLB"), store(last, "GLB"), compute("E0")});
    };
    BOOST_TEST(at_the_end("T0", "W0") == "");
    BOOST_TEST(at_the_end("W0", "T0") == "");
}

BOOST_AUTO_TEST_CASE(limits_count_only_with_options) {
    const Case chain(
        machine(memory("DRAM", "inf", "{may_keep: All}") + memory("GLB", "inf", "{may_keep: All}")),
        matmuls(true));
    const auto nodes = [](int outer, int inner) {
        return std::vector<std::string>{store("T0, W0, W1, T2", "DRAM"),
                                        loop("m", outer),
                                        store("W0, W1", "GLB"),
                                        loop("m", inner),
                                        store("T1", "GLB"),
                                        "split",
                                        ">",
                                        loop("m", 1),
                                        loop("n0", 1),
                                        loop("n1", 1),
                                        compute("E0"),
                                        "<",
                                        ">",
                                        loop("m", 1),
                                        loop("n1", 1),
                                        loop("n2", 1),
                                        compute("E1"),
                                        "<"};
    };
    mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
    BOOST_TEST(chain.codes(nodes(4, 2)) == "");
    BOOST_TEST(chain.codes(nodes(4, 2), &options) == "max_fused_loops_per_rank_variable");
    BOOST_TEST(chain.codes(nodes(4, 4), &options) == "");
    // A loop with tile shape 1 counts where another place for the variable follows.
    BOOST_TEST(chain.codes(nodes(4, 1), &options) == "max_fused_loops_per_rank_variable");
    options.max_fused_loops_per_rank_variable = 2;
    BOOST_TEST(chain.codes(nodes(4, 2), &options) == "");
    options.max_fused_loops = 1;
    BOOST_TEST(chain.codes(nodes(4, 2), &options) == "max_fused_loops");
}

BOOST_AUTO_TEST_CASE(loops_above_the_outermost_memory_leave_the_mapspace) {
    const Case c(machine(memory("DRAM", "inf", "{may_keep: All}")), matmuls());
    const std::vector<std::string> nodes{store("T0, W0", "DRAM"), loop("m", 1),
                                         store("T1", "DRAM"),     loop("n0", 1),
                                         loop("n1", 1),           compute("E0")};
    const mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
    BOOST_TEST(c.codes(nodes) == "");
    BOOST_TEST(c.codes(nodes, &options) == "outermost");
}

BOOST_AUTO_TEST_CASE(loops_per_spatial_dimension) {
    const Case c = with("{keep: All}", "{may_keep: All}", "{may_keep: All}", "min_usage: 0");
    mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
    const auto two = nest({array("m", 4, "Reg"), array("n1", 4, "Reg")});
    BOOST_TEST(c.codes(two, &options) == "");
    options.max_loops_per_spatial_dimension = 1;
    BOOST_TEST(c.codes(two, &options) == "max_loops_per_spatial_dimension");
    BOOST_TEST(c.codes(nest({array("m", 2, "Reg")}), &options) == "");
}

BOOST_AUTO_TEST_CASE(unfused_means_all_in_the_outermost_memory) {
    const Case c = with("{may_keep: All}", "{may_keep: All}");
    const std::vector<std::string> nodes{
        store("T0, W0", "DRAM"), store("T1", "GLB"), loop("m", 1),
        loop("n0", 1),           loop("n1", 1),      compute("E0")};
    mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
    BOOST_TEST(c.codes(nodes, &options) == "");
    options.unfused = true;
    BOOST_TEST(c.codes(nodes, &options) == "keep");
}

BOOST_AUTO_TEST_CASE(a_mapspace_in_file_order_has_no_other) {
    const std::string workload =
        "workload:\n  iteration_space_shape: {m: 0 <= m < 2}\n  bits_per_value: {All: 1}\n"
        "  einsums:\n"
        "  - name: E0\n    tensor_accesses:\n    - {name: A, projection: [m]}\n"
        "    - {name: B, projection: [m], output: True}\n"
        "  - name: E1\n    tensor_accesses:\n    - {name: C, projection: [m]}\n"
        "    - {name: D, projection: [m], output: True}\n";
    const Case c(machine(memory("DRAM", "inf", "{keep: All}")), workload);
    const auto in_order = [](const std::string& first, const std::string& second) {
        return std::vector<std::string>{store("A, B, C, D", "DRAM"),
                                        "split",
                                        ">",
                                        loop("m", 1),
                                        compute(first),
                                        "<",
                                        ">",
                                        loop("m", 1),
                                        compute(second)};
    };
    mapspace::MapSpaceOptions options;
    BOOST_TEST(c.codes(in_order("E1", "E0"), &options) == "");
    options.all_einsum_orders = false;
    BOOST_TEST(c.codes(in_order("E0", "E1"), &options) == "");
    BOOST_TEST(c.codes(in_order("E1", "E0"), &options) == "einsum_order");
    BOOST_TEST(c.codes(in_order("E1", "E0")) == "");
}

BOOST_AUTO_TEST_CASE(copies_in_a_memory_inside_an_array_are_switched_off) {
    // The columns of the grid have a part of the pool each; m does not index W0.
    const std::string grid =
        "  - !Array\n    name: Grid\n    spatial: [{name: X, fanout: 2}]\n    nodes:\n"
        "    - !Memory\n      name: Pool\n      size: inf\n      leak_power: 0\n      area: 0\n"
        "      spatial: [{name: X, fanout: 2}]\n      actions:\n"
        "      - {name: read, energy: 1, throughput: inf}\n"
        "      - {name: write, energy: 1, throughput: inf}\n      tensors: {may_keep: W0}\n";
    const Case c(machine(memory("DRAM", "inf", "{keep: All}") + grid), matmuls());
    mapspace::MapSpaceOptions options;
    const auto below = [&](const std::string& variable) {
        return nest({store("W0", "Pool"), array(variable, 4, "Grid")});
    };
    BOOST_TEST(c.codes(below("m"), &options) == "");
    options.copies_in_distributed_memories = false;
    BOOST_TEST(c.codes(below("n1"), &options) == "");
    BOOST_TEST(c.codes(below("m"), &options) == "copies");
    BOOST_TEST(c.codes(below("m")) == "");
}
