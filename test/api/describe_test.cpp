// tessera/describe.hpp, and what a Problem tells of itself.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tessera/describe.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

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

namespace {

const char* const two = R"(
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 4, K: 4, N: 2}
  einsums:
  - {einsum: "T[m, n] = A[m, k] * B[k, n]"}
  - {einsum: "Y[m] = T[m, n] * C[n]"}
)";

/// `roles` with another energy of a compute.
std::string with_energy(const std::string& energy) {
    std::string text = roles;
    const std::string standard = "compute, energy: 1,";
    return text.replace(text.find(standard), standard.size(), "compute, energy: " + energy + ",");
}

std::string message_of(const std::string& arch) {
    try {
        Problem::parse(arch, two);
    } catch (const tessera::UserError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

// What a condition on the Einsum says, without one.
BOOST_AUTO_TEST_CASE(values_for_one_einsum_are_a_condition) {
    const std::string values = "per_einsum: {Y: {arch.MAC.actions.compute.energy: 7}}\n";
    const auto report = [](const std::string& arch) {
        return tessera::map(Problem::parse(arch, two)).best().report;
    };
    const auto plain = report(roles), own = report(roles + values);
    const auto condition = report(with_energy("7 if len(C) > 0 else 1"));
    BOOST_TEST(own.energy_j() == condition.energy_j());
    BOOST_TEST(own.einsums[0].energy_j() == plain.einsums[0].energy_j());
    BOOST_TEST(own.einsums[1].energy_j() == plain.einsums[1].energy_j() + 6 * 8);
}

BOOST_AUTO_TEST_CASE(wrong_values_for_one_einsum_are_named) {
    const auto with = [](const std::string& values) { return roles + values + "\n"; };
    BOOST_TEST(message_of(with("per_einsum: {X: {arch.MAC.leak_power: 7}}"))
                   .find("no Einsum of this name") != std::string::npos);
    BOOST_TEST(message_of(with("per_einsum: {Y: {arch.MAC.leak_powr: 7}}")).find("leak_power") !=
               std::string::npos);
    BOOST_TEST(message_of(with("per_einsum: {Y: {arch.Mac.leak_power: 7}}")).find("Mac") !=
               std::string::npos);
    BOOST_TEST(message_of(with("per_einsum: {Y: {arch.MAC.name: MAD}}")).find("other components") !=
               std::string::npos);
    BOOST_TEST(message_of(with("per_einsum: {Y: {workload.rank_sizes.M: 7}}"))
                   .find("one value of the architecture") != std::string::npos);
    BOOST_TEST(message_of(with("per_einsum: {Y: 3}")).find("per_einsum") != std::string::npos);
    BOOST_TEST(message_of(with("per_einsum: 3")).find("per_einsum") != std::string::npos);
}

namespace {

/// Twice what `looptree` says, without formulas; refuses what `looptree` finds slow.
class Doubled : public tessera::model::CostModel {
public:
    std::string name() const override {
        return "test_doubled";
    }
    tessera::model::Report evaluate(const tessera::model::Problem& problem,
                                    const tessera::mapping::Mapping& mapping) const override {
        tessera::model::Report report = inner_->evaluate(problem, mapping);
        for (auto& einsum : report.einsums) {
            einsum.dynamic_energy_j *= 2;
            einsum.leak_energy_j *= 2;
        }
        return report;
    }
    tessera::model::EinsumReport evaluate(
        const tessera::model::Problem& problem, const tessera::arch::Path& path,
        std::span<const tessera::mapping::PmappingNode> nodes) const override {
        return inner_->evaluate(problem, path, nodes);
    }

private:
    tessera::plugin::Owned<tessera::model::CostModel> inner_ =
        tessera::plugin::Registry<tessera::model::CostModel>::instance().create("looptree");
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_model_without_formulas_is_searched_by_strategies) {
    using Models = tessera::plugin::Registry<tessera::model::CostModel>;
    tessera::plugin::Entry<tessera::model::CostModel> entry;
    entry.name = "test_doubled";
    entry.create = [](const tessera::plugin::KnobValues&) {
        return tessera::plugin::Owned<tessera::model::CostModel>(
            new Doubled(), [](tessera::model::CostModel* made) { delete made; });
    };
    Models::instance().add(std::move(entry));
    tessera::Options options;
    options.mapper = "annealing";
    options.limits.max_evals = 500;
    const Problem problem = two_matmuls();
    const tessera::Result plain = tessera::map(problem, options);
    options.model = "test_doubled";
    const tessera::Result doubled = tessera::map(problem, options);
    // By twice the costs the same mapping is found.
    BOOST_TEST(tessera::mapping::to_yaml(doubled.best().mapping) ==
               tessera::mapping::to_yaml(plain.best().mapping));
    BOOST_TEST(doubled.best().report.energy_j() == 2 * plain.best().report.energy_j(),
               boost::test_tools::tolerance(1e-12));
    options.start = {plain.best().mapping};
    options.mapper = "random";
    options.limits.max_evals = 5;
    BOOST_TEST(tessera::map(problem, options).best().report.energy_j() <=
               2 * plain.best().report.energy_j() * (1 + 1e-12));
}

BOOST_AUTO_TEST_CASE(a_model_without_formulas_proves_nothing) {
    const Problem problem = Problem::load("simple", "matmul", {{"M", "4"}, {"K", "4"}, {"L", "2"}});
    tessera::Options options;
    options.mapper = "exhaustive";
    BOOST_CHECK(tessera::map(problem, options).status == tessera::mapper::Status::optimal);
    options.model = "test_doubled";
    const tessera::Result result = tessera::map(problem, options);
    BOOST_CHECK(result.status == tessera::mapper::Status::feasible);
    BOOST_TEST(!result.bound.has_value());
    BOOST_TEST(result.stopped_by == "strategy");
}
