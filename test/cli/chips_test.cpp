// The problems that bench/chips draws: each is read without a warning, a seed is one text.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <set>

#include "../bench/chips/problem.hpp"
#include "cli/session.hpp"

using namespace tessera::cli_test;
using bench::chips::draw;
using bench::chips::Problem;

namespace {

constexpr std::uint64_t seeds = 200;

/// FNV-1a.
std::uint64_t fingerprint(const std::string& text, std::uint64_t hash) {
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    }
    return hash;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_drawn_chip_and_workload_is_read_without_a_warning) {
    const Folder folder;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const Problem problem = draw(seed);
        const std::string chip = folder.file("chip.yaml", problem.chip.yaml);
        const std::string workload = folder.file("workload.yaml", problem.workload.yaml);
        const Outcome checked = invoke({"check", "-a", chip, "-w", workload, "--json"});
        BOOST_TEST_REQUIRE(checked.code == 0, "seed " << seed << ": " << checked.err);
        const Json document = checked.json();
        BOOST_TEST(document["warnings"].empty(), "seed " << seed << ": " << checked.err);
        for (const Json& einsum : document["workload"]["einsums"]) {
            BOOST_TEST(!einsum["computes"].empty(),
                       "seed " << seed << ": nothing runs " << einsum["name"]);
        }
    }
}

// A number that changes says that seeds name other problems than before: what was measured with
// them does not compare any more.
BOOST_AUTO_TEST_CASE(a_seed_is_the_same_text_everywhere) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const Problem problem = draw(seed), again = draw(seed);
        BOOST_TEST(problem.chip.yaml == again.chip.yaml);
        BOOST_TEST(problem.workload.yaml == again.workload.yaml);
        hash = fingerprint(problem.chip.yaml + problem.workload.yaml, hash);
    }
    BOOST_TEST(hash == 15963213451918940694ull);
}

BOOST_AUTO_TEST_CASE(all_kinds_of_chips_and_workloads_are_drawn) {
    std::set<std::string> chips, workloads;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const Problem problem = draw(seed);
        chips.insert(problem.chip.kind.substr(0, problem.chip.kind.find(' ')));
        const std::string& kind = problem.workload.kind;
        workloads.insert(kind.substr(0, kind.find_first_of(" ")));
    }
    BOOST_TEST(chips == (std::set<std::string>{"dot-product", "free", "input-stationary",
                                               "output-stationary", "row-stationary",
                                               "weight-stationary"}),
               boost::test_tools::per_element());
    BOOST_TEST(workloads == (std::set<std::string>{"attention", "bottleneck", "chain", "decode",
                                                   "decoder", "residual", "separable"}),
               boost::test_tools::per_element());
}
