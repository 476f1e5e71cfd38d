// Metrics `dynamic_energy` and `leak_energy`: the two parts of the energy.
#include <boost/test/unit_test.hpp>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

/// Leaves the array half idle: what is fast then and what is frugal differ.
Outcome map(const std::string& metric, const Args& more = {}) {
    return invoke(joined({"map", "-a", "eyeriss", "-w", "matmuls", "-D", "M=32", "-D", "KN=16",
                          "--threads", "1", "-q", "--json", "--metric", metric},
                         more));
}

/// Two products whose matrices go through the buffer.
Outcome chain(const std::string& metric, const Args& more = {}) {
    return invoke(joined({"map", "-a", "simba", "-w", "matmuls", "-D", "N_EINSUMS=2", "-D", "M=8",
                          "-D", "KN=8", "--threads", "1", "-q", "--json", "--metric", metric},
                         more));
}

double value(const Outcome& outcome, const char* key, std::size_t mapping = 0) {
    BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    BOOST_TEST(outcome.json()["status"] == "optimal");
    return outcome.json()["mappings"][mapping][key].get<double>();
}

constexpr double rounding = 1e-9;

}  // namespace

BOOST_AUTO_TEST_CASE(each_part_of_the_energy_has_its_least) {
    const Outcome energy = map("energy"), latency = map("latency");
    const Outcome dynamic = map("dynamic_energy"), leak = map("leak_energy");
    BOOST_TEST(value(dynamic, "dynamic_energy_j") <=
               value(energy, "dynamic_energy_j") * (1 + rounding));
    BOOST_TEST(value(dynamic, "dynamic_energy_j") <=
               value(latency, "dynamic_energy_j") * (1 + rounding));
    // Nothing is switched off: leakage is power times time.
    BOOST_TEST(value(leak, "leak_energy_j") == value(latency, "leak_energy_j"),
               boost::test_tools::tolerance(rounding));
    BOOST_TEST(value(leak, "latency_s") == value(latency, "latency_s"),
               boost::test_tools::tolerance(rounding));
    BOOST_TEST(dynamic.json()["bound"]["dynamic_energy_j"].get<double>() ==
                   value(dynamic, "dynamic_energy_j"),
               boost::test_tools::tolerance(rounding));
    // Of two parts, each has its least at its end of the Pareto set.
    const Outcome both = map("dynamic_energy,leak_energy");
    const std::size_t last = both.json()["mappings"].size() - 1;
    BOOST_TEST(value(both, "dynamic_energy_j") == value(dynamic, "dynamic_energy_j"),
               boost::test_tools::tolerance(rounding));
    BOOST_TEST(value(both, "leak_energy_j", last) == value(leak, "leak_energy_j"),
               boost::test_tools::tolerance(rounding));
}

BOOST_AUTO_TEST_CASE(without_leakage_the_dynamic_energy_is_the_energy) {
    Args still;
    for (const char* name :
         {"GlobalBuffer", "InputScratchpad", "WeightScratchpad", "OutputScratchpad", "MAC"}) {
        still = joined(still, {"--set", std::string("arch.") + name + ".leak_power=0"});
    }
    BOOST_TEST(value(map("dynamic_energy", still), "dynamic_energy_j") ==
                   value(map("energy", still), "energy_j"),
               boost::test_tools::tolerance(rounding));
}

BOOST_AUTO_TEST_CASE(parts_of_the_energy_are_columns_and_metrics_of_strategies) {
    const Outcome sweep =
        invoke({"sweep", "-a", "eyeriss", "-w", "matmuls", "-D", "M=8", "-D", "KN=8,16", "--metric",
                "leak_energy", "--json", "-q", "--threads", "1"});
    BOOST_REQUIRE_MESSAGE(sweep.code == 0, sweep.err);
    const auto points = sweep.json()["points"];
    BOOST_TEST(points[0]["leak_energy_j"].get<double>() < points[1]["leak_energy_j"].get<double>());
    BOOST_TEST(
        points[0]["energy_j"].get<double>() ==
            points[0]["leak_energy_j"].get<double>() + points[0]["dynamic_energy_j"].get<double>(),
        boost::test_tools::tolerance(rounding));
    const Outcome found =
        map("dynamic_energy", {"--mapper", "annealing", "--max-evals", "2000", "--seed", "1"});
    BOOST_REQUIRE_MESSAGE(found.code == 0, found.err);
    BOOST_TEST(found.json()["mappings"][0]["dynamic_energy_j"].get<double>() >=
               value(map("dynamic_energy"), "dynamic_energy_j") * (1 - rounding));
    BOOST_TEST(map("edp,dynamic_energy").code == 2);
    BOOST_TEST(map("energy,latency,leak_energy").code == 2);
}

