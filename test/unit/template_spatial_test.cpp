// Spatial loops and constraints in the templates of preset `accelforge`.
#include <atomic>

#include "template_fixture.hpp"
#include "tessera/base/stop.hpp"

using namespace template_test;

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
    arch::LoopBound one{
        .variables = 1, .op = arch::LoopBound::Op::less_equal, .value = 1, .where = {}};
    arch::LoopBound two{
        .variables = 6, .op = arch::LoopBound::Op::greater_equal, .value = 2, .where = {}};
    arch::LoopBound product{
        .variables = 7, .product = true, .op = arch::LoopBound::Op::equal, .value = 4, .where = {}};
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
    reg.spatial[0].loop_bounds = {
        {.variables = 1, .op = arch::LoopBound::Op::greater_equal, .value = 2, .where = {}}};
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
                   texts(b.path).count("DRAM:T0 DRAM:T1 DRAM:W0 n0 n1* GLB:W0 m Reg:T0 n1") ==
               1u);
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
    MapSpaceOptions options = MapSpaceOptions::accelforge();
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
    // Three loops over m: if the first has one trip, the second is outermost. Same templates, but
    // every loop may leave a partial tile.
    auto b = matmul(true);
    b.memory("DRAM").keep = set("~Intermediates");
    b.memory("GLB").keep = set("T1 | W0");
    b.finish();
    MapSpaceOptions options = MapSpaceOptions::accelforge();
    const auto perfect = texts(b.path, options);
    options.imperfect_temporal = true;
    BOOST_TEST(perfect.count("DRAM:T0 DRAM:W0 m* n1* GLB:W0 m* GLB:T1 m n0 n1") == 1u);
    BOOST_TEST(texts(b.path, options) == perfect, boost::test_tools::per_element());
    for (const Template& tmpl : templates(b.path, options)) {
        for (const auto& symbol : tmpl.symbols) {
            BOOST_TEST(symbol.imperfect);
        }
    }
    options.partial_inner_tiles = true;
    BOOST_TEST(texts(b.path, options) == perfect, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tiles_stay_contiguous_when_memories_leave_their_order) {
    // Reg:W0 above GLB:T0: the array's loop over n0 is taken above Reg:W0, so no temporal loop over
    // n0 stands between the two: one of them goes, whichever.
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    b.memory("GLB").keep = set("T0");
    PathLevel& reg = b.memory("Reg");
    reg.keep = set("W0");
    reg.spatial = {PathBuilder::dim("X", 4)};
    b.finish();
    MapSpaceOptions options = MapSpaceOptions::accelforge();
    options.force_memory_hierarchy_order = false;
    bool spatial = false, temporal = false;
    for (const Template& tmpl : templates(b.path, options)) {
        const std::string one = text(b.path, tmpl);
        const std::size_t begin = one.find("Reg:W0"), end = one.find("X.n0");
        if (begin > one.find("GLB:T0")) {
            BOOST_TEST(end != std::string::npos, one);
        } else if (end != std::string::npos) {
            BOOST_TEST(!contains(one.substr(begin, end - begin), " n0"), one);
            spatial = true;
        } else {
            BOOST_TEST(contains(one.substr(begin), " n0"), one);
            temporal = true;
        }
    }
    BOOST_TEST(spatial);
    BOOST_TEST(temporal);
}

BOOST_AUTO_TEST_CASE(outer_spatial_loops_stand_above_those_that_they_would_cross) {
    // GLB is inside the array of its own level and outside that of Reg. Where GLB:T1 stands above
    // Main:W0, the loops of both arrays stand below W0, and those of GLB's are taken above T1.
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    b.memory("Main").keep = set("W0");
    PathLevel& glb = b.memory("GLB");
    glb.keep = set("T1");
    glb.spatial = {PathBuilder::dim("X", 4)};
    b.level("Array", LevelKind::array).spatial = {PathBuilder::dim("Y", 4)};
    b.finish();
    MapSpaceOptions options = MapSpaceOptions::accelforge();
    options.force_memory_hierarchy_order = false;
    bool seen = false;
    for (const Template& tmpl : templates(b.path, options)) {
        const std::string one = text(b.path, tmpl);
        const std::size_t outer = one.find("X.m"), inner = one.find("Y.m");
        if (one.find("GLB:T1") < one.find("Main:W0") && outer != std::string::npos &&
            inner != std::string::npos) {
            BOOST_TEST(outer < inner, one);
            seen = true;
        }
    }
    BOOST_TEST(seen);
}

BOOST_AUTO_TEST_CASE(a_stop_ends_the_enumeration) {
    auto b = matmul();
    b.memory("DRAM").keep = set("All");
    b.finish();
    const std::atomic<bool> stop{true};
    const base::StopScope scope({&stop});
    BOOST_CHECK_THROW(templates(b.path), base::Stopped);
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
