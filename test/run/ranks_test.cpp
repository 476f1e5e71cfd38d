// A sweep over the ranks of mpirun: the files are those of one process, whoever is killed.
#include <sys/resource.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>

#include "ranks/launch.hpp"
#include "run/process.hpp"

using namespace tessera::run_test;

namespace {

boost::test_tools::assertion_result mpirun_is_there(boost::unit_test::test_unit_id) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    bool found = false;
    for (std::string folder; std::getline(folders, folder, ':');) {
        found = found || ::access((folder + "/mpirun").c_str(), X_OK) == 0;
    }
    boost::test_tools::assertion_result result(
        found && fs::exists(fs::path(program()).parent_path() / "optional/mpi.so"));
    result.message() << "there is no mpirun, or the program was built without MPI";
    return result;
}

constexpr const char* arch = R"(arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 100, throughput: inf}, {name: write, energy: 100, throughput: inf}]
  - !Memory
    name: Buffer
    size: 4096
    leak_power: 0
    area: 0
    tensors: {keep: All}
    actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
)";
// The sizes are in a file of their own, which every rank needs, too.
constexpr const char* workload = R"(include: sizes.yaml
workload:
  rank_sizes: {M: ROWS, K: 64, N: 32}
  bits_per_value: {All: 1}
  einsums: ['Y[m, n] = X[m, k] * W[k, n]', 'Z[m] = Y[m, n]']
)";

struct Sweep {
    Folder folder;

    Sweep() {
        std::ofstream(folder / "arch.yaml") << arch;
        std::ofstream(folder / "workload.yaml") << workload;
        std::ofstream(folder / "sizes.yaml") << "variables: {ROWS: 16}\n";
    }
    Args command(const std::string& to, const Args& more) const {
        return joined(
            {"sweep", "-q", "-a", path("arch.yaml"), "-w", path("workload.yaml"), "-o", path(to)},
            more);
    }
    std::string path(const std::string& name) const {
        return (folder / name).string();
    }
    std::string file(const std::string& name) const {
        return read(folder / name);
    }
};

/// mpirun in place of the program; its ranks begin in these folders.
Process::How ranks(const std::vector<fs::path>& folders, const Args& args) {
    Process::How how;
    how.instead = [folders, args] {
        Args words = {"mpirun", "--allow-run-as-root", "--oversubscribe"};
        for (const fs::path& folder : folders) {
            words = joined(joined(words, {"-n", "1", "-wdir", folder.string(), program()}), args);
            words.push_back(":");
        }
        words.pop_back();
        std::vector<char*> argv;
        for (std::string& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        ::execvp(argv[0], argv.data());
        return 127;
    };
    return how;
}

std::vector<fs::path> three(const Sweep& sweep) {
    return {3, sweep.folder.path()};
}

/// Everything but what differs from one run to the next: clocks, and the order of ends.
void same_files(const Sweep& sweep, const std::string& a, const std::string& b) {
    const std::vector<std::string> names = names_in(sweep.folder / a);
    BOOST_TEST(names_in(sweep.folder / b) == names, boost::test_tools::per_element());
    for (const std::string& name : names) {
        if (name != "times.csv" && name != "points.jsonl" && name != "run.json") {
            BOOST_TEST((sweep.file(a + "/" + name) == sweep.file(b + "/" + name)), name);
        }
    }
}

/// Processes whose environment and command line hold these texts.
std::vector<pid_t> processes(const std::string& environment, const std::string& command) {
    std::vector<pid_t> found;
    for (const std::string& name : names_in("/proc")) {
        const auto has = [&](const char* file, const std::string& text) {
            return read("/proc/" + name + "/" + file).find(text) != std::string::npos;
        };
        if (name.find_first_not_of("0123456789") == std::string::npos && has("cmdline", command) &&
            has("environ", environment)) {
            found.push_back(static_cast<pid_t>(std::stol(name)));
        }
    }
    return found;
}

std::ptrdiff_t lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ranks_of_mpirun)

