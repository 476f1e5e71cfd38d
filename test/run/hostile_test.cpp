// Folders, files and names that somebody else made, disks that are full, folders that vanish.
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "run/process.hpp"
#include "support/paths.hpp"

using namespace tessera::run_test;
using Json = nlohmann::ordered_json;

namespace {

const Args small = {"map", "-a", "simba", "-w", "matmuls", "-D", "N_EINSUMS=2", "-q"};
const Args endless = joined(small, {"--mapper", "random", "--max-time", "100s"});

/// What a terminal obeys, line ends and tabs left out.
bool is_obedient(const std::string& text) {
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
    });
}

std::string architecture(const std::string& memory) {
    return R"(arch:
  units: arbitrary
  nodes:
  - !Memory
    name: ")" +
           memory + R"("
    size: inf
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
    tensors: {keep: All}
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 1, throughput: inf}]
)";
}

/// A search in `run` that has found something; its stdout and stderr are files.
std::unique_ptr<Process> begun(const Folder& folder, const std::string& run) {
    auto search =
        std::make_unique<Process>(folder.path(), joined(endless, {"-o", (folder / run).string()}));
    BOOST_REQUIRE(eventually([&] { return fs::exists(folder / run / "mapping.yaml"); }));
    return search;
}

/// Removes a folder in which a run still writes: what comes meanwhile goes with the next attempt.
void remove_in_use(const fs::path& folder) {
    std::error_code busy;
    BOOST_REQUIRE(eventually([&] {
        fs::remove_all(folder, busy);
        return !busy;
    }));
}

/// The mapping that is printed on stderr is one that `model` takes.
void is_mapping(const Folder& folder, const std::string& err) {
    const std::size_t at = err.find("mapping:\n");
    BOOST_REQUIRE(at != std::string::npos);
    std::ofstream(folder / "rescued.yaml") << err.substr(at);
    Process model(folder.path(), {"model", "-a", "simba", "-w", "matmuls", "-D", "N_EINSUMS=2",
                                  "-m", (folder / "rescued.yaml").string()});
    BOOST_TEST(model.wait() == 0, model.err());
}

