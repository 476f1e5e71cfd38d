// kill -9 at seeded random moments, resume, compare: the same result every time, byte by byte.
//
//   bench/crashes [--kills 30] [--seed 1] [--arch A --workload W -- options of `tessera map`]
//
// Without --arch and --workload: the slowest case of bench/breadth that is proven optimal, and a
// random search of about 30 s. A round starts the search in a new folder, kills it at a moment
// drawn uniformly from the time an uninterrupted run takes, checks that the mapping found so far
// (if any) is whole, resumes and compares result.json, mapping.yaml and looptree.svg. Temporary
// folder, home and run-time folder of all these processes are one empty folder, which must stay
// empty. Exit status 1 if anything differs.
#include <iostream>
#include <random>

#include "program.hpp"

namespace {

using namespace bench;
namespace fs = std::filesystem;

struct Case {
    std::string name;
    std::vector<std::string> options;
};

struct Settings {
    int kills = 30;
    unsigned seed = 1;
    std::vector<Case> cases;
};

std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

Settings settings(int argc, char** argv) {
    Settings s;
    const std::vector<std::string> args(argv + 1, argv + argc);
    std::string arch, workload;
    std::vector<std::string> extra;
    for (std::size_t i = 0; i < args.size(); i += 2) {
        if (args[i] == "--") {
            extra.assign(args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
            break;
        }
        const std::string value = i + 1 < args.size() ? args[i + 1] : "";
        if (args[i] == "--kills" && std::atoi(value.c_str()) > 0) {
            s.kills = std::atoi(value.c_str());
        } else if (args[i] == "--seed" && !value.empty()) {
            s.seed = static_cast<unsigned>(std::atoi(value.c_str()));
        } else if (args[i] == "--arch") {
            arch = value;
        } else if (args[i] == "--workload") {
            workload = value;
        } else {
            std::cerr << "usage: crashes [--kills N] [--seed N] [--arch A --workload W -- ...]\n";
            std::exit(2);
        }
    }
    if (!arch.empty()) {
        s.cases = {{workload + " @ " + arch, joined({"-a", arch, "-w", workload}, extra)}};
    } else {
        s.cases = {{"resnet-50 @ eyeriss", {"-a", "eyeriss", "-w", "resnet-50"}},
                   {"random search",
                    {"-a", "simba", "-w", "gpt3-6.7b", "-D", "TOKENS=2048", "--mapper", "random",
                     "--max-evals", "40000", "--seed", "1"}}};
    }
    return s;
}

/// All that the processes may write besides.
class Sandbox {
public:
    Sandbox() {
        std::string name = (fs::temp_directory_path() / "tessera-crashes-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            std::perror("mkdtemp");
            std::exit(2);
        }
        root = name;
        fs::create_directory(root / "elsewhere");
        for (const char* variable : {"TMPDIR", "HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
                                     "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}) {
            ::setenv(variable, (root / "elsewhere").c_str(), 1);
        }
        fs::current_path(root / "elsewhere");
    }
    ~Sandbox() {
        fs::current_path("/");
        std::error_code ignored;
        fs::remove_all(root, ignored);
    }
    std::string left_behind() const {
        std::string names;
        for (const auto& entry : fs::directory_iterator(root / "elsewhere")) {
            names += " " + entry.path().filename().string();
        }
        return names;
    }
    fs::path root;
};

pid_t start(const std::vector<std::string>& words) {
    std::vector<std::string> copy = words;
    std::vector<char*> argv;
    for (std::string& word : copy) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        const int null = ::open("/dev/null", O_RDWR);
        ::dup2(null, STDIN_FILENO);
        ::dup2(null, STDOUT_FILENO);
        ::dup2(null, STDERR_FILENO);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    return child;
}

int finish(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

double seconds_since(std::chrono::steady_clock::time_point from) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

/// What is wrong after a round; empty: nothing.
std::string difference(const fs::path& whole, const fs::path& resumed) {
    std::string text;
    for (const auto& entry : fs::directory_iterator(whole)) {
        const std::string name = entry.path().filename().string();
        if (!fs::exists(resumed / name)) {
            text += " " + name + " is missing";
        } else if (name != "run.json" && name != "events.jsonl" && name != "status.json" &&
                   read(whole / name) != read(resumed / name)) {
            text += " " + name + " differs";
        }
    }
    for (const auto& entry : fs::directory_iterator(resumed)) {
        if (!fs::exists(whole / entry.path().filename())) {
            text += " " + entry.path().filename().string() + " is left over";
        }
    }
    return text;
}

/// Number of failures.
int survive(const Case& c, const Settings& s) {
    const Sandbox box;
    const auto command = [&](const char* name, bool resume) {
        std::vector<std::string> words = joined({bench::tessera(), "map"}, c.options);
        words = joined(words, {"-q", "-o", (box.root / name).string()});
        return resume ? joined(words, {"--resume"}) : words;
    };
    const auto from = std::chrono::steady_clock::now();
    if (const int code = finish(start(command("whole", false))); code != 0) {
        std::cout << c.name << ": the uninterrupted run ends with " << code << "\n";
        return 1;
    }
    const double whole_s = seconds_since(from);
    std::printf("%s: %.1f s uninterrupted\n%6s %10s %10s %9s  %s\n", c.name.c_str(), whole_s,
                "kill", "after s", "resumed s", "mapping", "result");
    std::mt19937 random(s.seed);
    std::uniform_real_distribution<double> moment(0, whole_s);
    int failures = 0;
    for (int kill = 1; kill <= s.kills; ++kill) {
        const double at_s = moment(random);
        const pid_t victim = start(command("killed", false));
        std::this_thread::sleep_for(std::chrono::duration<double>(at_s));
        ::kill(victim, SIGKILL);
        finish(victim);
        const bool found = fs::exists(box.root / "killed" / "mapping.yaml");
        std::string wrong;
        if (found &&
            read(box.root / "killed" / "mapping.yaml").find("Compute") == std::string::npos) {
            wrong = " a broken mapping.yaml";
        }
        const auto again = std::chrono::steady_clock::now();
        if (const int code = finish(start(command("killed", true))); code != 0) {
            wrong += " the resumed run ends with " + std::to_string(code);
        } else {
            wrong += difference(box.root / "whole", box.root / "killed");
        }
        wrong += box.left_behind().empty() ? "" : " left behind:" + box.left_behind();
        std::printf("%6d %10.2f %10.2f %9s  %s\n", kill, at_s, seconds_since(again),
                    found ? "yes" : "none yet", wrong.empty() ? "the same" : wrong.c_str());
        std::fflush(stdout);
        failures += wrong.empty() ? 0 : 1;
        fs::remove_all(box.root / "killed");
    }
    std::printf("%s: %d kills, %d failures\n\n", c.name.c_str(), s.kills, failures);
    return failures;
}

}  // namespace

int main(int argc, char** argv) {
    const Settings s = settings(argc, argv);
    int failures = 0;
    for (const Case& c : s.cases) {
        failures += survive(c, s);
    }
    return failures > 0 ? 1 : 0;
}
