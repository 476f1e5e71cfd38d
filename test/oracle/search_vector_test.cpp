// Points as vectors, on small random problems: there and back, and random vectors made legal.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "oracle/few_instances.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/vector.hpp"

using namespace tessera;

namespace {

/// A vector around those of the family: where it is and how far it may go is drawn, too.
std::vector<float> random_vector(const search::VectorEncoding& encoding, search::Rng& rng) {
    std::vector<float> vector(encoding.size());
    const double wide = rng.below(4) == 0 ? 100 : 1;
    for (std::size_t i = 0; i < vector.size(); ++i) {
        const bool loop = encoding.layout()[i].starts_with("trips") ||
                          encoding.layout()[i].starts_with("spread");
        vector[i] = static_cast<float>((rng.uniform() * 1.5 - 0.5) * wide * (loop ? 4 : 1));
    }
    if (rng.below(8) == 0) {
        vector[rng.below(vector.size())] = std::numeric_limits<float>::quiet_NaN();
        vector[rng.below(vector.size())] = std::numeric_limits<float>::infinity();
    }
    return vector;
}

}  // namespace

BOOST_AUTO_TEST_CASE(vector_of_a_point_is_decoded_to_that_point) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t points = 0;
    oracle::for_each_instance(4, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        const search::VectorEncoding encoding(space);
        search::Worker worker(space);
        search::Point point, back;
        std::vector<float> vector(encoding.size());
        for (std::uint64_t i = 0; i < 60; ++i) {
            if (!worker.draw(i, point).legal()) {
                continue;
            }
            encoding.encode(point, vector);
            encoding.decode(vector, back);
            BOOST_TEST((back == point), "draw " << i);
            ++points;
        }
    });
    BOOST_TEST(points >= 2000u);
}

BOOST_AUTO_TEST_CASE(projections_of_random_vectors_are_legal) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t points = 0;
    oracle::for_each_instance(3, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        const search::VectorEncoding encoding(space);
        search::Worker worker(space);
        search::Point point;
        search::Rng rng(7);
        for (std::uint64_t i = 0; i < 40; ++i) {
            const std::vector<float> vector = random_vector(encoding, rng);
            const search::Outcome outcome = search::project(worker, encoding, vector, i, point);
            BOOST_TEST_REQUIRE(outcome.legal(), "vector " << i);
            const mapping::Mapping tree = worker.mapping(point);
            BOOST_CHECK_NO_THROW(model->evaluate(problem, tree));
            for (const mapspace::Violation& v : mapspace::check(problem, tree, &limits)) {
                BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
            }
            ++points;
        }
    });
    BOOST_TEST(points >= 1000u);
}

BOOST_AUTO_TEST_CASE(a_vector_in_a_larger_layout_is_the_same_point) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    oracle::for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        const search::VectorEncoding own(space);
        std::vector<std::string> names = own.layout();
        std::vector<std::string> more(names.begin(), names.begin() + own.n_problem());
        more.push_back("trips Nobody Nowhere nothing");
        search::join_layouts(more, names);
        const search::VectorEncoding encoding(space, more);
        BOOST_TEST(encoding.size() == own.size() + 1);
        search::Worker worker(space);
        search::Point point, back;
        std::vector<float> vector(encoding.size());
        BOOST_TEST_REQUIRE(worker.draw(1, point).legal());
        encoding.encode(point, vector);
        BOOST_TEST(vector[own.n_problem()] == 0);
        vector[own.n_problem()] = 5;
        encoding.decode(vector, back);
        BOOST_TEST((back == point));
        names.pop_back();
        BOOST_CHECK_THROW(search::VectorEncoding(space, names), UserError);
    });
}