/// The program where no file may grow beyond a size; what it prints goes through a pipe.
struct Limited {
    Limited(const Folder& folder, const Args& args, int bytes) {
        std::string line = "{ prlimit --fsize=" + std::to_string(bytes) + " " + program();
        for (const std::string& arg : args) {
            line += " '" + arg + "'";
        }
        line += "; echo $? >" + (folder / "code").string() + "; } 2>&1 | cat";
        Process::How how;
        how.instead = [&] {
            return ::execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
        };
        Process process(folder.path(), {}, how);
        process.wait();
        code = std::atoi(read(folder / "code").c_str());
        text = process.out();
    }
    bool says(const std::string& part) const {
        return text.find(part) != std::string::npos;
    }
    int code = 0;
    std::string text;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(hostile)

BOOST_AUTO_TEST_CASE(a_result_whose_folder_was_removed_is_printed) {
    const Folder folder;
    const auto search = begun(folder, "run");
    remove_in_use(folder / "run");
    search->signal(SIGINT);
    BOOST_TEST(search->wait() == 2);
    BOOST_TEST(search->out().find("Not proven optimal") != std::string::npos, search->out());
    BOOST_TEST(search->says("its folder was removed"), search->err());
    BOOST_TEST(!fs::exists(folder / "run"));
    is_mapping(folder, search->err());
}

BOOST_AUTO_TEST_CASE(a_result_on_a_full_disk_is_printed_and_what_fits_is_kept) {
    const Folder folder;
    const std::string run = (folder / "run").string();
    const Limited limited(folder, joined(small, {"-o", run}), 5000);
    BOOST_TEST(limited.code == 2);
    BOOST_TEST(limited.says("Proven optimal"), limited.text);
    BOOST_TEST(limited.says("looptree.svg: cannot be written: File too large"), limited.text);
    BOOST_TEST(limited.says("the result is on stdout"), limited.text);
    BOOST_TEST(limited.says("with --resume"), limited.text);
    BOOST_TEST(fs::exists(folder / "run" / "mapping.yaml"));
    Process again(folder.path(), {"map", "--resume", "-q", "-o", run});
    BOOST_TEST(again.wait() == 0, again.err());
    BOOST_TEST(fs::exists(folder / "run" / "looptree.svg"));
    BOOST_TEST(!fs::exists(folder / "run" / "checkpoint.json"));
}

BOOST_AUTO_TEST_CASE(a_disk_without_any_room_is_told_before_the_search) {
    const Folder folder;
    const std::string run = (folder / "run").string();
    const Limited limited(folder, joined(small, {"-o", run}), 1);
    BOOST_TEST(limited.code == 2);
    BOOST_TEST(limited.says("run.json: cannot be written: File too large"), limited.text);
    BOOST_TEST(!fs::exists(run));
}

BOOST_AUTO_TEST_CASE(a_run_that_is_moved_does_not_write_into_the_next) {
    const Folder folder;
    const auto search = begun(folder, "a");
    fs::rename(folder / "a", folder / "b");
    Process second(folder.path(), joined(small, {"-o", (folder / "a").string(), "--json"}));
    BOOST_REQUIRE_EQUAL(second.wait(), 0);
    const std::string result = read(folder / "a" / "result.json");
    const std::string description = read(folder / "a" / "run.json");
    search->signal(SIGINT);
    BOOST_TEST(search->wait() == 130);
    BOOST_TEST(read(folder / "a" / "result.json") == result);
    BOOST_TEST(read(folder / "a" / "run.json") == description);
    BOOST_TEST(Json::parse(read(folder / "b" / "result.json"))["status"] == "feasible");
}

BOOST_AUTO_TEST_CASE(losers_of_a_race_for_a_folder_are_told_what_happened) {
    const Folder folder;
    const std::string run = (folder / "run").string();
    for (int round = 0; round < 3; ++round) {
        std::vector<std::unique_ptr<Folder>> logs;
        std::vector<std::unique_ptr<Process>> all;
        for (int i = 0; i < 6; ++i) {
            logs.push_back(std::make_unique<Folder>());
            all.push_back(std::make_unique<Process>(
                logs.back()->path(),
                joined(joined(small, {"--mapper", "random", "--max-time", "1s"}), {"-o", run})));
        }
        int winners = 0;
        for (const auto& process : all) {
            if (process->wait() == 0) {
                ++winners;
            } else {
                BOOST_TEST((process->says("is being written by another process") ||
                            process->says("was changed by another process") ||
                            process->says("replace it with --force")),
                           process->err());
            }
        }
        BOOST_TEST(winners == 1);
        fs::remove_all(run);
    }
}

BOOST_AUTO_TEST_CASE(planted_links_and_pipes_are_refused) {
    for (const char* name : {"events.jsonl", "status.json", "run.json", "mapping.yaml"}) {
        const Folder folder;
        const std::string run = (folder / "run").string();
        Process first(folder.path(), joined(small, {"-o", run}));
        BOOST_REQUIRE_EQUAL(first.wait(), 0);
        std::ofstream(folder / "precious") << "precious";
        for (const bool pipe : {true, false}) {
            fs::remove(folder / "run" / name);
            if (pipe) {
                BOOST_REQUIRE(::mkfifo((folder / "run" / name).c_str(), 0666) == 0);
            } else {
                fs::create_symlink(folder / "precious", folder / "run" / name);
            }
            for (const char* how : {"--force", "--resume", "--skip-if-exists"}) {
                Process again(folder.path(), joined(small, {"-o", run, how}));
                BOOST_TEST(again.wait(20) == 2, name << how << again.err());
            }
            Process viewer(folder.path(), {"top", "--once", run});
            BOOST_TEST(viewer.wait(20) == (std::string(name) == "status.json" ? 2 : 0), name);
            Process rerun(folder.path(), {"rerun", run, "-q"});
            BOOST_TEST(rerun.wait(20) == (std::string(name) == "run.json" ? 2 : 0), name);
            BOOST_TEST(read(folder / "precious") == "precious");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_folder_names_no_code_that_is_loaded) {
    const Folder folder;
    const std::string run = (folder / "run").string();
    Process first(folder.path(), joined(small, {"-o", run}));
    BOOST_REQUIRE_EQUAL(first.wait(), 0);
    Json json = Json::parse(read(folder / "run" / "run.json"));
    const std::string plugin = (folder / "it's evil.so").string();
    std::ofstream(plugin) << "no shared object";
    json["command"].push_back("--plugin");
    json["command"].push_back(plugin);
    std::ofstream(folder / "run" / "run.json") << json.dump();
    fs::remove(folder / "run" / "result.json");
    for (const Args& command : {Args{"map", "--resume", "-q", "-o", run}, Args{"rerun", run}}) {
        Process opened(folder.path(), command);
        BOOST_TEST(opened.wait() == 2);
        BOOST_TEST(!opened.says("cannot load"), opened.err());
        BOOST_TEST(opened.says("name them yourself"), opened.err());
        BOOST_TEST(opened.says("--plugin '" + (folder / "it'\\''s evil.so").string() + "'"),
                   opened.err());
        // Named by the user, it is looked at.
        Process named(folder.path(), joined(command, {"--plugin", plugin}));
        BOOST_TEST(named.wait() == 3);
    }
}

BOOST_AUTO_TEST_CASE(run_descriptions_of_any_form_are_refused) {
    const Folder folder;
    fs::create_directory(folder / "run");
    const std::string start = R"({"tessera_version": "0.1.0", "command": ["tessera", "map"])";
    for (const std::string& text :
         {std::string("{"), std::string("[]"), start + "}", start + R"(, "inputs": [3]})",
          start + R"(, "inputs": [{"role": {"bytes": "00"}, "path": "", "sha256": ""}]})",
          start + R"(, "inputs": [], "plugins": [{"kind": 1}]})",
          start + R"(, "inputs": [], "options": 3})",
          std::string(R"({"tessera_version": 1, "command": ["tessera", {}], "inputs": []})"),
          std::string(R"({"tessera_version": "\u001b]0;T\u0007", "command": ["tessera", "map",)") +
              R"("-a", "simba", "-w", "matmuls"], "inputs": []})"}) {
        std::ofstream(folder / "run" / "run.json") << text;
        for (const Args& command : {Args{"rerun", (folder / "run").string(), "-a", "simba", "-w",
                                         "matmuls", "-o", (folder / "other").string(), "-q"},
                                    joined(small, {"--resume", "-o", (folder / "run").string()})}) {
            Process opened(folder.path(), command);
            const int code = opened.wait();
            BOOST_TEST((code == 2 || code == 0), text << opened.err());
            BOOST_TEST(!is_obedient(opened.err()), opened.err());
            fs::remove_all(folder / "other");
        }
    }
}

BOOST_AUTO_TEST_CASE(names_do_not_steer_the_terminal) {
    const Folder folder;
    const std::string escape = "\x1b]0;T\x07\n- d: #c";
    std::ofstream(folder / "arch.yaml") << architecture("Main\\e]0;T\\a\\n- d: #c");
    std::ofstream(folder / "workload.yaml") << "workload:\n  einsums:\n"
                                               "  - {name: \"E\\e]0;T\\a\", tensor_accesses: []}\n";
    std::ofstream(folder / ("a" + escape.substr(0, 6) + ".yaml")) << "arch: 3\n";
    const std::string arch = (folder / "arch.yaml").string();
    const std::string run = (folder / ("run" + escape.substr(0, 6))).string();
    const std::vector<Args> commands = {
        {"map", "-a", arch, "-w", "matmuls", "--metric", "energy", "-o", run},
        {"map", "-a", arch, "-w", "matmuls", "--metric", "energy", "--json"},
        {"map", "-a", arch, "-w", "matmuls", "--metric", "energy", "--plain"},
        {"model", "-a", arch, "-w", "matmuls", "-m", run + "/mapping.yaml"},
        {"explain", "-a", arch, "-w", "matmuls", "-m", run + "/mapping.yaml"},
        {"top", "--once", run},
        {"check", "-w", (folder / "workload.yaml").string()},
        {"check", "-a", (folder / ("a" + escape.substr(0, 6) + ".yaml")).string()},
        {"check", "-a", "no" + escape},
        {"map", "-a", "simba", "-w", "matmuls", "-D", "X" + escape + "=1"},
        {"map", "-a", "simba", "-w", "matmuls", "--mapper", escape},
        {"map", "-a", "simba", "-w", "matmuls", "--" + escape},
        {"map", "-a", "simba", "-w", "matmuls", "--plugin", escape},
        {escape},
        {"top", escape},
        {"rerun", escape}};
    for (const Args& command : commands) {
        Process process(folder.path(), command);
        const int code = process.wait();
        BOOST_TEST((code >= 0 && code <= 3), command[0] << process.err());
        BOOST_TEST(!is_obedient(process.out()), process.out());
        BOOST_TEST(!is_obedient(process.err()), process.err());
        BOOST_TEST(!process.says("\n- d"), process.err());
    }
    // What was written is whole, too.
    const std::string yaml = read(fs::path(run) / "mapping.yaml");
    BOOST_TEST(yaml.find("Main\\u001B]0;T\\u0007\\u000A- d: #c") != std::string::npos, yaml);
    BOOST_TEST(!is_obedient(read(fs::path(run) / "looptree.svg")));
}

BOOST_AUTO_TEST_CASE(paths_that_are_no_utf8_work) {
    const Folder folder;
    const fs::path odd = folder / "caf\xe9";
    fs::create_directory(odd);
    fs::copy_file(fs::path(tessera::test::test_folder()).parent_path() / "arch-specs/simba.yaml",
                  odd / "a.yaml");
    const Args map = {"map", "-a", (odd / "a.yaml").string(), "-w", "matmuls", "-q"};
    for (const char* json : {"--json", "--plain"}) {
        const std::string run = (odd / (std::string("run") + json)).string();
        Process victim(folder.path(), joined(map, {"-o", run, json, "--mapper", "random",
                                                   "--max-evals", "100000000"}));
        BOOST_REQUIRE(eventually([&] { return fs::exists(fs::path(run) / "mapping.yaml"); }));
        victim.signal(SIGKILL);
        victim.wait();
        Process again(folder.path(), {"map", "--resume", "-o", run, "-q", "--max-evals", "1000"});
        BOOST_TEST(again.wait() == 0, again.err());
        Process rerun(folder.path(), {"rerun", run, "-q", "--max-evals", "1000"});
        BOOST_TEST(rerun.wait() == 0, rerun.err());
    }
    Process compare(folder.path(), {"compare", "-a", (odd / "a.yaml").string(), "-w", "matmuls",
                                    "-q", "--mapper", "ffm", "-o", (odd / "comparison").string()});
    BOOST_TEST(compare.wait() == 0, compare.err());
    std::ofstream(odd / "tessera-x.so") << "no shared object";
    Process::How how;
    how.environment = {"TESSERA_PLUGIN_PATH=" + odd.string(),
                       "TESSERA_PLUGIN_CACHE=" + (odd / "cache.json").string()};
    for (const Args& command : {Args{"plugins", "list", "--json"}, Args{"plugins", "list"}}) {
        Process list(folder.path(), command, how);
        BOOST_TEST(list.wait() == 0, list.err());
    }
}

BOOST_AUTO_TEST_CASE(a_refused_folder_leaves_nothing) {
    const Folder folder;
    const std::string missing = (folder / "missing/../x").string();
    Process refused(folder.path(), joined(small, {"-o", missing}));
    BOOST_TEST(refused.wait() == 2);
    BOOST_TEST(refused.says("missing, which does not exist"), refused.err());
    const Folder inputs;
    std::string small_memory = architecture("Main");
    small_memory.replace(small_memory.find("inf"), 3, "1");
    std::ofstream(inputs / "arch.yaml") << small_memory;
    Process nothing(folder.path(), {"map", "-a", (inputs / "arch.yaml").string(), "-w", "matmuls",
                                    "-q", "-o", (folder / "deep/run").string()});
    BOOST_TEST(nothing.wait() == 1, nothing.err());
    BOOST_TEST(names_in(folder.path()) == (std::vector<std::string>{"err", "out"}));
}

BOOST_AUTO_TEST_CASE(a_killed_comparison_is_not_told_to_resume) {
    const Folder folder;
    const Args comparison = {
        "compare", "-a",       "simba",  "-w", "matmuls",
        "-q",      "--mapper", "random", "-o", (folder / "comparison").string()};
    Process victim(folder.path(), comparison);
    BOOST_REQUIRE(eventually([&] { return fs::exists(folder / "comparison" / "run.json"); }));
    victim.signal(SIGKILL);
    victim.wait();
    for (const Args& command :
         {comparison, joined(small, {"-o", (folder / "comparison").string()})}) {
        Process again(folder.path(), command);
        BOOST_TEST(again.wait() == 2);
        BOOST_TEST(!again.says("--resume"), again.err());
        BOOST_TEST(again.says("--force"), again.err());
    }
}

BOOST_AUTO_TEST_SUITE_END()
