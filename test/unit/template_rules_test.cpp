// Which holders and temporal loops the templates of preset `accelforge` have.
#include "template_fixture.hpp"

using namespace template_test;

BOOST_AUTO_TEST_CASE(one_unfused_matmul_has_one_template_per_ordered_subset) {
    // 1 + 3 + 3*2 + 3*2*1 ordered subsets of three tensors in one optional memory.
    BOOST_TEST(templates(two_levels(matmul(), "All").path).size() == 16u);
}

BOOST_AUTO_TEST_CASE(loops_that_cannot_help_are_left_out) {
    const auto found = texts(two_levels(matmul(), "T0").path);
    // n1 does not index T0, so it stands below GLB:T0; m and n0 do, so they stand above.
    BOOST_TEST(found == (std::set<std::string>{"DRAM:T0 DRAM:T1 DRAM:W0 m n0 n1",
                                               "DRAM:T0 DRAM:T1 DRAM:W0 m n0 GLB:T0 n1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(inner_loops_of_one_variable_end_in_tile_one) {
    const PathBuilder b = two_levels(matmul(), "T0 | W0");
    const auto found = texts(b.path);
    BOOST_TEST(found.count("DRAM:T0 DRAM:T1 DRAM:W0 m* n0 GLB:T0 n1 GLB:W0 m") == 1u);
    for (const Template& tmpl : templates(b.path)) {
        for (std::size_t s = 0; s < tmpl.symbols.size(); ++s) {
            const mapspace::TileSymbol& symbol = tmpl.symbols[s];
            BOOST_TEST(tmpl.nodes[symbol.node].symbol == static_cast<int>(s));
            BOOST_TEST(symbol.inner == -1);
            BOOST_TEST(symbol.outer == -1);
        }
    }
}

BOOST_AUTO_TEST_CASE(symbols_of_one_variable_form_a_chain) {
    auto b = matmul(true);
    b.memory("DRAM").keep = set("~Intermediates");
    b.memory("GLB").keep = set("All");
    b.finish();
    bool chained = false;
    for (const Template& tmpl : templates(b.path)) {
        for (std::size_t s = 0; s < tmpl.symbols.size(); ++s) {
            if (const int inner = tmpl.symbols[s].inner; inner >= 0) {
                BOOST_TEST(tmpl.symbols[inner].outer == static_cast<int>(s));
                BOOST_TEST(tmpl.symbols[inner].rank_variable == tmpl.symbols[s].rank_variable);
                BOOST_TEST(tmpl.symbols[inner].node > tmpl.symbols[s].node);
                chained = true;
            }
        }
    }
    BOOST_TEST(chained);
}

BOOST_AUTO_TEST_CASE(fused_loops_index_the_fused_tensor) {
    auto b = matmul(true);
    b.memory("DRAM").keep = set("~Intermediates");
    b.memory("GLB").keep = set("T1");
    b.finish();
    const auto found = templates(b.path);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(text(b.path, found[0]) == "DRAM:T0 DRAM:W0 m* n1* GLB:T1 m n0 n1");
    BOOST_TEST(found[0].n_fused_nodes == 4);
    BOOST_TEST(found[0].symbols[0].fused);
    BOOST_TEST(found[0].nodes[4].backing);
    BOOST_TEST(!found[0].nodes[4].lower);
}

BOOST_AUTO_TEST_CASE(no_fused_loops_if_none_are_allowed) {
    auto b = matmul(true);
    b.memory("DRAM").keep = set("~Intermediates");
    b.memory("GLB").keep = set("T1");
    b.finish();
    MapSpaceOptions options = MapSpaceOptions::accelforge();
    options.max_fused_loops = 0;
    BOOST_TEST(texts(b.path, options) == std::set<std::string>{"DRAM:T0 DRAM:W0 GLB:T1 m n0 n1"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(unfused_option_keeps_all_in_the_outermost_memory) {
    auto b = matmul(true);
    b.memory("DRAM").keep = set("~Intermediates");
    b.path.levels[0].may_keep = set("All");
    b.memory("GLB").may_keep = set("All");
    b.finish();
    MapSpaceOptions options = MapSpaceOptions::accelforge();
    options.unfused = true;
    BOOST_TEST(templates(b.path).size() == 27u);
    BOOST_TEST(templates(b.path, options).size() == 16u);
}

BOOST_AUTO_TEST_CASE(variables_of_one_value_have_no_loops) {
    const auto found = texts(two_levels(matmul(false, 1, 8, 8), "T0").path);
    BOOST_TEST(found == (std::set<std::string>{"DRAM:T0 DRAM:T1 DRAM:W0 n0 n1",
                                               "DRAM:T0 DRAM:T1 DRAM:W0 n0 GLB:T0 n1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sets_may_name_what_the_levels_above_hold) {
    auto b = matmul();
    b.memory("DRAM").may_keep = set("All");
    b.memory("GLB").keep = set("~DRAM");
    b.finish();
    std::set<std::string> firsts;
    for (const Template& tmpl : templates(b.path)) {
        std::uint64_t dram = 0, glb = 0;
        for (const auto& node : tmpl.nodes) {
            if (node.tensor >= 0) {
                (node.level == 0 ? dram : glb) |= 1u << node.tensor;
            }
        }
        BOOST_TEST((dram ^ glb) == 7u);
        firsts.insert(std::to_string(dram));
    }
    BOOST_TEST(firsts.size() == 8u);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_no_memory_keeps_is_named) {
    auto b = matmul();
    b.memory("DRAM").keep = set("T0 | W0");
    b.memory("GLB").keep = set("T0");
    b.finish();
    const std::string message = infeasible(b.path);
    BOOST_TEST(contains(message, "no memory keeps 'T1'"), message);
    BOOST_TEST(contains(message, "Einsum 'E'"), message);
}

BOOST_AUTO_TEST_CASE(back_forbids_an_outer_holder) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    b.memory("GLB").back = set("T1");
    b.finish();
    BOOST_TEST(contains(infeasible(b.path), "must be the outermost holder of 'T1'"));

    auto c = matmul();
    c.memory("DRAM").keep = set("~T1");
    c.path.levels[0].may_keep = set("All");
    c.memory("GLB").back = set("T1");
    c.finish();
    for (const std::string& one : texts(c.path)) {
        BOOST_TEST(!contains(one, "DRAM:T1"), one);
        BOOST_TEST(contains(one, "GLB:T1"), one);
    }
}

BOOST_AUTO_TEST_CASE(a_disabled_compute_has_no_templates) {
    auto b = two_levels(matmul(), "All");
    b.path.levels.back().enabled = false;
    BOOST_TEST(templates(b.path).empty());
}

BOOST_AUTO_TEST_CASE(a_disabled_memory_holds_nothing) {
    auto b = two_levels(matmul(), "All");
    b.path.levels[1].enabled = false;
    BOOST_TEST(templates(b.path).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_toll_is_never_outermost_and_has_no_loop_below) {
    auto b = matmul();
    b.memory("DRAM").keep = set("T0 | T1");
    b.level("Link", LevelKind::toll).keep = set("T0 | W0");
    b.memory("GLB").keep = set("W0");
    b.finish();
    for (const std::string& one : texts(b.path)) {
        BOOST_TEST(contains(one, "DRAM:T0 DRAM:T1"), one);
        BOOST_TEST(contains(one, "Link:T0"), one);
        BOOST_TEST(!contains(one, "Link:W0"), one);
        BOOST_TEST(!contains(one, "Link:T0 m"), one);
    }
}

BOOST_AUTO_TEST_CASE(persistent_holders_stand_above_all_loops) {
    auto b = matmul();
    b.path.einsum.tensors[2].persistent = true;
    b.memory("DRAM").keep = set("T0 | T1");
    b.memory("GLB").keep = set("All");
    b.finish();
    for (const Template& tmpl : templates(b.path)) {
        bool loop = false;
        for (const auto& node : tmpl.nodes) {
            loop |= node.rank_variable >= 0;
            if (node.tensor == 2) {
                BOOST_TEST(!loop);
                BOOST_TEST(node.persistent);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(orders_of_one_memory_can_be_restricted) {
    auto b = two_levels(matmul(), "Nothing");
    b.path.levels[1].keep = set("All");
    BOOST_TEST(templates(b.path).size() == 6u);
    b.path.levels[1].tensor_order_options = {{set("T0 | T1"), set("W0")}};
    BOOST_TEST(templates(b.path).size() == 2u);
    b.path.levels[1].tensor_order_options.push_back({set("W0"), set("T0 | T1")});
    BOOST_TEST(templates(b.path).size() == 4u);
}

BOOST_AUTO_TEST_CASE(memories_keep_their_order_unless_told_otherwise) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    b.memory("GLB").keep = set("T0");
    b.memory("Reg").keep = set("W0");
    b.finish();
    BOOST_TEST(templates(b.path).size() == 1u);
    b.path.levels[2].force_memory_hierarchy_order = false;
    BOOST_TEST(templates(b.path).size() == 2u);
    b.path.levels[2].force_memory_hierarchy_order = true;
    MapSpaceOptions options = MapSpaceOptions::accelforge();
    options.force_memory_hierarchy_order = false;
    BOOST_TEST(templates(b.path, options).size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_optional_holder_right_above_another_is_bypassed) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    b.memory("GLB").may_keep = set("T0");
    b.memory("Reg").keep = set("T0");
    b.finish();
    BOOST_TEST(templates(b.path).size() == 1u);
    // Not if the choice without it is not allowed ...
    b.path.levels[1].may_keep = {};
    b.path.levels[1].keep = set("T0");
    BOOST_TEST(templates(b.path).size() == 1u);
    // ... and not if a fan-out lies between.
    b.path.levels[1].keep = {};
    b.path.levels[1].may_keep = set("T0");
    b.path.levels[2].spatial = {PathBuilder::dim("X", 4)};
    b.path.levels[2].cumulative_fanout = b.path.levels[3].cumulative_fanout = 4;
    BOOST_TEST(templates(b.path).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_holder_that_spares_the_first_read_of_an_output_stays) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    b.memory("GLB").may_keep = set("T1");
    b.memory("Reg").keep = set("T1");
    b.finish();
    BOOST_TEST(templates(b.path).size() == 1u);
    b.path.levels[2].skip_initial_output_write = false;
    BOOST_TEST(templates(b.path).size() == 2u);
}

BOOST_AUTO_TEST_CASE(every_first_loop_of_a_sum_is_a_variant_or_left_open) {
    // O[p] = I[p + r] * F[r]: below GLB:I one of p, r may come first.
    PathBuilder conv(
        {{"p", 8}, {"r", 3}},
        {{"F", {{{"r", 1}}}}, {"I", {{{"p", 1}, {"r", 1}}}}, {"O", {{{"p", 1}}}, true}});
    conv.memory("DRAM").keep = set("All");
    conv.memory("GLB").keep = set("I");
    conv.finish();
    const auto open = templates(conv.path);
    BOOST_TEST_REQUIRE(open.size() == 1u);
    BOOST_TEST(std::ranges::count_if(open.front().nodes,
                                     [](const auto& node) { return node.open_order; }) == 1);
    MapSpaceOptions options = MapSpaceOptions::accelforge();
    options.open_loop_orders = false;
    const auto found = texts(conv.path, options);
    BOOST_TEST(found == (std::set<std::string>{"DRAM:F DRAM:I DRAM:O p* r* GLB:I p r",
                                               "DRAM:F DRAM:I DRAM:O p* r* GLB:I r p"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_copy_has_outermost_holders_only) {
    PathBuilder copy({{"m", 8}}, {{"A", {{{"m", 1}}}}, {"B", {{{"m", 1}}}, true, true}});
    copy.path.einsum.is_copy_operation = true;
    copy.memory("DRAM").keep = set("A");
    copy.path.levels[0].may_keep = set("B");
    copy.memory("GLB").may_keep = set("All");
    copy.finish();
    const auto found = texts(copy.path);
    BOOST_TEST(found == (std::set<std::string>{"DRAM:A DRAM:B m", "DRAM:A m* GLB:B m"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(templates_come_in_a_fixed_order_without_duplicates) {
    const PathBuilder b = two_levels(matmul(), "All");
    std::vector<std::string> once, again;
    for (const Template& tmpl : templates(b.path)) {
        once.push_back(text(b.path, tmpl));
    }
    for (const Template& tmpl : templates(b.path)) {
        again.push_back(text(b.path, tmpl));
    }
    BOOST_TEST(once == again, boost::test_tools::per_element());
    BOOST_TEST(std::set<std::string>(once.begin(), once.end()).size() == once.size());
}
