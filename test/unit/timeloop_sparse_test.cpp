// Densities, formats and sparse designs by hand.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "sparsity/density.hpp"
#include "sparsity/format.hpp"
#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/read.hpp"

namespace {

using namespace tessera;
using sparsity::Distribution;
using sparsity::Format;
using sparsity::make_density;
using timeloop::Input;
using Op = timeloop::StorageOperation;

/// Of a random tensor: the share of the ways to lay its values that leave a tile empty.
double empty_by_counting(int points, int values, int tile) {
    int ways = 0, empty = 0;
    for (int set = 0; set < 1 << points; ++set) {
        if (__builtin_popcount(static_cast<unsigned>(set)) == values) {
            ++ways;
            empty += (set & ((1 << tile) - 1)) == 0;
        }
    }
    return static_cast<double>(empty) / ways;
}

Input example() {
    return timeloop::load_input(
        timeloop::read_document({test::test_folder() + "/../examples/timeloop/sparse-gemm.yaml"}));
}

timeloop::Evaluation evaluated(const Input& input) {
    timeloop::Warnings warnings;
    const auto mapping =
        timeloop::read_mapping(input.document, input.problem, input.architecture, warnings);
    return timeloop::evaluate(input.problem, input.architecture, *mapping, input.model);
}

BOOST_AUTO_TEST_SUITE(timeloop_sparse)

BOOST_AUTO_TEST_CASE(a_hypergeometric_tile_is_empty_as_often_as_counted) {
    const auto density = make_density({Distribution::hypergeometric, 0.25, 0}, {3, 4});
    for (int tile = 1; tile <= 9; ++tile) {
        BOOST_TEST(density->probability({tile}, 0) == empty_by_counting(12, 3, tile),
                   boost::test_tools::tolerance(1e-12));
    }
    BOOST_TEST(density->most_values({2}) == 2);
    BOOST_TEST(density->most_values({5}) == 3);
    BOOST_TEST(density->expected_values({4}) == 1, boost::test_tools::tolerance(1e-12));
    const sparsity::Known half{{6}, 6, 3};  // all values in one half
    BOOST_TEST(density->probability({2}, 0, &half) == empty_by_counting(6, 3, 2),
               boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_fixed_tile_holds_its_mean_rounded_down_or_up) {
    const auto density = make_density({Distribution::fixed_structured, 0.3, 0}, {10, 10});
    BOOST_TEST(density->probability({5}, 1) == 0.5, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(density->probability({5}, 2) == 0.5, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(density->probability({5}, 0) == 0);
    BOOST_TEST(density->most_values({5}) == 2);
    BOOST_TEST(density->most_values({10}) == 3);
}

BOOST_AUTO_TEST_CASE(tiles_of_a_banded_matrix_are_counted) {
    const auto density = make_density({Distribution::banded, 0, 1}, {8, 8});
    // 2 x 2 tiles: 4 on the diagonal are full, 6 beside it hold one value, 6 are empty.
    BOOST_TEST(density->probability({2, 2}, 4) == 4.0 / 16);
    BOOST_TEST(density->probability({2, 2}, 1) == 6.0 / 16);
    BOOST_TEST(density->probability({2, 2}, 0) == 6.0 / 16);
    BOOST_TEST(density->expected_values({8, 8}) == 22);
    BOOST_CHECK_THROW(make_density({Distribution::banded, 0, 1}, {8, 4}), sparsity::Unanswerable);
}

BOOST_AUTO_TEST_CASE(formats_take_words_by_fibers_and_coordinates) {
    const auto words = [](Format format) {
        const sparsity::RankWords found = rank_words(format, 4, 8, 0.5, 0.7);
        return std::pair(found.metadata, found.payload);
    };
    const double n = 8 * (1 - 0.7);
    BOOST_CHECK(words(Format::uncompressed_offset_pairs) == std::pair(0.0, 18.0));
    BOOST_CHECK(words(Format::coordinate_payload) == std::pair(6.0, 6.0));
    BOOST_CHECK(words(Format::bitmask) == std::pair(16.0, 6.0));
    BOOST_CHECK(words(Format::run_length) == std::pair(2 * n, 2 * n));
    BOOST_CHECK(words(Format::uncompressed_bitmask) == std::pair(32.0, 32.0));
}

/// docs/sparsity.md works these figures out.
BOOST_AUTO_TEST_CASE(the_example_is_as_worked_out_by_hand) {
    const Input input = example();
    const timeloop::Evaluation evaluation = evaluated(input);
    BOOST_REQUIRE(evaluation.fit.ok());
    const timeloop::Stats& stats = evaluation.stats;
    BOOST_TEST(stats.arithmetic.algorithmic_computes == 128);
    BOOST_TEST(stats.arithmetic.computes == 16);
    BOOST_TEST(stats.arithmetic.gated_computes == 16);
    BOOST_TEST(stats.arithmetic.cycles == 32);
    BOOST_TEST(stats.arithmetic.energy_pj == 16 * 2 + 16 * 0.1);
    const timeloop::SparseSpaceStats& a = stats.levels[0].sparse[0];
    BOOST_TEST(a.accesses[at(Op::random_read)] == 32);
    BOOST_TEST(a.accesses[at(Op::random_fill)] == 8);
    const auto& reads = a.format_accesses[at(Op::random_metadata_read)];
    BOOST_REQUIRE(reads.size() == 2);
    BOOST_TEST(reads[0].metadata == 32);
    BOOST_TEST(reads[1].payload == 20);
    BOOST_TEST(stats.levels[0].data_spaces[0].utilized_capacity == 8);
    const timeloop::SparseSpaceStats& b = stats.levels[0].sparse[1];
    BOOST_TEST(b.accesses[at(Op::random_read)] == 32);
    BOOST_TEST(b.accesses[at(Op::skipped_read)] == 96);
    // 32 + 8 words of data, 26 + 7 vectors of the format.
    BOOST_TEST(stats.levels[0].data_spaces[0].energy_pj == 40 + 0.5 * 33);
}

BOOST_AUTO_TEST_CASE(densities_of_one_cost_as_dense_ones) {
    Input input = example();
    input.architecture.sparse->levels[0].representations.clear();
    input.architecture.sparse->levels[1].representations.clear();
    for (timeloop::DataSpace& space : input.problem.data_spaces) {
        space.density.density = 1;
    }
    const timeloop::Evaluation sparse = evaluated(input);
    input.architecture.sparse.reset();
    const timeloop::Evaluation dense = evaluated(input);
    BOOST_REQUIRE(sparse.fit.ok());
    BOOST_TEST(sparse.stats.energy_pj == dense.stats.energy_pj);
    BOOST_TEST(sparse.stats.cycles == dense.stats.cycles);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named) {
    Input input = example();
    input.architecture.storage[0].metadata.depth = 6;
    timeloop::Evaluation evaluation = evaluated(input);
    BOOST_CHECK(evaluation.fit.kind == timeloop::Fit::Kind::metadata);
    BOOST_TEST(describe(evaluation.fit, input.problem, input.architecture) ==
               "level Buffer: mapped metadata tile size 52 exceeds metadata buffer capacity 48 "
               "bits");
}

/// A search of the example's mapspace; `log`: what it says.
timeloop::MapperResult searched(const Input& input, const timeloop::MapperSettings& settings,
                                std::string& log) {
    timeloop::MapperHooks hooks;
    hooks.model = input.model;
    hooks.log = [&](const std::string& line) { log += line + "\n"; };
    return timeloop::search_mappings(input.problem, input.architecture, {}, settings, hooks);
}

BOOST_AUTO_TEST_CASE(the_mapper_searches_with_sparse_costs_and_proves_nothing) {
    const Input input = example();
    timeloop::MapperSettings settings;
    settings.threads = 1;
    settings.algorithm = timeloop::Algorithm::linear_pruned;
    settings.victory = settings.timeout = 0;
    std::string log;
    const timeloop::MapperResult result = searched(input, settings, log);
    BOOST_REQUIRE(result.best);
    BOOST_CHECK(result.proof == timeloop::Proof::none);
    BOOST_CHECK(!result.bound);
    const timeloop::Evaluation best =
        timeloop::evaluate(input.problem, input.architecture, *result.best, input.model);
    BOOST_REQUIRE(best.fit.ok());
    BOOST_TEST(best.stats.sparse);
    BOOST_TEST(best.stats.energy_pj == result.cost.energy_pj);
    BOOST_TEST(best.stats.cycles == result.cost.cycles);
    // The example's mapping is one of the mapspace but for the order of the innermost loops, which
    // Timeloop does not permute.
    timeloop::Warnings warnings;
    auto given =
        timeloop::read_mapping(input.document, input.problem, input.architecture, warnings);
    given->levels[0].temporal.permutation = result.best->levels[0].temporal.permutation;
    const timeloop::Evaluation member =
        timeloop::evaluate(input.problem, input.architecture, *given, input.model);
    BOOST_TEST(member.fit.ok());
    BOOST_TEST(best.stats.edp() <= member.stats.edp());
}

BOOST_AUTO_TEST_CASE(the_optimal_search_says_that_it_gives_way) {
    const Input input = example();
    timeloop::MapperSettings settings;
    settings.threads = 1;
    settings.victory = 20;
    std::string log;
    BOOST_CHECK(searched(input, settings, log).proof == timeloop::Proof::none);
    BOOST_TEST((log.find("not proven") != std::string::npos), log);
    settings.strategy.emplace();
    BOOST_CHECK_THROW(searched(input, settings, log), UserError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