BOOST_AUTO_TEST_CASE(ranks_find_what_one_process_finds,
                     *boost::unit_test::precondition(mpirun_is_there)) {
    const Sweep sweep;
    fs::create_directory(sweep.folder / "elsewhere");
    const Args points = {"-D", "ROWS=8,16,32", "--set", "arch.Buffer.size=4096,-1"};
    Process one(sweep.folder.path(), sweep.command("one", points));
    BOOST_TEST(one.wait() == 4, one.err());  // there is no buffer of size -1
    BOOST_TEST(sweep.file("one/points.jsonl").find("failed") != std::string::npos);
    // The manager alone finds the files: the workers have them from its message.
    const fs::path elsewhere = sweep.folder / "elsewhere";
    Process many(
        sweep.folder.path(), {},
        ranks({sweep.folder.path(), elsewhere, elsewhere},
              joined({"sweep", "-q", "-a", "arch.yaml", "-w", "workload.yaml", "-o", "ranks"},
                     points)));
    BOOST_TEST(many.wait() == 4, many.err());
    BOOST_TEST(many.out().find("Written to ranks") != std::string::npos, many.out());
    BOOST_TEST(lines(sweep.file("ranks/points.jsonl")) == 6);
    BOOST_TEST(names_in(elsewhere).empty());
    same_files(sweep, "one", "ranks");
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_killed_loses_what_it_was_searching,
                     *boost::unit_test::precondition(mpirun_is_there)) {
    const Sweep sweep;
    const Args points = {"-D",          "ROWS=1:24", "--mapper", "random",
                         "--max-evals", "20000",     "--jobs",   "1"};
    Process one(sweep.folder.path(), sweep.command("one", points));
    BOOST_TEST(one.wait() == 0, one.err());
    Process many(sweep.folder.path(), {}, ranks(three(sweep), sweep.command("ranks", points)));
    BOOST_TEST(eventually([&] { return lines(sweep.file("ranks/points.jsonl")) >= 3; }));
    const std::vector<pid_t> workers = processes("OMPI_COMM_WORLD_RANK=1", sweep.path("ranks"));
    BOOST_TEST_REQUIRE(!workers.empty());
    ::kill(*std::min_element(workers.begin(), workers.end()), SIGKILL);  // not a child of it
    BOOST_TEST(many.wait() != 0);
    BOOST_TEST(eventually([&] { return processes("", sweep.path("ranks")).empty(); }, 10));
    const std::ptrdiff_t known = lines(sweep.file("ranks/points.jsonl"));
    BOOST_TEST(known >= 3);
    BOOST_TEST(known < 24);
    Process again(sweep.folder.path(), sweep.command("ranks", joined(points, {"--resume"})));
    BOOST_TEST(again.wait() == 0, again.err());
    BOOST_TEST(lines(sweep.file("ranks/points.jsonl")) == 24);
    same_files(sweep, "one", "ranks");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_told_once_and_every_rank_ends,
                     *boost::unit_test::precondition(mpirun_is_there)) {
    const Sweep sweep;
    Process many(sweep.folder.path(), {},
                 ranks(three(sweep), sweep.command("ranks", {"-D", "COLUMNS=1,2"})));
    BOOST_TEST(many.wait() == 2);
    const std::string text = many.err();
    const std::size_t at = text.find("COLUMNS");
    BOOST_TEST(at != std::string::npos, text);
    BOOST_TEST(text.find("tessera:", text.find("tessera:") + 1) == std::string::npos, text);
    BOOST_TEST(!fs::exists(sweep.folder / "ranks"));
}

BOOST_AUTO_TEST_CASE(the_launcher_is_known_by_the_environment) {
    const Args names = {
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK",
        "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};
    const auto told = [&](const std::vector<std::pair<std::string, std::string>>& settings) {
        for (const std::string& name : names) {
            ::unsetenv(name.c_str());
        }
        for (const auto& [name, value] : settings) {
            ::setenv(name.c_str(), value.c_str(), 1);
        }
        const tessera::ranks::Launch launch = tessera::ranks::launch();
        return std::to_string(launch.rank) + " of " + std::to_string(launch.size);
    };
    BOOST_TEST(told({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}) == "2 of 4");
    BOOST_TEST(told({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}) == "1 of 3");
    BOOST_TEST(told({{"PMIX_RANK", "5"}, {"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_NTASKS", "9"}}) ==
               "5 of 6");
    BOOST_TEST(told({{"PMIX_RANK", "5"}, {"SLURM_NTASKS", "9"}}) == "5 of 9");
    // A batch file of Slurm is no rank.
    BOOST_TEST(told({{"SLURM_NTASKS", "9"}}) == "0 of 1");
    for (const char* wrong : {"", "x", "4x", "-1", "99999999999", "4"}) {
        BOOST_TEST(told({{"OMPI_COMM_WORLD_RANK", wrong}, {"OMPI_COMM_WORLD_SIZE", "4"}}) ==
                   "0 of 1");
    }
    BOOST_TEST(told({}) == "0 of 1");
}

BOOST_AUTO_TEST_CASE(a_full_disk_loses_nothing_that_was_found) {
    const Sweep sweep;
    const Args points = {"-D", "ROWS=1:24", "--mapper", "random", "--max-evals", "100"};
    const Args command = sweep.command("full", points);
    Process::How small;
    small.instead = [&command] {
        const rlimit limit{8192, 8192};  // of one file
        ::setrlimit(RLIMIT_FSIZE, &limit);
        Args words = joined({program()}, command);
        std::vector<char*> argv;
        for (std::string& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        ::execv(argv[0], argv.data());
        return 127;
    };
    Process stopped(sweep.folder.path(), {}, small);
    BOOST_TEST(stopped.wait() == 2);
    BOOST_TEST(stopped.says("points.jsonl: cannot be written; make room"), stopped.err());
    const std::ptrdiff_t known = lines(sweep.file("full/points.jsonl"));
    BOOST_TEST(known > 0);
    Process again(sweep.folder.path(), joined(command, {"--resume"}));
    BOOST_TEST(again.wait() == 0, again.err());
    BOOST_TEST(lines(sweep.file("full/points.jsonl")) == 24);
    Process one(sweep.folder.path(), sweep.command("one", points));
    BOOST_TEST(one.wait() == 0, one.err());
    same_files(sweep, "one", "full");
}

BOOST_AUTO_TEST_SUITE_END()
