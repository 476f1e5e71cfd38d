// Optima of random problems against those of the same problems transformed: said otherwise, in
// other units, with a larger mapspace. No brute force is needed, so problems are larger than the
// oracle's.
//
// With TESSERA_SOAK=N in the environment, N instances from TESSERA_SOAK_FROM (default 1000000) on
// are drawn instead of the first few; a line per instance goes to stderr if TESSERA_SOAK_LIST is
// set, with the problem if it fails, and the counts at the end.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "support/setting.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "transformation/judge.hpp"
#include "transformation/problem.hpp"
#include "transformation/random_problem.hpp"

using namespace tessera;
using transformation::Outcome;

namespace {

constexpr std::uint64_t instances_of_a_test_run = 300;

struct Count {
    int drawn = 0, proven = 0, solved = 0;

    void add(const Outcome& o) {
        ++drawn;
        proven += o.proven ? 1 : 0;
        solved += o.proven && o.mapped ? 1 : 0;
    }
};

struct Tally {
    std::map<std::string, Count> families, features, changes;
    std::vector<std::string> errors;
    Count all;
    double seconds = 0;

    void add(std::uint64_t seed, const Outcome& o) {
        all.add(o);
        seconds += o.seconds;
        families[o.family].add(o);
        for (const std::string& feature : o.features) {
            features[feature].add(o);
        }
        for (const std::string& change : o.changes) {
            changes[change].add(o);
        }
        if (!o.error.empty()) {
            errors.push_back("seed " + std::to_string(seed) + " (" + o.family + "): " + o.error);
        }
    }

    void print() const {
        std::fprintf(stderr, "%d instances, %d proven, %d with a mapping, %.0f s, %zu disagree\n",
                     all.drawn, all.proven, all.solved, seconds, errors.size());
        for (const auto* group : {&families, &features, &changes}) {
            for (const auto& [name, count] : *group) {
                std::fprintf(stderr, "  %-24s %6d drawn %6d proven %6d with a mapping\n",
                             name.c_str(), count.drawn, count.proven, count.solved);
            }
        }
    }
};

Tally run(std::uint64_t from, std::uint64_t wanted, bool list) {
    std::atomic<std::uint64_t> next{from};
    std::mutex guard;
    Tally tally;
    const auto work = [&] {
        for (std::uint64_t seed = next++; seed < from + wanted; seed = next++) {
            const Outcome o = transformation::judge(seed);
            const std::lock_guard lock(guard);
            tally.add(seed, o);
            if (list) {
                std::fprintf(stderr, "%llu %s %d %d %.3f %s\n",
                             static_cast<unsigned long long>(seed), o.family.c_str(), o.proven,
                             o.mapped, o.seconds, o.error.c_str());
                if (!o.error.empty()) {
                    std::fputs(text(transformation::random_problem(seed)).c_str(), stderr);
                }
            }
        }
    };
    {
        const std::jthread other(work);
        work();
    }
    return tally;
}

}  // namespace

// Copies beside tolls, and where an inner memory must keep both the copy and what it is made from:
// what stands before the last outermost holder counts, and the tree has to keep it there. In the
// last one an order of holders decides what stands there.
BOOST_AUTO_TEST_CASE(copies_cost_in_the_tree_what_they_cost_in_the_join) {
    for (const std::uint64_t seed : {258, 268, 288, 598, 688, 748, 1003748, 7300968}) {
        const Outcome o = transformation::judge(seed);
        BOOST_TEST(o.family == "copy");
        BOOST_TEST(o.mapped);
        BOOST_TEST(o.error == "", "seed " << seed << ": " << o.error);
    }
}

// The first Einsum does without a memory, which a bound of templates by need had it use.
BOOST_AUTO_TEST_CASE(bounds_know_memories_that_an_einsum_does_without) {
    const Outcome o = transformation::judge(7800096);
    BOOST_TEST(o.mapped);
    BOOST_TEST(o.error == "", o.error);
}

// Where the outermost memory may not keep an intermediate, the mapping without fused loops that a
// search by need begins with is no member.
BOOST_AUTO_TEST_CASE(mappings_to_begin_with_are_members) {
    const Outcome o = transformation::judge(7803486);
    BOOST_TEST(o.mapped);
    BOOST_TEST(o.error == "", o.error);
}

// Loops of two arrays over one variable, on either side of a toll: the inner one has to end it.
BOOST_AUTO_TEST_CASE(places_on_either_side_of_a_toll_keep_their_order) {
    const Outcome o = transformation::judge(8002183);
    BOOST_TEST(o.mapped);
    BOOST_TEST(o.error == "", o.error);
}

// One of the searches for pipelines finds no mapping within its share of the limit.
BOOST_AUTO_TEST_CASE(a_limit_leaves_what_is_known_to_a_search_of_pipelines) {
    const transformation::LoadedProblem problem(transformation::random_problem(9200124));
    mapper::Options options;
    options.metrics = {mapper::Metric::latency};
    options.mapspace = transformation::random_problem(9200124).options;
    options.threads = 1;
    options.budget.max_evals = 300'000;
    const mapper::Result found =
        plugin::Registry<mapper::Mapper>::instance()
            .create("ffm", {{"overlap", "pipeline"}})
            ->map(problem.problem,
                  *plugin::Registry<model::CostModel>::instance().create("looptree"), options);
    BOOST_TEST(found.solutions.size() == 1u);
}

BOOST_AUTO_TEST_CASE(optima_move_as_the_problem_does) {
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    const std::uint64_t wanted = soak > 0 ? soak : instances_of_a_test_run;
    const std::uint64_t from = soak > 0 ? test::setting("TESSERA_SOAK_FROM", 1'000'000) : 0;
    const Tally tally = run(from, wanted, test::setting("TESSERA_SOAK_LIST", 0) != 0);
    for (const std::string& error : tally.errors) {
        BOOST_ERROR(error);
    }
    if (soak > 0) {
        tally.print();
    }
    // Nothing is tested by problems without a mapping, or that are given up.
    BOOST_TEST(static_cast<std::uint64_t>(tally.all.drawn) == wanted);
    BOOST_TEST(tally.all.proven * 100 >= tally.all.drawn * 99);
    BOOST_TEST(tally.all.solved * 2 >= tally.all.drawn);
    for (const std::string& family : transformation::families()) {
        const auto found = tally.families.find(family);
        BOOST_TEST((found != tally.families.end() && found->second.solved > 0),
                   "no problem of family " << family << " was solved");
    }
    for (const char* feature : {"2 memories",
                                "3 memories",
                                "4 memories",
                                "spatial",
                                "toll",
                                "network",
                                "reuse",
                                "loop_bounds",
                                "no_refetch_from_above",
                                "tensor_order_options",
                                "several computes",
                                "persistent",
                                "partial tiles",
                                "size by Einsum",
                                "fan-out by Einsum",
                                "enabled by Einsum",
                                "usage_scale",
                                "fractions of bits",
                                "two arrays",
                                "force_memory_hierarchy_order"}) {
        const auto found = tally.features.find(feature);
        BOOST_TEST((found != tally.features.end() && found->second.solved > 0),
                   "no problem with " << feature << " was solved");
    }
    for (const char* judged : {"member of the original", "no member of it", "templates by need"}) {
        BOOST_TEST(tally.changes.contains(judged), "nothing was judged as: " << judged);
    }
}
