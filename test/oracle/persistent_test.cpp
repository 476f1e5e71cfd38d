// Persistent tensors that several Einsums access, in memories below an array: FFM, the search by
// points and the checker agree that no spatial loop stands above them.
#include <boost/test/unit_test.hpp>
#include <string>

#include "oracle/few_instances.hpp"
#include "oracle/oracle_instance.hpp"
#include "oracle/points.hpp"
#include "tessera/mapspace/legality.hpp"

using namespace tessera;

namespace {

/// `persistent`: names of tensors. Y is made, then read twice; so is the weight W.
std::string problem(const std::string& persistent) {
    const auto memory = [](const std::string& name, int size, int energy, const std::string& keep) {
        return "  - !Memory\n    name: " + name +
               "\n    size: " + (size > 0 ? std::to_string(size) : "inf") +
               "\n    actions:\n    - {name: read, energy: " + std::to_string(energy) +
               ", throughput: 1}\n    - {name: write, energy: " + std::to_string(energy) +
               ", throughput: 1}\n    tensors: {keep: " + keep + "}\n";
    };
    return "arch:\n  nodes:\n" + memory("Main", 0, 10, "~Intermediates") +
           "  - !Container\n    name: Array\n    spatial:\n    - {name: X, fanout: 4}\n" +
           memory("Buffer", 200, 1, "Intermediates, may_keep: All") +
           "  - !Compute\n    name: MAC\n    actions:\n"
           "    - {name: compute, energy: 1, throughput: 1}\n"
           "workload:\n  iteration_space_shape: {m: 0 <= m < 4, d: 0 <= d < 4, e: 0 <= e < 2}\n"
           "  persistent_tensors: " +
           persistent +
           "\n  bits_per_value: {All: 1}\n  einsums:\n"
           "  - name: Make\n    tensor_accesses:\n"
           "    - {name: A, projection: [m, d]}\n"
           "    - {name: Y, projection: [m, d], output: True}\n"
           "  - name: First\n    tensor_accesses:\n"
           "    - {name: Y, projection: [m, d]}\n    - {name: W, projection: [d, e]}\n"
           "    - {name: Z, projection: [m, e], output: True}\n"
           "  - name: Second\n    tensor_accesses:\n"
           "    - {name: Y, projection: [m, d]}\n    - {name: W, projection: [d, e]}\n"
           "    - {name: U, projection: [m, e], output: True}\n";
}

double least(const model::Problem& problem, const std::string& mapper, mapper::Metric metric,
             const plugin::KnobSettings& knobs = {}) {
    mapper::Options options;
    options.threads = 1;
    options.metrics = {metric};
    const mapper::Result found = oracle::mapped(problem, options, mapper, knobs);
    BOOST_TEST((found.status == mapper::Status::optimal));
    BOOST_TEST_REQUIRE(found.solutions.size() == 1u);
    for (const auto& v : mapspace::check(problem, found.solutions[0].mapping, &options.mapspace)) {
        BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
    }
    return mapper::metric_value(metric, found.solutions[0].report);
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_spatial_loop_stands_above_a_persistent_tensor_of_several_einsums) {
    for (const char* const persistent : {"Y", "W", "Y | W"}) {
        const oracle::LoadedInstance instance(problem(persistent), arch::Compat::none);
        for (const mapper::Metric metric : {mapper::Metric::energy, mapper::Metric::latency}) {
            BOOST_TEST_CONTEXT(
                persistent << " " << (metric == mapper::Metric::energy ? "energy" : "latency")) {
                const double joined = least(instance.problem, "ffm", metric);
                const double enumerated =
                    least(instance.problem, "search", metric, {{"strategy", "exhaustive"}});
                BOOST_TEST(oracle::close(joined, enumerated));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_spatial_loop_above_a_persistent_tensor_of_several_einsums_is_refused) {
    // Found where Y need not be persistent, and spread over the array.
    const oracle::LoadedInstance free(problem("Nothing"), arch::Compat::none);
    mapper::Options options;
    options.threads = 1;
    options.metrics = {mapper::Metric::latency};
    const mapper::Result found = oracle::mapped(free.problem, options, "ffm");
    BOOST_TEST_REQUIRE(found.solutions.size() == 1u);
    const mapping::Mapping& mapping = found.solutions[0].mapping;
    BOOST_TEST(mapspace::check(free.problem, mapping, &options.mapspace).empty());
    const oracle::LoadedInstance instance(problem("Y"), arch::Compat::none);
    bool told = false;
    for (const auto& v : mapspace::check(instance.problem, mapping, &options.mapspace)) {
        told = told || v.code == "outermost";
    }
    BOOST_TEST(told);
}
