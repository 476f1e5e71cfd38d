// Legality of one Einsum's nest: tiles, fan-outs, holders, capacity. Each rule with a mapping that
// keeps it and one that does not.
#include <boost/test/unit_test.hpp>

#include "legality_fixture.hpp"
#include "tessera/mapspace/tile_shapes.hpp"

using namespace legality_test;

namespace {

const std::string spatial = "    spatial:\n    - {name: X, fanout: 4}\n";

Case simple(const std::string& size = "inf") {
    return Case(
        machine(memory("DRAM", "inf", "{keep: All}") + memory("GLB", size, "{may_keep: All}")),
        matmuls());
}

std::vector<std::string> unit_loops(std::vector<std::string> nodes) {
    for (const char* variable : {"m", "n0", "n1"}) {
        nodes.push_back(loop(variable, 1));
    }
    nodes.push_back(compute("E0"));
    return nodes;
}

const Violation& only(const std::vector<Violation>& found) {
    BOOST_REQUIRE_MESSAGE(found.size() == 1, found.size() << " violations");
    return found.front();
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_plain_mapping_is_legal) {
    BOOST_TEST(simple().codes(unit_loops({store("T0, T1, W0", "DRAM")})) == "");
    const mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
    BOOST_TEST(simple().codes(unit_loops({store("T0, T1, W0", "DRAM")}), &options) == "");
}

BOOST_AUTO_TEST_CASE(every_tensor_needs_a_memory) {
    const auto found = simple().violations(unit_loops({store("T0, T1", "DRAM")}));
    BOOST_TEST(found.front().code == "tensor_nowhere");
    BOOST_TEST(found.front().tensor == "W0");
    BOOST_TEST(found.front().einsum == "E0");
}

BOOST_AUTO_TEST_CASE(a_tensor_stands_once_in_a_memory) {
    BOOST_TEST(
        contains(simple().codes(unit_loops({store("T0, T1, W0", "DRAM"), store("T0", "DRAM")})),
                 "tensor_twice"));
}

BOOST_AUTO_TEST_CASE(holders_of_a_tensor_follow_the_hierarchy) {
    BOOST_TEST(simple().codes(unit_loops({store("T0, T1, W0", "DRAM"), store("T0", "GLB")})) == "");
    BOOST_TEST(
        contains(simple().codes(unit_loops({store("T0", "GLB"), store("T0, T1, W0", "DRAM")})),
                 "holder_order"));
}

BOOST_AUTO_TEST_CASE(a_toll_cannot_be_the_outermost_holder) {
    const Case with_toll(
        machine(memory("DRAM", "inf", "{may_keep: All}") +
                "  - !Toll\n    name: Link\n    leak_power: 0\n    area: 0\n    actions:\n"
                "    - {name: read, energy: 1, throughput: inf}\n    tensors: {may_keep: All}\n"),
        matmuls());
    const std::string toll = "!Toll {tensors: [T0], component: Link}";
    BOOST_TEST(with_toll.codes(unit_loops({store("T0, T1, W0", "DRAM"), toll})) == "");
    BOOST_TEST(
        contains(with_toll.codes(unit_loops({store("T1, W0", "DRAM"), toll})), "toll_outermost"));
}

BOOST_AUTO_TEST_CASE(a_tile_fits_into_the_one_around_it) {
    const auto found =
        simple().violations(unit_loops({store("T0, T1, W0", "DRAM"), loop("m", 16)}));
    BOOST_TEST(found.front().code == "tile_shape");
    BOOST_TEST(found.front().found == 16);
    BOOST_TEST(found.front().limit == 8);
    BOOST_TEST(found.front().mapping_where.line == 4);
}

BOOST_AUTO_TEST_CASE(only_an_outermost_loop_may_leave_a_partial_tile) {
    const Case c = simple();
    BOOST_TEST(c.codes(unit_loops({store("T0, T1, W0", "DRAM"), loop("m", 3)})) == "");
    BOOST_TEST(c.codes(unit_loops({store("T0, T1, W0", "DRAM"), loop("m", 6), loop("m", 4)})) ==
               "tile_shape");
    mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
    BOOST_TEST(c.codes(unit_loops({store("T0, T1, W0", "DRAM"), loop("m", 3)}), &options) ==
               "imperfect");
    options.imperfect_temporal = true;
    BOOST_TEST(c.codes(unit_loops({store("T0, T1, W0", "DRAM"), loop("m", 3)}), &options) == "");
    const auto inner = unit_loops({store("T0, T1, W0", "DRAM"), loop("m", 3), loop("m", 2)});
    BOOST_TEST(c.codes(inner, &options) == "tile_shape");
    Case reference = simple();
    reference.compat = arch::Compat::accelforge;
    BOOST_TEST(reference.codes(inner, &options) == "");
}

BOOST_AUTO_TEST_CASE(a_partial_tile_is_as_small_as_its_trip_count_allows) {
    // 8 values: 3 makes three iterations, where 4 makes two; 5, 6 and 7 make two as well.
    Case c = simple();
    mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
    options.imperfect_temporal = true;
    const auto tiled = [](int tile) {
        return unit_loops({store("T0, T1, W0", "DRAM"), loop("m", tile)});
    };
    BOOST_TEST(c.codes(tiled(3), &options) == "");
    for (const int tile : {5, 6, 7}) {
        BOOST_TEST(c.codes(tiled(tile)) == "");
        BOOST_TEST(c.codes(tiled(tile), &options) == "imperfect");
    }
    BOOST_TEST(
        contains(c.violations(tiled(6), &options).front().message, "tile shape 4 makes as many"));
    c.compat = arch::Compat::accelforge;  // its mapspace has every integer
    BOOST_TEST(c.codes(tiled(6), &options) == "");
}

BOOST_AUTO_TEST_CASE(the_tile_shapes_of_the_search_are_the_partial_tiles_that_are_legal) {
    mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
    options.imperfect_temporal = true;
    std::string workload = matmuls();
    workload.replace(workload.find("m < 8"), 5, "m < 30");
    const Case c(machine(memory("DRAM", "inf", "{keep: All}")), workload);
    std::vector<double> legal;
    for (int tile = 1; tile <= 30; ++tile) {
        const auto nodes = unit_loops({store("T0, T1, W0", "DRAM"), loop("m", tile)});
        if (c.codes(nodes, &options) == "") {
            legal.push_back(tile);
        }
    }
    BOOST_TEST(legal == mapspace::partial_tiles(30), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_variable_of_a_sum_has_no_partial_tile) {
    const Case conv(machine(memory("DRAM", "inf", "{keep: All}")),
                    "workload:\n  iteration_space_shape: {p: 0 <= p < 8, r: 0 <= r < 3}\n"
                    "  bits_per_value: {All: 1}\n  einsums:\n  - name: E0\n    tensor_accesses:\n"
                    "    - {name: I, projection: {H: p + r}}\n    - {name: F, projection: [r]}\n"
                    "    - {name: O, projection: [p], output: True}\n");
    const auto nodes = [](int tile) {
        return std::vector<std::string>{store("I, F, O", "DRAM"), loop("p", tile), loop("p", 1),
                                        loop("r", 1), compute("E0")};
    };
    BOOST_TEST(conv.codes(nodes(4)) == "");
    BOOST_TEST(conv.codes(nodes(3)) == "tile_shape");
}

BOOST_AUTO_TEST_CASE(every_variable_ends_in_a_unit_loop) {
    const auto found = simple().violations(
        {store("T0, T1, W0", "DRAM"), loop("m", 2), loop("n0", 1), loop("n1", 1), compute("E0")});
    const Violation& one = only(found);
    BOOST_TEST(one.code == "unit_loop");
    BOOST_TEST(one.found == 2);
    BOOST_TEST((one.severity == Severity::physical));
}

BOOST_AUTO_TEST_CASE(spatial_loops_fit_into_the_fanout) {
    const Case c(machine(memory("DRAM", "inf", "{keep: All}") +
                         memory("Reg", "inf", "{may_keep: All}", spatial)),
                 matmuls());
    BOOST_TEST(c.codes(unit_loops({store("T0, T1, W0", "DRAM"), array("m", 2, "Reg")})) == "");
    const auto found = c.violations(
        unit_loops({store("T0, T1, W0", "DRAM"), array("m", 2, "Reg"), array("n0", 4, "Reg")}));
    const Violation& one = only(found);
    BOOST_TEST(one.code == "fanout");
    BOOST_TEST(one.found == 8);
    BOOST_TEST(one.limit == 4);
    BOOST_TEST(one.level == "Reg");
    BOOST_TEST(one.where.file == "arch.yaml");
}

BOOST_AUTO_TEST_CASE(tiles_fit_into_their_memory) {
    // T0 in GLB below m and n0 loops: 4 * 8 bits.
    const std::vector<std::string> nodes =
        unit_loops({store("T0, T1, W0", "DRAM"), loop("m", 4), store("T0", "GLB"), loop("n1", 1)});
    BOOST_TEST(simple("32").codes(nodes) == "");
    const auto found = simple("31").violations(nodes);
    const Violation& one = only(found);
    BOOST_TEST(one.code == "capacity");
    BOOST_TEST(one.found == 32);
    BOOST_TEST(one.limit == 31);
    BOOST_TEST(contains(one.message, "T0 32"), one.message);
    BOOST_TEST(contains(mapspace::to_text(one), "arch.yaml:"), mapspace::to_text(one));
}

BOOST_AUTO_TEST_CASE(an_inner_holder_is_allocated_below_loops_that_index_it) {
    // n0 right below GLB:T0 walks its tile, so one column is held at a time; below n1 the tile is
    // reused.
    const Case c = simple();
    const auto bits = [&](const std::vector<std::string>& nodes) {
        return mapspace::peak_bits(c.problem(), Case::mapping(nodes)).at("GLB");
    };
    BOOST_TEST(bits(unit_loops({store("T0, T1, W0", "DRAM"), store("T0", "GLB"), loop("n1", 1)})) ==
               64);
    BOOST_TEST(bits(unit_loops({store("T0, T1, W0", "DRAM"), store("T0", "GLB"), loop("m", 2),
                                loop("n1", 1)})) == 16);
    BOOST_TEST(bits(unit_loops({store("T0, T1, W0", "DRAM"), store("T0", "GLB"),
                                store("W0", "GLB")})) == 64 + 64);
}

BOOST_AUTO_TEST_CASE(spatial_loops_between_crossing_holders_must_not_split_a_tile) {
    // Reg:W0 stands above a temporal and a spatial loop over n0, and the spatial one is taken above
    // it.
    const Case c(
        machine(
            memory("DRAM", "inf", "{keep: All, force_memory_hierarchy_order: False}") +
            memory("GLB", "inf", "{may_keep: All, force_memory_hierarchy_order: False}") +
            memory("Reg", "inf", "{may_keep: All, force_memory_hierarchy_order: False}", spatial)),
        matmuls());
    const auto nodes = [](const std::string& variable) {
        return unit_loops({store("T0, T1, W0", "DRAM"), store("W0", "Reg"), loop(variable, 4),
                           store("T0", "GLB"), array("n0", 2, "Reg")});
    };
    BOOST_TEST(c.codes(nodes("m")) == "");
    BOOST_TEST(c.codes(nodes("n0")) == "split_tile");
}

BOOST_AUTO_TEST_CASE(partial_sums_are_not_thrown_away) {
    const Case c(machine(memory("DRAM", "inf", "{may_keep: All}")), matmuls());
    BOOST_TEST(c.codes({store("T0, W0", "DRAM"), loop("m", 1), store("T1", "DRAM"), loop("n0", 1),
                        loop("n1", 1), compute("E0")}) == "");
    BOOST_TEST(c.codes({store("T0, W0", "DRAM"), loop("n0", 1), store("T1", "DRAM"), loop("m", 1),
                        loop("n1", 1), compute("E0")}) == "partial_sums");
}

BOOST_AUTO_TEST_CASE(inputs_do_not_come_from_nowhere_in_this_mapspace) {
    const Case c(
        machine(memory("DRAM", "inf", "{may_keep: All}") + memory("GLB", "inf", "{may_keep: All}")),
        matmuls());
    const std::vector<std::string> nodes{store("T0, T1", "DRAM"), loop("m", 1),  store("W0", "GLB"),
                                         loop("n0", 1),           loop("n1", 1), compute("E0")};
    BOOST_TEST(c.codes(nodes) == "");
    const mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
    BOOST_TEST(c.codes(nodes, &options) == "recomputation");
}
