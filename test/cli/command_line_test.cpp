// Help, version and what happens to wrong command lines.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "cli/commands.hpp"
#include "cli/session.hpp"

using namespace tessera::cli_test;
using tessera::cli::command_table;

namespace {

void wrong(const std::vector<std::string>& args, const std::string& message) {
    const Outcome outcome = invoke(args);
    BOOST_TEST(outcome.code == 2);
    BOOST_TEST(outcome.out == "");
    BOOST_TEST(outcome.says(message), outcome.err);
    BOOST_TEST(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(help_begins_with_usage_a_sentence_and_two_examples) {
    const std::string examples = "Examples:\n  tessera ";
    const auto check_examples = [&](const std::string& text) {
        const std::size_t at = text.find(examples);
        BOOST_REQUIRE(at != std::string::npos);
        const std::size_t second = text.find('\n', at + examples.size()) + 1;
        BOOST_TEST(text.substr(second, 10) == "  tessera ");
        return at;
    };
    BOOST_TEST(check_examples(invoke({"--help"}).out) == 0U);
    for (const auto& command : command_table()) {
        BOOST_TEST_CONTEXT(command.name) {
            const Outcome outcome = invoke({command.name, "--help"});
            BOOST_TEST(outcome.code == 0);
            BOOST_TEST(outcome.err == "");
            BOOST_TEST(outcome.out.starts_with("Usage: tessera " + std::string(command.name)));
            const std::size_t sentence = outcome.out.find("\n\n") + 2;
            const std::size_t end = outcome.out.find("\n\n", sentence);
            BOOST_TEST(outcome.out[end - 1] == '.');
            BOOST_TEST(outcome.out.find('\n', sentence) == end);
            check_examples(outcome.out);
        }
    }
    BOOST_TEST(invoke({"model", "-h"}).out == invoke({"model", "--help"}).out);
}

// A command that has many options shows the common ones; --help-all has every one.
BOOST_AUTO_TEST_CASE(help_has_common_options_and_help_all_has_all) {
    const std::string common = invoke({"map", "--help"}).out;
    const std::string all = invoke({"map", "--help-all"}).out;
    for (const char* option :
         {"--arch ] ARCH", "--metric METRIC", "--max-time ", "--output ] DIR"}) {
        BOOST_TEST(common.find(option) != std::string::npos, option);
    }
    for (const char* option : {"--imperfect-temporal", "--compat MODEL", "--einsum-orders"}) {
        BOOST_TEST(common.find(option) == std::string::npos, option);
    }
    BOOST_TEST(common.find("more options: tessera map --help-all\n") != std::string::npos);
    BOOST_TEST(std::count(common.begin(), common.end(), '\n') < 50);
    for (const auto& command : command_table()) {
        const std::string text = invoke({command.name, "--help-all"}).out;
        const auto own = command.text();
        for (const auto& option : own.options.options()) {
            BOOST_TEST(text.find("--" + option.name) != std::string::npos,
                       command.name << " " << option.name);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_version_is_printed) {
    const std::string begin = std::string("tessera ") + tessera::cli::version;
    const std::string without = invoke({"--version"}).out;
    BOOST_TEST((without.starts_with(begin + " (g++ ") || without.starts_with(begin + " (clang++ ")),
               without);
    BOOST_TEST(without.ends_with(")\n"));
    tessera::cli::set_commit("0123456789ab");
    const std::string with = invoke({"--version"}).out;
    tessera::cli::set_commit("");
    BOOST_TEST(with.starts_with(begin + " (commit 0123456789ab, "), with);
}

BOOST_AUTO_TEST_CASE(help_on_a_command_is_that_of_the_command) {
    BOOST_TEST(invoke({"help", "map"}).out == invoke({"map", "--help"}).out);
    BOOST_TEST(invoke({"help", "map"}).code == 0);
    wrong({"help", "mapp"}, "did you mean 'map'?");
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
    wrong(with("--overlap", "some"), "overlap");
    wrong({"map", "-a", "simple", "-w", "matmuls", "--mapper", "random", "--overlap", "pipeline"},
          "--overlap belongs to --mapper ffm; mapper search");
    wrong({"map", "-a", "simple", "-w", "matmuls", "--metric", "energy", "--overlap", "pipeline"},
          "minimises latency or edp");
    wrong(with("--max-fused-loops", "-1"), "a whole number or 'unlimited'");
    wrong(with("--max-fused-loops", "unlimted"), "did you mean 'unlimited'?");
    wrong(with("--max-fused-loops-per-rank-variable", "1.5"), "a whole number");
    wrong(with("--max-time", "3"), "500ms, 3s, 2m or 1h");
    wrong(with("--max-time", "-3s"), "a positive time");
    wrong(with("--max-time", "3days"), "a positive time");
    wrong(with("--max-memory", "20"), "a positive size with its unit");
    wrong(with("--threads", "two"), "a whole number from 0");
    wrong(with("--seed", "-1"), "a whole number from 0");
    wrong(with("--mapper", "fm"), "--mapper: unknown mapper 'fm'");
    wrong(with("--strategy", "randm"), "--strategy: unknown search strategy 'randm'");
    wrong(with("--mapper", "unfused"),
          "'unfused' is a baseline of a paper, and is called 'transfusion:unfused'");
    wrong(with("--mapper", ""), "--mapper: unknown mapper ''");
    wrong(with("--model", "looptre"),
          "--model: unknown cost model 'looptre'; did you mean 'looptree'?");
    wrong(with("-D", "N_EINSUMS"), "NAME=VALUE");
    wrong(with("-D", "N_EINSUM=2"), "did you mean 'N_EINSUMS'?");
    wrong(with("-a", "smple"), "'--arch' is given twice");
}

BOOST_AUTO_TEST_CASE(files_at_the_wrong_option_are_named) {
    wrong({"map", "-a", "matmuls", "-w", "simple"},
          "'matmuls' is a name in problem-shapes/, so it belongs to -w, not to -a; are the two "
          "swapped?");
    wrong({"check", "-w", "simple"},
          "'simple' is a name in arch-specs/, so it belongs to -a, not to -w");
    const Folder folder;
    const std::string arch = folder.file("a.yaml", small_arch);
    const std::string workload = folder.file("w.yaml", small_workload);
    const std::string mapping = folder.file("m.yaml", fused_mapping);
    wrong({"map", "-a", workload, "-w", arch},
          "w.yaml: this file has no 'arch:' but 'workload:', so it belongs to -w, not to --arch");
    wrong({"model", "-a", arch, "-w", mapping, "-m", workload},
          "m.yaml: this file has no 'workload:' but 'mapping:', so it belongs to -m");
}

namespace {

/// The end of a pipe from which a text comes once.
std::string piped(const std::string& text) {
    int ends[2];
    BOOST_REQUIRE_EQUAL(::pipe(ends), 0);
    BOOST_REQUIRE_EQUAL(::write(ends[1], text.data(), text.size()),
                        static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
    return "/dev/fd/" + std::to_string(ends[0]);
}

}  // namespace

BOOST_AUTO_TEST_CASE(pipes_are_files) {
    const Outcome apart = invoke({"check", "-a", piped(small_arch), "-w", piped(small_workload),
                                  "-m", piped(fused_mapping)});
    BOOST_TEST(apart.code == 0, apart.err);
    BOOST_TEST(apart.prints("the mapping fits"), apart.out);
    const std::string both = piped(std::string(small_arch) + small_workload);
    const Outcome joined = invoke({"map", "-q", "-a", both, "-w", both});
    BOOST_TEST(joined.code == 0, joined.err);
    wrong({"check", "-a", "/dev/zero"}, "more than 256 MiB come out of it");
}

BOOST_AUTO_TEST_CASE(what_is_in_order_is_told_as_json) {
    const Folder folder;
    const std::string arch = folder.file("a.yaml", small_arch);
    const std::string workload = folder.file("w.yaml", small_workload);
    const std::string mapping = folder.file("m.yaml", fused_mapping);
    const std::vector<std::string> files = {"-a", arch, "-w", workload, "-m", mapping, "--json"};
    const auto run = [&](std::vector<std::string> args) {
        args.insert(args.end(), files.begin(), files.end());
        return invoke(args);
    };
    const Json checked = run({"check"}).json();
    BOOST_TEST(checked["status"] == "ok");
    BOOST_TEST(checked["workload"]["einsums"].size() == 2u);
    BOOST_TEST(checked["workload"]["einsums"][0]["computes"].size() == 1u);
    BOOST_TEST(checked["mapping"]["einsums"] == 2);
    const Outcome legal = run({"explain"});
    BOOST_TEST(legal.code == 0);
    BOOST_TEST(legal.json()["status"] == "legal");
    BOOST_TEST(legal.json()["violations"].empty());
    std::string smaller = small_arch;
    const std::size_t size = smaller.rfind("size: ");
    smaller.replace(size, smaller.find('\n', size) - size, "size: 1");
    folder.file("a.yaml", smaller);
    const Outcome illegal = run({"explain"});
    BOOST_TEST(illegal.code == 1);
    BOOST_TEST(illegal.json()["status"] == "illegal", illegal.out);
    BOOST_TEST(illegal.json()["violations"][0]["rule"] == "capacity");
    BOOST_TEST(illegal.json()["violations"][0]["severity"] == "impossible");
}

BOOST_AUTO_TEST_CASE(an_architecture_alone_is_checked_as_a_search_checks_it) {
    const Folder folder;
    const std::string whole = small_arch;
    BOOST_TEST(invoke({"check", "-a", folder.file("whole.yaml", whole)}).code == 0);
    const auto refused = [&](const std::string& text, const std::string& by,
                             const std::string& message) {
        std::string changed = whole;
        BOOST_REQUIRE(changed.find(text) != std::string::npos);
        changed.replace(changed.find(text), text.size(), by);
        const std::string file = folder.file("changed.yaml", changed);
        const Outcome alone = invoke({"check", "-a", file});
        const Outcome mapped =
            invoke({"map", "-a", file, "-w", folder.file("w.yaml", small_workload), "-q"});
        BOOST_TEST(alone.code == 2, by);
        BOOST_TEST(alone.says(message), alone.err);
        BOOST_TEST(mapped.code == 2, by);
        BOOST_TEST(mapped.says(message), mapped.err);
    };
    refused("energy: 10", "energy_scale: 10", "the energy (J) of action");
    refused("size: 4096", "size: 1 / 0", "size");
    refused("size: 4096", "size: 0 - 5", "size");
    refused("size: 4096", "size: 4096\n    banks: 5", "does not consist of 5 equal banks");
    // What a workload has to say does not count against it.
    std::string sets = whole;
    sets.replace(sets.find("size: 4096"), 10, "size: 1e9 * len(All)");
    BOOST_TEST(invoke({"check", "-a", folder.file("sets.yaml", sets)}).code == 0);
}

BOOST_AUTO_TEST_CASE(counts_agree_with_their_nouns) {
    const Outcome checked = invoke({"check", "-w", "matmuls", "-D", "N_EINSUMS=1"});
    BOOST_TEST(checked.prints(": 1 Einsum, 3 tensors, 3 rank variables"), checked.out);
    const Outcome mapped = invoke(
        {"map", "-a", "simple", "-w", "matmuls", "-D", "N_EINSUMS=1", "-q", "--threads", "1"});
    BOOST_TEST(mapped.prints(" CPU, 1 thread, "), mapped.out);
}

BOOST_AUTO_TEST_CASE(the_limit_that_ended_a_search_is_named) {
    const Outcome stopped = invoke(
        {"map", "-a", "simple", "-w", "matmuls", "-q", "--mapper", "random", "--max-evals", "20"});
    BOOST_TEST(stopped.prints("Not proven optimal: --max-evals stopped the search."), stopped.out);
}

BOOST_AUTO_TEST_CASE(names_of_data_are_looked_up) {
    wrong({"check", "-a", "smple"}, "did you mean 'simple'?");
    wrong({"check", "-w", "no/such/file.yaml"}, "problem-shapes/");
    wrong({"check", "-m", "no/such/file.yaml"}, "no/such/file.yaml");
}
