// Which templates the rules of preset `accelforge` generate.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

#include "template_path.hpp"
#include "tessera/mapspace/template.hpp"

using namespace tessera;
using namespace template_test;
using mapping::NodeKind;
using mapspace::MapSpaceOptions;
using mapspace::Template;

namespace {

std::vector<Template> templates(const Path& path, const MapSpaceOptions& options = {}) {
    std::vector<Template> found;
    const std::size_t n = mapspace::enumerate_templates(
        path, options, [&](Template&& tmpl) { found.push_back(std::move(tmpl)); });
    BOOST_TEST(n == found.size());
    return found;
}

/// "DRAM:T0 | m n0* | GLB:T0 | S.n1"; `*` marks an unknown tile shape.
std::string text(const Path& path, const Template& tmpl) {
    std::string result;
    for (const mapping::PmappingNode& node : tmpl.nodes) {
        result += result.empty() ? "" : " ";
        if (node.tensor >= 0) {
            result += path.levels[node.level].name + ":" + path.einsum.tensors[node.tensor].name;
        } else if (node.rank_variable >= 0) {
            result += node.kind == NodeKind::spatial ? path.levels[node.level].spatial[node.dim].name + "." : "";
            result += path.einsum.rank_variables[node.rank_variable].name + (node.symbol >= 0 ? "*" : "");
        }
    }
    return result.substr(0, result.find_last_not_of(' ') + 1);
}

std::set<std::string> texts(const Path& path, const MapSpaceOptions& options = {}) {
    std::set<std::string> result;
    for (const Template& tmpl : templates(path, options)) {
        result.insert(text(path, tmpl));
    }
    return result;
}

std::string infeasible(const Path& path, const MapSpaceOptions& options = {}) {
    try {
        templates(path, options);
    } catch (const NoLegalMapping& error) {
        return error.what();
    }
    return "";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::size_t loops(const Template& tmpl, NodeKind kind) {
    return std::count_if(tmpl.nodes.begin(), tmpl.nodes.end(),
                         [&](const auto& node) { return node.kind == kind; });
}

/// DRAM keeps all, GLB what `may_keep` says.
PathBuilder two_levels(PathBuilder builder, const std::string& may_keep) {
    builder.memory("DRAM").keep = set("All");
    builder.memory("GLB").may_keep = set(may_keep);
    builder.finish();
    return builder;
}

}  // namespace

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
    MapSpaceOptions options;
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
    MapSpaceOptions options;
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
    MapSpaceOptions options;
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

BOOST_AUTO_TEST_CASE(every_first_loop_of_a_sum_is_a_variant) {
    // O[p] = I[p + r] * F[r]: below GLB:I one of p, r may come first.
    PathBuilder conv({{"p", 8}, {"r", 3}}, {{"F", {{{"r", 1}}}},
                                            {"I", {{{"p", 1}, {"r", 1}}}},
                                            {"O", {{{"p", 1}}}, true}});
    conv.memory("DRAM").keep = set("All");
    conv.memory("GLB").keep = set("I");
    conv.finish();
    const auto found = texts(conv.path);
    BOOST_TEST(found == (std::set<std::string>{"DRAM:F DRAM:I DRAM:O p* r* GLB:I p r",
                                               "DRAM:F DRAM:I DRAM:O p* r* GLB:I r p"}),
               boost::test_tools::per_element());
    MapSpaceOptions options;
    options.explore_loop_orders = false;
    BOOST_TEST(templates(conv.path, options).size() == 1u);
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

BOOST_AUTO_TEST_CASE(spatial_loops_stand_below_the_last_holder_above_the_fanout) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    PathLevel& reg = b.memory("Reg");
    reg.keep = set("W0");
    reg.spatial = {PathBuilder::dim("X", 4)};
    b.finish();
    BOOST_TEST(texts(b.path) == (std::set<std::string>{
                   "DRAM:T0 DRAM:T1 DRAM:W0 n0* n1* X.n1 X.n0 X.m* Reg:W0 m"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_produced_intermediate_is_not_computed_in_several_places) {
    auto b = matmul(true);
    b.memory("DRAM").keep = set("~Intermediates");
    PathLevel& array = b.level("Array", LevelKind::container);
    array.spatial = {PathBuilder::dim("X", 4)};
    b.memory("GLB").keep = set("T1");
    b.finish();
    for (const Template& tmpl : templates(b.path)) {
        BOOST_TEST(!contains(text(b.path, tmpl), "X.n0"));
        BOOST_TEST(loops(tmpl, NodeKind::spatial) == 2u);
    }
}

BOOST_AUTO_TEST_CASE(reuse_deletes_spatial_loops_that_index_the_tensor) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    PathLevel& reg = b.memory("Reg");
    reg.keep = set("W0");
    reg.spatial = {PathBuilder::dim("X", 4)};
    reg.spatial[0].reuse = 1;  // T0[m, n0]
    b.finish();
    for (const Template& tmpl : templates(b.path)) {
        BOOST_TEST(loops(tmpl, NodeKind::spatial) == 1u);
        BOOST_TEST(contains(text(b.path, tmpl), "X.n1"));
    }
}

BOOST_AUTO_TEST_CASE(loop_bounds_and_min_usage_become_constraints) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    PathLevel& reg = b.memory("Reg");
    reg.keep = set("W0");
    reg.spatial = {PathBuilder::dim("X", 4)};
    arch::LoopBound one{.variables = 1, .op = arch::LoopBound::Op::le, .value = 1, .where = {}};
    arch::LoopBound two{.variables = 6, .op = arch::LoopBound::Op::ge, .value = 2, .where = {}};
    arch::LoopBound product{.variables = 7, .product = true, .op = arch::LoopBound::Op::eq, .value = 4, .where = {}};
    reg.spatial[0].loop_bounds = {one, two, product};
    reg.spatial[0].min_usage = 0.5;
    b.finish();
    const auto found = templates(b.path);
    BOOST_REQUIRE(found.size() == 1u);
    using Kind = mapspace::TemplateConstraint::Kind;
    BOOST_TEST(loops(found[0], NodeKind::spatial) == 2u);  // m may have one trip only
    std::size_t bounds = 0, usages = 0, products = 0;
    for (const auto& constraint : found[0].constraints) {
        bounds += constraint.kind == Kind::loop_bound && constraint.loops.size() == 1;
        products += constraint.kind == Kind::loop_bound && constraint.loops.size() == 2;
        usages += constraint.kind == Kind::min_usage;
        for (int loop : constraint.loops) {
            BOOST_TEST((found[0].nodes[loop].kind == NodeKind::spatial));
        }
    }
    BOOST_TEST(bounds == 2u);
    BOOST_TEST(products == 1u);
    BOOST_TEST(usages == 1u);
}

BOOST_AUTO_TEST_CASE(a_bound_that_a_single_value_cannot_meet_is_infeasible) {
    auto b = matmul(false, 1, 8, 8);
    b.memory("DRAM").keep = set("All");
    PathLevel& reg = b.memory("Reg");
    reg.keep = set("W0");
    reg.spatial = {PathBuilder::dim("X", 4)};
    reg.spatial[0].loop_bounds = {{.variables = 1, .op = arch::LoopBound::Op::ge, .value = 2, .where = {}}};
    b.finish();
    const std::string message = infeasible(b.path);
    BOOST_TEST(contains(message, "trips of m are 1"), message);
    BOOST_TEST(contains(message, "required >= 2"), message);
}

BOOST_AUTO_TEST_CASE(no_refetch_deletes_loops_that_fetch_again) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    b.memory("GLB").keep = set("W0");
    b.memory("Reg").keep = set("T0");
    b.finish();
    // m indexes T0 but not W0, n1 W0 but not T0.
    BOOST_TEST(texts(b.path).count("DRAM:T0 DRAM:T1 DRAM:W0 n0* n1* GLB:W0 m n0 Reg:T0 n1") +
                   texts(b.path).count("DRAM:T0 DRAM:T1 DRAM:W0 n0 n1* GLB:W0 m Reg:T0 n1") == 1u);
    b.path.levels[2].no_refetch_from_above = 1;  // T0
    for (const std::string& one : texts(b.path)) {
        BOOST_TEST(!contains(one.substr(0, one.find("Reg:T0")), "n1"), one);
    }
    b.path.levels[2].no_refetch_from_above = 0;
    b.path.levels[0].no_resend_to_below = 4;  // W0
    for (const std::string& one : texts(b.path)) {
        BOOST_TEST(!contains(one.substr(0, one.find("GLB:W0")), " m"), one);
    }
}

BOOST_AUTO_TEST_CASE(a_loop_may_stay_above_a_holder_that_may_not_send_twice) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    b.memory("GLB").keep = set("T0");
    b.finish();
    BOOST_TEST(!contains(*texts(b.path).begin(), "n1 GLB:T0"));
    b.path.levels[1].no_resend_to_below = 1;
    BOOST_TEST(texts(b.path) == std::set<std::string>{"DRAM:T0 DRAM:T1 DRAM:W0 m n0 n1 GLB:T0"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(partial_tiles_are_labelled_on_the_outer_loop) {
    auto b = two_levels(matmul(), "T0 | W0");
    MapSpaceOptions options;
    options.imperfect_temporal = true;
    bool labelled = false;
    for (const Template& tmpl : templates(b.path, options)) {
        for (const auto& symbol : tmpl.symbols) {
            BOOST_TEST(symbol.imperfect == tmpl.nodes[symbol.node].imperfect);
            labelled |= symbol.imperfect;
        }
    }
    BOOST_TEST(labelled);
    for (const Template& tmpl : templates(b.path)) {
        BOOST_TEST(std::none_of(tmpl.nodes.begin(), tmpl.nodes.end(),
                                [](const auto& node) { return node.imperfect; }));
    }
}

BOOST_AUTO_TEST_CASE(any_loop_may_become_the_outermost_one_with_a_partial_tile) {
    // Three loops over m: the first may be left out, so that the second is outermost.
    auto b = matmul(true);
    b.memory("DRAM").keep = set("~Intermediates");
    b.memory("GLB").keep = set("T1 | W0");
    b.finish();
    MapSpaceOptions options;
    const auto perfect = texts(b.path, options);
    options.imperfect_temporal = true;
    const auto partial = texts(b.path, options);
    const std::string full = "DRAM:T0 DRAM:W0 m* n1* GLB:W0 m* GLB:T1 m n0 n1";
    BOOST_TEST(perfect.count(full) == 1u);
    BOOST_TEST(partial.count(full) == 1u);
    BOOST_TEST(partial.count("DRAM:T0 DRAM:W0 n1* GLB:W0 m* GLB:T1 m n0 n1") == 1u);
    for (const Template& tmpl : templates(b.path, options)) {
        for (const auto& symbol : tmpl.symbols) {
            BOOST_TEST(symbol.imperfect == (symbol.outer < 0));
        }
    }
    options.partial_inner_tiles = true;
    BOOST_TEST(texts(b.path, options) == perfect, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tiles_stay_contiguous_when_memories_leave_their_order) {
    // Reg:W0 above GLB:T0: the array's loop over n0 is taken above Reg:W0, so no temporal loop over n0
    // may stand between the two.
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    b.memory("GLB").keep = set("T0");
    PathLevel& reg = b.memory("Reg");
    reg.keep = set("W0");
    reg.spatial = {PathBuilder::dim("X", 4)};
    b.finish();
    MapSpaceOptions options;
    options.force_memory_hierarchy_order = false;
    const auto check = [&](bool temporals_only) {
        bool seen = false;
        for (const Template& tmpl : templates(b.path, options)) {
            const std::string one = text(b.path, tmpl);
            const std::size_t begin = one.find("Reg:W0"), end = one.find("X.n0");
            if (begin < one.find("GLB:T0") && end != std::string::npos) {
                BOOST_TEST(!contains(one.substr(begin, end - begin), " n0"), one);
                seen = true;
            } else if (temporals_only) {
                BOOST_TEST(end != std::string::npos, one);
            }
        }
        BOOST_TEST(seen);
    };
    check(true);
    options.out_of_order_removes_spatials = true;
    check(false);
}

BOOST_AUTO_TEST_CASE(a_distributed_memory_is_spread_only_over_its_tensor) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    PathLevel& glb = b.memory("GLB");
    glb.keep = set("W0");
    glb.physical = {{"X", 4, 1}};
    PathLevel& array = b.level("Array", LevelKind::array);
    array.spatial = {PathBuilder::dim("X", 4)};
    b.finish();
    for (const Template& tmpl : templates(b.path)) {
        BOOST_TEST(!contains(text(b.path, tmpl), "X.m"));
        BOOST_TEST(loops(tmpl, NodeKind::spatial) == 2u);
    }
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
