// Which constraints are named when no mapping is legal, and how.
#include "mapspace/infeasible_subset.hpp"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>

#include "support/evaluate_text.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;

namespace {

using Lines = std::vector<std::string>;

struct Text {
    std::string main = "keep: All", size = "inf", banks, sram = "keep: All";
    std::string x = "fanout: 4", y = "fanout: 4", compute;
    std::string sizes = "{M: 8, K: 16, N: 16, O: 16}";
    Lines einsums = {"Y[m, n] = X[m, k] * W[k, n]"};
};

std::string file(const Text& t) {
    std::string out = "arch:\n  nodes:\n";
    const auto memory = [&](const std::string& name, const std::string& size,
                            const std::string& more, const std::string& tensors) {
        out += "  - !Memory\n    name: " + name + "\n    size: " + size + "\n" + more +
               "    actions:\n    - {name: read, energy: 1, throughput: inf}\n"
               "    - {name: write, energy: 1, throughput: inf}\n    tensors: {" +
               tensors + "}\n";
    };
    memory("Main", "inf", "", t.main);
    memory("Sram", t.size, t.banks.empty() ? "" : "    banks: " + t.banks + "\n", t.sram);
    out += "  - !Container\n    name: Array\n    spatial:\n    - {name: x, " + t.x +
           "}\n    - {name: y, " + t.y + "}\n";
    out += "  - !Compute\n    name: Mul\n" + t.compute +
           "    actions: [{name: compute, energy: 1, throughput: 1}]\n"
           "  units: arbitrary\nworkload:\n  rank_sizes: " +
           t.sizes + "\n  bits_per_value: {All: 8}\n  einsums:\n";
    for (const std::string& einsum : t.einsums) {
        out += "  - \"" + einsum + "\"\n";
    }
    return out;
}

std::optional<mapspace::InfeasibleSubset> subset_of(const Text& t,
                                                    const mapspace::MapSpaceOptions& options = {}) {
    const auto workload = testing::workload_of(file(t));
    const auto architecture = testing::architecture_of(file(t));
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    return mapspace::infeasible_subset({&workload, &architecture}, *model, options);
}

std::string bound(const std::string& variables, const std::string& op, int value) {
    return "{expression: " + variables + ", operator: \"" + op +
           "\", value: " + std::to_string(value) + "}";
}

/// The lines have these parts, in any order, one each beside the head; and nothing is open.
void names(const Text& t, const Lines& parts, const std::string& head = "Einsum Y: no mapping",
           const mapspace::MapSpaceOptions& options = {}) {
    const auto subset = subset_of(t, options);
    BOOST_REQUIRE_MESSAGE(subset, file(t));
    std::string all;
    for (const std::string& line : subset->lines) {
        all += line + "\n";
    }
    BOOST_TEST_CONTEXT(all) {
        BOOST_TEST(subset->open.empty());
        BOOST_TEST(subset->constraints.size() == parts.size());
        BOOST_TEST(subset->lines.size() == (parts.size() == 1 ? 1 : parts.size() + 1));
        BOOST_TEST(all.find(head) == 0U);
        for (const std::string& part : parts) {
            BOOST_TEST(std::ranges::count_if(subset->lines,
                                             [&](const std::string& line) {
                                                 return line.find(part) != std::string::npos;
                                             }) == 1,
                       part);
        }
        for (const mapspace::NamedConstraint& c : subset->constraints) {
            BOOST_TEST((c.kind == mapspace::ConstraintKind::option ||
                        all.find(c.where.text() + ": ") != std::string::npos));
        }
    }
}

Text with_x(const std::string& x) {
    Text t;
    t.x = x;
    return t;
}

const std::string in_x = " of dimension 'x' of 'Array': ";

}  // namespace

BOOST_AUTO_TEST_CASE(a_loop_bound_beyond_reach_is_named_alone) {
    names(with_x("fanout: 32, loop_bounds: [" + bound("n", "==", 32) + "]"),
          {"loop_bounds" + in_x + "trips of n == 32, but n has 16 values"});
    names(with_x("fanout: 32, loop_bounds: [" + bound("n", ">", 16) + "]"),
          {"trips of n > 16, but n has 16 values"});
    names(with_x("fanout: 4, loop_bounds: [" + bound("n", "<", 1) + "]"),
          {"trips of n < 1, but there is at least 1 trip"});
    names(with_x("fanout: 4, loop_bounds: [" + bound("k", "==", 3) + "]"),
          {"trips of k == 3, but k has 16 values, which whole tiles split into 2 or 4 trips"});
    names(with_x("fanout: 4, loop_bounds: [" + bound("k | n", "product==", 3) + "]"),
          {"product of trips of k, n == 3, but k has 16 values, n has 16 values, which whole tiles "
           "split into 2 or 4 trips, not 3"});
    names(with_x("fanout: 512, loop_bounds: [" + bound("k | n", "product>=", 512) + "]"),
          {"product of trips of k, n >= 512, but k has 16 values, n has 16 values, at most 256"});
    Text one = with_x("fanout: 4, loop_bounds: [" + bound("m", "==", 2) + "]");
    one.sizes = "{M: 1, K: 16, N: 16}";
    names(one, {"trips of m == 2, but m has 1 value"});
}