BOOST_AUTO_TEST_CASE(the_usage_of_a_memory_goes_with_other_metrics_or_alone) {
    const Outcome front = chain("energy,resource_usage:GlobalBuffer");
    BOOST_REQUIRE_MESSAGE(front.code == 0, front.err);
    BOOST_TEST(front.json()["metric"] == "energy,resource_usage:GlobalBuffer");
    BOOST_TEST(front.json()["gap"] == 0);
    BOOST_TEST(front.json()["bound"].empty());
    const Json mappings = front.json()["mappings"];
    BOOST_TEST_REQUIRE(mappings.size() > 1u);
    const auto used = [](const Json& mapping) {
        return mapping["peak_occupancy"].value("GlobalBuffer", 0.0);
    };
    BOOST_TEST(used(mappings.front()) > used(mappings.back()));
    BOOST_TEST(mappings.front()["energy_j"].get<double>() == value(chain("energy"), "energy_j"),
               boost::test_tools::tolerance(rounding));
    const Outcome alone = chain("resource_usage:GlobalBuffer");
    BOOST_REQUIRE_MESSAGE(alone.code == 0, alone.err);
    BOOST_TEST(alone.json()["metric"] == "resource_usage:GlobalBuffer");
    BOOST_TEST(alone.json()["mappings"].size() == 1u);
    BOOST_TEST(used(alone.json()["mappings"][0]) == used(mappings.back()));
    const Outcome told = invoke({"map", "-a", "simba", "-w", "matmuls", "-D", "M=8", "-D", "KN=8",
                                 "-q", "--metric", "resource_usage:GlobalBuffer,edp"});
    BOOST_TEST(told.prints("usage of GlobalBuffer"), told.out);
    BOOST_TEST(told.prints("Complete Pareto set for edp,resource_usage:GlobalBuffer"), told.out);
}

BOOST_AUTO_TEST_CASE(the_usage_of_a_memory_is_refused_where_it_means_nothing) {
    BOOST_TEST(map("energy,resource_usage:Nothing").says("no memory of limited size"));
    BOOST_TEST(map("energy,resource_usage:GlobalBuffer", {"--gap", "0.1"}).says("--gap"));
    BOOST_TEST(map("energy,latency,traffic,resource_usage:GlobalBuffer").says("at most two"));
    for (const char* command : {"sweep", "compare"}) {
        const Outcome refused = invoke(
            {command, "-a", "eyeriss", "-w", "matmuls", "--metric", "resource_usage:GlobalBuffer"});
        BOOST_TEST(refused.code == 2);
        BOOST_TEST(refused.says("tessera map alone"), refused.err);
    }
}

// Each mapping of a set is a file that AccelForge reads, or has one beside it.
BOOST_AUTO_TEST_CASE(every_mapping_of_a_set_is_written_for_accelforge) {
    const Folder folder;
    const Outcome set = chain("energy,resource_usage:GlobalBuffer", {"-o", folder.at("run")});
    BOOST_REQUIRE_MESSAGE(set.code == 0, set.err);
    const std::size_t n = set.json()["mappings"].size();
    BOOST_TEST_REQUIRE(n > 1u);
    for (std::size_t i = 1; i <= n; ++i) {
        const std::string name = i == 1 ? "run/mapping" : "run/mapping-" + std::to_string(i);
        const std::string yaml = folder.read(name + ".yaml");
        BOOST_TEST(!yaml.empty());
        const bool has = folder.has(name + ".accelforge.yaml");
        BOOST_TEST((has || yaml.find("einsums:") == std::string::npos), yaml);
    }
    BOOST_TEST(!folder.has("run/mapping-" + std::to_string(n + 1) + ".yaml"));
}
