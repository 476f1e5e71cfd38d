// Help, version and what happens to wrong command lines.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

void wrong(const std::vector<std::string>& args, const std::string& message) {
    const Outcome outcome = invoke(args);
    BOOST_TEST(outcome.code == 2);
    BOOST_TEST(outcome.out == "");
    BOOST_TEST(outcome.says(message), outcome.err);
    BOOST_TEST(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(help_begins_with_two_examples) {
    const std::vector<std::vector<std::string>> all = {
        {"--help"}, {"map", "--help"}, {"model", "-h"}, {"check", "--help"}, {"explain", "--help"}};
    for (const auto& args : all) {
        const Outcome outcome = invoke(args);
        BOOST_TEST(outcome.code == 0);
        BOOST_TEST(outcome.err == "");
        BOOST_TEST(outcome.out.rfind("Examples:\n  tessera ", 0) == 0U);
        const std::size_t second = outcome.out.find('\n', 10) + 1;
        BOOST_TEST(outcome.out.substr(second, 10) == "  tessera ");
    }
}

BOOST_AUTO_TEST_CASE(the_version_is_printed) {
    BOOST_TEST(invoke({"--version"}).out == std::string("tessera ") + tessera::cli::version + "\n");
}

BOOST_AUTO_TEST_CASE(without_a_command_the_help_goes_to_stderr) {
    const Outcome outcome = invoke({});
    BOOST_TEST(outcome.code == 2);
    BOOST_TEST(outcome.out == "");
    BOOST_TEST(outcome.says("Commands:"));
}

BOOST_AUTO_TEST_CASE(unknown_commands_and_options_name_the_nearest) {
    wrong({"mapp"}, "did you mean 'map'?");
    wrong({"map", "--metrc", "edp"}, "unknown option '--metrc'; did you mean '--metric'?");
    wrong({"model", "--jsn"}, "did you mean '--json'?");
}

BOOST_AUTO_TEST_CASE(options_are_not_abbreviated) {
    wrong({"map", "--met", "edp"}, "unknown option '--met'");
}

BOOST_AUTO_TEST_CASE(files_are_given_by_options) {
    wrong({"check", "arch.yaml"}, "takes only options");
}

BOOST_AUTO_TEST_CASE(missing_options_and_values_are_named) {
    wrong({"map", "-w", "matmuls"}, "'--arch' (the architecture) is missing");
    wrong({"model", "-a", "simple", "-w", "matmuls"}, "'--mapping' (the mapping) is missing");
    wrong({"map", "-a"}, "'--arch' lacks its value");
    wrong({"map", "-a", "simple", "-a", "simple"}, "'--arch' is given twice");
    wrong({"check"}, "nothing to check");
}

BOOST_AUTO_TEST_CASE(values_of_options_are_checked) {
    const std::vector<std::string> start = {"map", "-a", "simple", "-w", "matmuls"};
    const auto with = [&](const std::string& option, const std::string& value) {
        std::vector<std::string> args = start;
        args.push_back(option);
        args.push_back(value);
        return args;
    };
    wrong(with("--metric", "enrgy"), "did you mean 'energy'?");
    wrong(with("--metric", "edp,energy"), "edp alone");
    wrong(with("--metric", "energy,energy"), "each metric once");
    wrong(with("--metric", ""), "--metric");
    wrong(with("--metric", "energy,"), "--metric");
    wrong(with("--mapspace", "acelforge"), "did you mean 'accelforge'?");
    wrong(with("--compat", "timeloop"), "one of none, accelforge");
    wrong(with("--max-fused-loops", "-1"), "a whole number or 'unlimited'");
    wrong(with("--max-fused-loops", "unlimted"), "did you mean 'unlimited'?");
    wrong(with("--max-fused-loops-per-rank-variable", "1.5"), "a whole number");
    wrong(with("--max-time", "3"), "500ms, 3s, 2m or 1h");
    wrong(with("--max-time", "-3s"), "a positive time");
    wrong(with("--max-time", "3days"), "a positive time");
    wrong(with("--threads", "two"), "a whole number from 0");
    wrong(with("--seed", "-1"), "a whole number from 0");
    wrong(with("--mapper", "fm"), "unknown mapper 'fm'");
    wrong(with("--model", "looptre"), "did you mean 'looptree'?");
    wrong(with("-D", "N_EINSUMS"), "NAME=VALUE");
    wrong(with("-D", "N_EINSUM=2"), "did you mean 'N_EINSUMS'?");
    wrong(with("-a", "smple"), "'--arch' is given twice");
}

BOOST_AUTO_TEST_CASE(names_of_data_are_looked_up) {
    wrong({"check", "-a", "smple"}, "did you mean 'simple'?");
    wrong({"check", "-w", "no/such/file.yaml"}, "problem-shapes/");
    wrong({"check", "-m", "no/such/file.yaml"}, "no/such/file.yaml");
}
