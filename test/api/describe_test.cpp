// tessera/describe.hpp, and what a Problem tells of itself.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tessera/describe.hpp"

#include <nlohmann/json.hpp>

namespace {

using tessera::Problem;

Problem two_matmuls() {
    return Problem::load("simba", "matmuls", {{"N_EINSUMS", "2"}});
}

const char* const roles = R"(
arch:
  nodes:
  - !Memory
    name: Outer
    size: inf
    leak_power: 0
    area: 0
    actions:
    - {name: read, energy: 10, throughput: inf}
    - {name: write, energy: 10, throughput: inf}
    tensors: {keep: input | weight | output}
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions:
    - {name: compute, energy: 1, throughput: 1}
mapper: {metrics: ENERGY}
)";

const char* const matmul = R"(
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 4, K: 4, N: 2}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]"}
)";

}  // namespace

BOOST_AUTO_TEST_CASE(a_solution_is_described_as_by_the_command_line) {
    const Problem problem = two_matmuls();
    const tessera::Result result = tessera::map(problem);
    const auto json = nlohmann::json::parse(tessera::to_json(problem, result.best()));
    BOOST_TEST(json["edp_js"].get<double>() == result.best().report.edp_js());
    BOOST_TEST(json["einsums"].size() == 2);
    BOOST_TEST(json.contains("summary"));
    BOOST_TEST(json["mapping"]["kind"] == "nested");
    BOOST_TEST(tessera::to_text(problem, result.best()).find("trips") != std::string::npos);
    BOOST_TEST(tessera::to_svg(problem, result.best()).find("<svg") == 0);
}

BOOST_AUTO_TEST_CASE(some_einsums_are_a_problem) {
    const Problem one = two_matmuls().only({"Matmul1"});
    BOOST_TEST(one.workload().einsums.size() == 1);
    BOOST_TEST(one.workload().einsums.front().name == "Matmul1");
    BOOST_CHECK_THROW(two_matmuls().only({"Matmul7"}), tessera::UserError);
}

BOOST_AUTO_TEST_CASE(texts_get_the_customary_roles_that_files_get) {
    const Problem problem = Problem::parse(roles, matmul);
    BOOST_TEST(tessera::map(problem).best().report.energy_j() > 0);
    // AccelForge gives none, and so does its compatibility.
    BOOST_CHECK_THROW(
        tessera::map(Problem::parse(roles, matmul, {}, tessera::arch::Compat::accelforge)),
        tessera::UserError);
}

BOOST_AUTO_TEST_CASE(a_problem_keeps_the_warnings_of_its_files) {
    const Problem problem = Problem::parse(roles, matmul);
    BOOST_REQUIRE(!problem.warnings().empty());
    BOOST_TEST(problem.warnings().front().find("mapper") != std::string::npos);
    BOOST_TEST(two_matmuls().warnings().empty());
}

BOOST_AUTO_TEST_CASE(names_are_those_that_load_finds) {
    for (const std::string& name : tessera::workload_names()) {
        if (name == "matmuls") {
            BOOST_TEST(tessera::architecture_names().size() > 5);
            return;
        }
    }
    BOOST_ERROR("matmuls is missing");
}

BOOST_AUTO_TEST_CASE(an_exact_mapspace_stays_without_partial_tiles) {
    const Problem problem = Problem::load("one-buffer", "matmul", {});
    tessera::Options options;
    options.mapper = "fusecu";
    options.metrics = {tessera::mapper::Metric::traffic};
    const double preferred = *tessera::map(problem, options).best().report.traffic_words();
    options.exact_mapspace = true;
    BOOST_TEST(*tessera::map(problem, options).best().report.traffic_words() >= preferred);
}
