// Memories that what does not fit passes by, by hand.
#include "model/overflow.hpp"

#include <boost/test/unit_test.hpp>

#include "legality_fixture.hpp"
#include "tessera/plugin/registry.hpp"

using namespace legality_test;

namespace {

std::string buffer(const std::string& size, const std::string& rule) {
    return memory("GLB", size, "{keep: Nothing, may_keep: All}",
                  rule.empty() ? "" : "    on_overflow: " + rule + "\n");
}

Case hardware(const std::string& size, const std::string& rule, bool chain = false) {
    return Case(machine(memory("DRAM", "inf", "{keep: ~Intermediates, may_keep: All}") +
                        buffer(size, rule)),
                matmuls(chain));
}

/// T0 takes a bit of GLB, W0 takes 64.
std::vector<std::string> both(bool t0 = true, bool w0 = true) {
    std::vector<std::string> nodes{store("T0, W0, T1", "DRAM")};
    if (w0) {
        nodes.push_back(store("W0", "GLB"));
    }
    if (t0) {
        nodes.push_back(store("T0", "GLB"));
    }
    nodes.insert(nodes.end(), {loop("m", 1), loop("n0", 1), loop("n1", 1), compute("E0")});
    return nodes;
}

/// T1 backed in GLB, 64 bits; with W0 there too, 64 bits.
std::vector<std::string> fused(const std::string& in_glb) {
    return {store("T0, W0, W1, T2", "DRAM"),
            store(in_glb, "GLB"),
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
}

std::string text(const std::vector<std::string>& nodes) {
    return mapping::to_yaml(Case::mapping(nodes));
}

/// As settled, and what was said.
std::pair<std::string, std::size_t> settled(const Case& c, const std::vector<std::string>& nodes) {
    const model::SettledMapping found = model::settle_overflow(c.problem(), Case::mapping(nodes));
    return {mapping::to_yaml(found.mapping), found.left_out.size()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_does_not_fit_passes_the_memory_by) {
    BOOST_TEST(settled(hardware("65", "bypass"), both()).first == text(both()));
    const Case small = hardware("64", "bypass");
    const model::SettledMapping found =
        model::settle_overflow(small.problem(), Case::mapping(both()));
    BOOST_TEST(mapping::to_yaml(found.mapping) == text(both(true, false)));
    BOOST_REQUIRE(found.left_out.size() == 1);
    BOOST_TEST(found.left_out[0] ==
               "'W0' does not fit into 'GLB' and passes it by (on_overflow: bypass)");
    // The smaller one alone does not fit either.
    const Case banked(machine(memory("DRAM", "inf", "{keep: All}") +
                              memory("GLB", "0.5", "{keep: All}", "    on_overflow: bypass\n")),
                      matmuls());
    BOOST_TEST(settled(banked, both()).first == text(both(false, false)));
    BOOST_TEST(settled(banked, both()).second == 2);
}

BOOST_AUTO_TEST_CASE(the_rule_is_off_unless_asked_for) {
    for (const std::string rule : {"", "invalid"}) {
        const Case c = hardware("64", rule);
        BOOST_TEST(settled(c, both()).first == text(both()));
        BOOST_TEST(c.codes(both()) == "capacity");
    }
}

BOOST_AUTO_TEST_CASE(the_settled_mapping_is_legal_and_costs_what_it_says) {
    const Case c = hardware("64", "bypass"), roomy = hardware("inf", "bypass");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const mapping::Mapping mapping =
        model::settle_overflow(c.problem(), Case::mapping(both())).mapping;
    BOOST_TEST(model->evaluate(c.problem(), mapping).energy_j() ==
               model->evaluate(roomy.problem(), Case::mapping(both(true, false))).energy_j());
    BOOST_TEST(mapspace::check(c.problem(), mapping).empty());
    BOOST_TEST(model->evaluate(c.problem(), mapping).warnings.empty());
    BOOST_CHECK_THROW(model->evaluate(c.problem(), Case::mapping(both())), IllegalMapping);
}

BOOST_AUTO_TEST_CASE(the_outermost_holder_of_a_tensor_stays) {
    const Case roomy = hardware("128", "bypass", true), small = hardware("64", "bypass", true);
    BOOST_TEST(settled(roomy, fused("T1, W0")).first == text(fused("T1, W0")));
    BOOST_TEST(settled(small, fused("T1, W0")).first == text(fused("T1")));
    BOOST_TEST(small.codes(fused("T1")) == "");
    const Case none = hardware("63", "bypass", true);
    BOOST_TEST(settled(none, fused("T1, W0")).first == text(fused("T1")));
    BOOST_TEST(none.codes(fused("T1")) == "capacity");
}

BOOST_AUTO_TEST_CASE(what_stands_outside_shared_loops_counts_while_others_run) {
    // W0 and W1 take 64 bits each, T1 8 inside the loop that both Einsums share.
    const auto nodes = [](const std::string& weights) {
        std::vector<std::string> all{store("T0, W0, W1, T2", "DRAM")};
        if (!weights.empty()) {
            all.push_back(store(weights, "GLB"));
        }
        const std::vector<std::string> rest{
            loop("m", 1),  store("T1", "GLB"), "split", ">", loop("n0", 1),
            loop("n1", 1), compute("E0"),      "<",     ">", loop("n1", 1),
            loop("n2", 1), compute("E1"),      "<"};
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    };
    const auto of_size = [&](const std::string& bits) {
        return settled(hardware(bits, "bypass", true), nodes("W1, W0"));
    };
    BOOST_TEST(of_size("136").second == 0);
    BOOST_TEST(of_size("135").first == text(nodes("W1")));
    BOOST_TEST(of_size("72").second == 1);
    BOOST_TEST(of_size("71").first == text(nodes("")));
    BOOST_TEST(of_size("8").second == 2);
}

BOOST_AUTO_TEST_CASE(a_mapping_that_cannot_be_evaluated_stays_as_it_is) {
    const Case c = hardware("64", "bypass");
    const std::vector<std::string> nodes{store("T0, W0", "DRAM"), loop("m", 1), loop("n0", 1),
                                         loop("n1", 1), compute("E0")};
    BOOST_TEST(settled(c, nodes).first == text(nodes));
    BOOST_CHECK_THROW(settled(c, {store("T0, W9", "DRAM"), compute("E0")}), UserError);
}