BOOST_AUTO_TEST_CASE(partial_tiles_make_trips_that_do_not_divide) {
    mapspace::MapSpaceOptions partial;
    partial.imperfect_spatial = partial.imperfect_temporal = true;
    const Text three = with_x("fanout: 4, loop_bounds: [" + bound("k", "==", 3) + "]");
    BOOST_TEST(!subset_of(three, partial));
    names(with_x("fanout: 32, loop_bounds: [" + bound("n", "==", 17) + "]"),
          {"trips of n == 17, but n has 16 values"}, "Einsum Y", partial);
}

BOOST_AUTO_TEST_CASE(bounds_that_contradict_each_other_or_the_fanout) {
    names(with_x("fanout: 4, loop_bounds: [" + bound("n", "==", 4) + ", " + bound("n", "==", 2) +
                 "]"),
          {"trips of n == 4 (n has 16 values)", "trips of n == 2"});
    names(with_x("fanout: 4, loop_bounds: [" + bound("n", "==", 8) + "]"),
          {"fanout" + in_x + "4 instances, but at least 8 are needed", "trips of n == 8"});
    names(with_x("fanout: 6, loop_bounds: [" + bound("n", ">=", 4) + ", " + bound("k", ">=", 2) +
                 "]"),
          {"fanout" + in_x + "6 instances, but at least 8 are needed", "n >= 4", "k >= 2"});
    Text two = with_x("fanout: 32, loop_bounds: [" + bound("n", "==", 8) + "]");
    two.y = "fanout: 32, loop_bounds: [" + bound("n", "==", 4) + "]";
    names(two, {"'x' of 'Array': trips of n == 8", "'y' of 'Array': trips of n == 4"});
    // A loop that one bound forbids is free of the other: there is a mapping.
    BOOST_TEST(!subset_of(with_x("fanout: 4, loop_bounds: [" + bound("n", "==", 4) + ", " +
                                 bound("n", "==", 1) + "]")));
}

BOOST_AUTO_TEST_CASE(what_memories_hold_and_how_large_they_are) {
    Text t;
    t.size = "16";
    names(t, {"size of 'Sram': 16 bits, but at least 24 bits are needed",
              "keep of 'Sram': it must hold W, X, Y ('keep: All')"});
    t.size = "64";
    t.banks = "2";
    names(t, {"size of 'Sram': 64 bits, but at least 96 bits are needed",
              "banks of 'Sram': each has 32 bits", "keep of 'Sram'"});
    t = {};
    t.size = "160";
    t.sram = "keep: All, no_refetch_from_above: All";
    names(t, {"size of 'Sram': 160 bits, but at least 1096", "no_refetch_from_above of 'Sram'",
              "keep of 'Sram'"});
    t.sram = "keep: All";
    t.main = "keep: All, no_resend_to_below: All";
    names(t, {"size of 'Sram': 160 bits, but at least 1096", "no_resend_to_below of 'Main'",
              "keep of 'Sram'"});
    t = with_x("fanout: 4, loop_bounds: [" + bound("k", "==", 4) + "]");
    t.y = "fanout: 4, loop_bounds: [" + bound("k", "==", 4) + "]";
    t.size = "160";
    names(t, {"size of 'Sram': 160 bits, but at least 264 bits are needed", "keep of 'Sram'",
              "'x' of 'Array': trips of k == 4", "'y' of 'Array': trips of k == 4"});
    t = {};
    t.sram = "back: X";
    names(t, {"keep of 'Main'", "back of 'Sram': it must be the outermost holder of X"});
    t = {};
    t.main = t.sram = "keep: X";
    names(t, {"keep of 'Main': it may hold X only ('keep: X' without may_keep)",
              "keep of 'Sram': it may hold X only"});
}

BOOST_AUTO_TEST_CASE(computes_that_refuse_an_einsum) {
    Text t;
    t.compute = "    enabled: False\n";
    names(t, {"compute 'Mul' cannot run it: `enabled` of 'Mul' is false"});
}

BOOST_AUTO_TEST_CASE(einsums_that_have_mappings_alone) {
    Text t;
    t.einsums = {"T[m, n] = X[m, k] * W[k, n]", "S[m] = T[m, n] * Q[n]",
                 "Y[m, n] = T[m, n] * S[m]"};
    t.main = "keep: ~Intermediates, may_keep: Nothing";
    t.sram = "keep: Intermediates";
    t.size = "128";  // a row of T and a value of S
    names(t, {"may_keep of 'Main': it may hold", "size of 'Sram': 128 bits, but at least 136 bits"},
          "Einsums T, S, Y: each has mappings alone, but together, sharing T, S, no mapping");
    t.size = "136";
    BOOST_TEST(!subset_of(t));
    mapspace::MapSpaceOptions unfused;
    unfused.max_fused_loops = 0;
    names(t,
          {"--max-fused-loops 0: at most 0 fused loops", "may_keep of 'Main'",
           "size of 'Sram': 136 bits, but at least 1024 bits"},
          "Einsum T: no mapping", unfused);
}

BOOST_AUTO_TEST_CASE(nothing_is_named_where_there_is_a_mapping_or_no_time) {
    BOOST_TEST(!subset_of({}));
    std::atomic<bool> stop{true};
    const base::StopScope scope(base::StopToken{&stop});
    BOOST_TEST(!subset_of(with_x("fanout: 32, loop_bounds: [" + bound("n", "==", 32) + "]")));
}
