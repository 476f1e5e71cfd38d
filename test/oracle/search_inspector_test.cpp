// Facts about points: against outcomes, and against every tile shape tried one by one.
#include "tessera/search/inspector.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

#include "oracle/few_instances.hpp"
#include "oracle/points.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"

using namespace tessera;
using search::Point;
using search::Verdict;

BOOST_AUTO_TEST_CASE(facts_of_points_add_up_to_their_outcomes) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t legal = 0, full = 0, alone = 0, memories = 0, equal = 0;
    oracle::for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        search::Inspector inspector(space);
        search::Rng rng(3);
        for (std::uint64_t i = 0; i < 60; ++i) {
            Point point;
            BOOST_TEST_REQUIRE(worker.draw(i / 4, point).legal());
            for (std::int64_t& tile : point.tiles) {
                tile = i % 4 > 0 && rng.below(4) == 0 ? tile * 2 : tile;
            }
            const search::Outcome outcome = worker.evaluate(point);
            const search::PointFacts& facts = inspector.facts(point);
            BOOST_TEST((facts.verdict == outcome.verdict));
            BOOST_TEST_REQUIRE(facts.einsums.size() == space.n_einsums());
            bool each = true;
            double energy_j = 0, latency_s = 0;
            for (const search::EinsumFacts& e : facts.einsums) {
                each = each && e.verdict == Verdict::legal;
                if (e.verdict == Verdict::fanout || e.verdict == Verdict::capacity) {
                    BOOST_TEST(e.excess > 0);
                } else if (e.verdict != Verdict::constraint) {
                    BOOST_TEST(e.excess == 0);
                }
                energy_j += e.energy_j;
                latency_s += e.latency_s;
            }
            bool overflows = false;
            for (const search::MemoryFacts& m : facts.memories) {
                overflows = overflows || m.most_bits > m.size_bits;
            }
            if (outcome.legal()) {
                ++legal;
                BOOST_TEST((energy_j == outcome.energy_j && latency_s == outcome.latency_s));
                BOOST_TEST((!overflows && facts.violation == 0));
                const model::Report report = model->evaluate(problem, worker.mapping(point));
                for (const search::MemoryFacts& m : facts.memories) {
                    // The model names memories alone that hold something.
                    const auto peak = report.peak_occupancy.find(m.component);
                    const double share = peak == report.peak_occupancy.end() ? 0 : peak->second;
                    // It charges some holders further down in the tree, where they take less.
                    BOOST_TEST(m.most_bits >= share * m.size_bits * (1 - oracle::kRelative));
                    ++memories;
                    equal += oracle::close(m.most_bits, share * m.size_bits);
                }
            } else if (!each) {
                ++alone;
            }
        }
        // Points whose Einsums fit each by itself and overflow a memory together.
        const auto listed = space.enumerate();
        Point point;
        for (int i = 0; i < 2000 && listed->next(point); ++i) {
            const search::Outcome outcome = worker.evaluate(point);
            const search::PointFacts& facts = inspector.facts(point);
            if (outcome.verdict == Verdict::capacity && !facts.memories.empty()) {
                ++full;
                double most = 0;
                for (const search::MemoryFacts& m : facts.memories) {
                    most = std::max(most, m.most_bits / m.size_bits);
                }
                BOOST_TEST(most > 1);
                BOOST_TEST(facts.violation >= (most - 1) * (1 - oracle::kRelative));
            }
        }
    });
    BOOST_TEST(legal > 600u);
    BOOST_TEST(full > 5u);
    BOOST_TEST(alone > 300u);
    BOOST_TEST(10 * equal > 9 * memories);
}

BOOST_AUTO_TEST_CASE(values_of_a_symbol_are_those_that_leave_its_einsum_legal) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t symbols = 0, listed = 0;
    oracle::for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        search::Inspector inspector(space);
        for (std::uint64_t i = 0; i < 3; ++i) {
            Point point;
            BOOST_TEST_REQUIRE(worker.draw(i, point).legal());
            std::size_t at = 0;
            for (std::uint32_t e = 0; e < space.n_einsums(); ++e) {
                const std::uint32_t tmpl = point.choices[e].tmpl;
                const auto n = static_cast<std::uint32_t>(space.tmpl(e, tmpl).symbols.size());
                for (std::uint32_t s = 0; s < n; ++s) {
                    const std::vector<std::int64_t> found = inspector.values(point, e, s);
                    std::vector<std::int64_t> expected;
                    Point other = point;
                    for (std::int64_t v = 1; v <= inspector.bound(e, tmpl, s); ++v) {
                        other.tiles[at + s] = v;
                        if (inspector.facts(other).einsums[e].verdict == Verdict::legal) {
                            expected.push_back(v);
                        }
                    }
                    BOOST_TEST(found == expected, boost::test_tools::per_element());
                    ++symbols;
                    listed += found.size();
                }
                at += n;
            }
        }
    });
    BOOST_TEST(symbols > 300u);
    BOOST_TEST(listed > symbols + 100);
    const oracle::Instance drawn = oracle::random_instance(oracle::few_seeds(1)["chain2"].at(0));
    const oracle::LoadedInstance instance(drawn.yaml);
    const search::OpenSpace space(instance.problem, *model, {drawn.options, 1, nullptr});
    search::Inspector inspector(space);
    BOOST_TEST(inspector.values({}, 0, 0).empty());
    BOOST_TEST((inspector.facts({}).verdict == Verdict::tile_shape));
    BOOST_TEST(inspector.facts({}).einsums.empty());
}

namespace {

/// The most that memory Buffer holds in any point, by the search and by the model. `main`,
/// `buffer`: what the memories keep.
struct MostBits {
    double by_search = 0, by_model = 0;

    MostBits(const std::string& main, const std::string& buffer, const std::string& einsums) {
        const auto memory = [](const std::string& name, const std::string& size,
                               const std::string& tensors) {
            return "  - !Memory\n    name: " + name + "\n    size: " + size +
                   "\n    actions:\n    - {name: read, energy: 1, throughput: 1}\n"
                   "    - {name: write, energy: 1, throughput: 1}\n    tensors: {keep: " +
                   tensors + ", may_keep: Nothing}\n";
        };
        const oracle::LoadedInstance instance(
            "arch:\n  nodes:\n" + memory("Main", "inf", main) + memory("Buffer", "64", buffer) +
                "  - !Compute\n    name: MAC\n"
                "    actions: [{name: compute, energy: 1, throughput: 1}]\n"
                "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 1}\n  einsums:\n" +
                einsums,
            arch::Compat::none);
        const auto looptree = plugin::Registry<model::CostModel>::instance().create("looptree");
        const search::OpenSpace space(instance.problem, *looptree,
                                      {mapspace::MapSpaceOptions{}, 1, nullptr});
        search::Worker worker(space);
        search::Inspector inspector(space);
        const auto listed = space.enumerate();
        Point point;
        for (int i = 0; i < 20000 && listed->next(point); ++i) {
            if (worker.evaluate(point).legal()) {
                const model::Report report =
                    looptree->evaluate(instance.problem, worker.mapping(point));
                const double bits = report.peak_occupancy.at("Buffer") * 64;
                const double own = inspector.facts(point).memories.at(0).most_bits;
                BOOST_TEST(own >= bits);
                by_search = std::max(by_search, own);
                by_model = std::max(by_model, bits);
            }
        }
    }
};

std::string einsum(const std::string& out, const std::string& in, const std::string& more = "") {
    return "  - name: " + out + "\n    tensor_accesses:\n    - {name: " + in +
           ", projection: [m]}\n" + more + "    - {name: " + out +
           ", projection: [m], output: True}\n";
}

const std::string copies = "    is_copy_operation: True\n";

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_copied_in_one_memory_is_held_once) {
    const MostBits most("P", "A | B", einsum("B", "A") + copies + einsum("P", "B"));
    BOOST_TEST(most.by_model == 4);
    BOOST_TEST(most.by_search == 4);
}

// A is copied to B and C, which are one buffer until C is read last.
BOOST_AUTO_TEST_CASE(what_a_copy_makes_is_there_until_it_is_read) {
    const std::string copy =
        einsum("B", "A", "    - {name: C, projection: [m], output: True}\n") + copies;
    // Beside P.
    const MostBits one("A | R", "B | C | P", copy + einsum("P", "B") + einsum("R", "C"));
    BOOST_TEST(one.by_model == 8);
    BOOST_TEST(one.by_search == 8);
    // Beside P and S, while S is made of P.
    const MostBits two(
        "A | R | T", "B | C | P | S",
        copy + einsum("P", "B") + einsum("S", "P") + einsum("T", "S") + einsum("R", "C"));
    BOOST_TEST(two.by_model == 12);
    BOOST_TEST(two.by_search == 12);
}
