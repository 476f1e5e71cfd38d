// How long a search goes on after its limit, or after Ctrl-C.
//
//   bench/stops [--quick] [--archs a,b] [--workloads a,b] [--mappers a,b] [--limits 0.3,1,3]
//               [--interrupts 1] [--seed 1] [--allowed 0.2] [--stacks FILE] [--verbose]
//               [-- options of `tessera map`]
//
// Every pair of architecture and workload is searched by every mapper and strategy, once with each
// limit of --limits (--max-time) and --interrupts times with a SIGINT at a seeded random moment
// below the longest limit. Each run keeps a folder. A search that ends before its limit is left out
// of the figures. --quick takes the pairs and limits that have shown most.
//
// late   wall time from the stop to the end of the process, loading before the search included
// own    of this, what the process did itself: CPU time, and time in which none of its threads
//        could run. Time in which it waits for a busy machine is not its own.
//
// A run that is too late by both is repeated, and counts with its best of three. --stacks: a run
// that is too late is looked at by gdb, and the stacks of its threads are written there. Exit
// status 1 if any run is late by more than --allowed seconds of its own.
#include <time.h>

#include <csignal>

#include <iostream>
#include <random>

#include "base/data_path.hpp"
#include "options.hpp"

namespace {

using namespace bench;
namespace fs = std::filesystem;

constexpr int most_tries = 3;
constexpr std::size_t worst_shown = 20;
/// A process that is later than this is killed.
constexpr double given_up_after_s = 20;
/// Sooner, `ffm` goes on to find any mapping (docs/running.md).
constexpr double first_interrupt_s = 0.25;

struct Pair {
    std::string arch, workload;
};

struct Settings {
    bool quick = false, verbose = false;
    std::vector<std::string> archs, workloads;
    std::vector<std::string> limits{"0.3", "1", "3"};
    std::vector<std::string> mappers{"ffm",
                                     "random",
                                     "exhaustive",
                                     "annealing",
                                     "genetic",
                                     "mcts",
                                     "es",
                                     "dat",
                                     "loma",
                                     "salsa",
                                     "ddpg",
                                     "cosa",
                                     "pagmo",
                                     "fusecu",
                                     "transfusion",
                                     "transfusion:fusemax-layerfuse",
                                     "transfusion:unfused",
                                     "portfolio",
                                     "timeloop/optimal",
                                     "timeloop/random",
                                     "timeloop/random-pruned",
                                     "timeloop/linear-pruned",
                                     "timeloop/hybrid",
                                     "timeloop/exhaustive"};
    std::vector<std::string> extra;
    double interrupts = 1, seed = 1, allowed_s = 0.2;
    std::string stacks;
    std::vector<Pair> pairs;
};

std::vector<std::string> shipped(const char* kind) {
    std::vector<std::string> names;
    for (const std::string& name : tessera::list_data(kind)) {
        if (name.find('/') == std::string::npos) {
            names.push_back(name);
        }
    }
    return names;
}

Settings settings(int argc, char** argv) {
    Settings s;
    Options options("stops",
                    "[--quick] [--archs a,b] [--workloads a,b] [--mappers a,b] [--limits 0.3,1,3] "
                    "[--interrupts N] [--seed N] [--allowed S] [--stacks FILE] [--verbose]");
    options.flag("--quick", s.quick);
    options.flag("--verbose", s.verbose);
    options.list("--archs", s.archs);
    options.list("--workloads", s.workloads);
    options.list("--mappers", s.mappers);
    options.list("--limits", s.limits);
    options.number("--interrupts", s.interrupts);
    options.number("--seed", s.seed);
    options.number("--allowed", s.allowed_s);
    options.text("--stacks", s.stacks);
    s.extra = options.read(argc, argv);
    if (s.quick) {
        s.pairs = {{"eyeriss", "resnet-50"},
                   {"simba", "resnet-50"},
                   {"simba", "deepseek-v3"},
                   {"tpu-v4i", "llama3-8b"},
                   {"nvdla", "mamba"},
                   {"edge", "mobilenet-28"},
                   {"fanout-at-glb-container", "transfusion-xlm"}};
        s.limits = {"0.3", "1"};
        return s;
    }
    for (const std::string& a : s.archs.empty() ? shipped("arch-specs") : s.archs) {
        for (const std::string& w : s.workloads.empty() ? shipped("problem-shapes") : s.workloads) {
            s.pairs.push_back({a, w});
        }
    }
    return s;
}

/// What is run, and when it is to stop.
struct Case {
    Pair pair;
    std::string mapper;
    double stop_s = 0;
    bool interrupt = false;

    std::string name() const {
        char text[40];
        std::snprintf(text, sizeof text, "%s %.2f s", interrupt ? "SIGINT" : "limit", stop_s);
        return pair.workload + " @ " + pair.arch + ", " + mapper + ", " + text;
    }
};

struct Lateness {
    bool reached = false, killed = false;  ///< it was still running at its limit
    int exit_code = 0, signal = 0;
    double wall_s = 0, own_s = 0;

    double counted_s() const {
        return std::min(wall_s, own_s);
    }
    bool broken() const {
        return killed || (signal != 0 && signal != SIGINT);  // it may come before there is a search
    }
};

double cpu_s(clockid_t clock) {
    timespec t{};
    return clock_gettime(clock, &t) == 0
               ? static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec)
               : 0;
}

/// Whether a thread of the process runs or could.
bool runnable(pid_t process) {
    std::error_code failed;
    const fs::path tasks = "/proc/" + std::to_string(process) + "/task";
    for (fs::directory_iterator it(tasks, failed), end; !failed && it != end;
         it.increment(failed)) {
        std::ifstream stat(it->path() / "stat");
        std::string text;
        std::getline(stat, text);
        const std::size_t name_end = text.rfind(')');
        if (name_end != std::string::npos && name_end + 2 < text.size() &&
            text[name_end + 2] == 'R') {
            return true;
        }
    }
    return false;
}

void write_stacks(const std::string& file, const Case& c, pid_t process) {
    {
        std::ofstream out(file, std::ios::app);
        out << "== " << c.name() << "\n";
    }
    const std::string command = "gdb -p " + std::to_string(process) +
                                " -batch -ex 'thread apply all bt 14' 2>/dev/null | grep '^[#T]' "
                                ">> '" +
                                file + "'";
    if (std::system(command.c_str()) != 0) {
        std::cerr << "stops: no stacks by gdb\n";
    }
}

std::vector<std::string> command_of(const Case& c, const Settings& s, const fs::path& folder) {
    const std::size_t slash = c.mapper.find('/');
    std::vector<std::string> words{bench::tessera(), "map", "-a", c.pair.arch, "-w",
                                   c.pair.workload,  "-q",  "-o", folder};
    words = joined(words, {"--mapper", c.mapper.substr(0, slash)});
    if (slash != std::string::npos) {
        words = joined(words, {"--algorithm", c.mapper.substr(slash + 1)});
    }
    char limit[40];
    std::snprintf(limit, sizeof limit, "%.0fms", 1000 * (c.interrupt ? 100 : c.stop_s));
    return joined(joined(words, {"--max-time", limit}), s.extra);
}

pid_t start(const std::vector<std::string>& words) {
    std::vector<char*> argv;
    for (const std::string& word : words) {
        argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        const int null = ::open("/dev/null", O_RDWR);
        ::dup2(null, 0);
        ::dup2(null, 1);
        ::dup2(null, 2);
        ::signal(SIGINT, SIG_DFL);  // shells let what they start in the background ignore it
        if (::setpriority(PRIO_PROCESS, 0, 10) != 0) {
            ::_exit(126);
        }
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    return child;
}

Lateness once(const Case& c, const Settings& s) {
    using Clock = std::chrono::steady_clock;
    const fs::path folder =
        fs::temp_directory_path() / ("tessera-stops-" + std::to_string(::getpid()));
    Lateness out;
    const auto from = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - from).count(); };
    const pid_t child = start(command_of(c, s, folder));
    clockid_t clock{};
    ::clock_getcpuclockid(child, &clock);
    double cpu_at_stop_s = 0, asleep_s = 0, looked_s = 0;
    bool looked_at = s.stacks.empty();
    int status = 0;
    rusage usage{};
    while (::wait4(child, &status, WNOHANG, &usage) == 0) {
        const double now = seconds();
        if (!out.reached && now >= c.stop_s) {
            out.reached = true;
            cpu_at_stop_s = cpu_s(clock);
            looked_s = now;
            if (c.interrupt) {
                ::kill(child, SIGINT);
            }
        } else if (out.reached) {
            asleep_s += runnable(child) ? 0 : now - looked_s;
            looked_s = now;
        }
        if (!looked_at && now - c.stop_s > s.allowed_s) {
            looked_at = true;
            write_stacks(s.stacks, c, child);
            looked_s = seconds();
        }
        if (now - c.stop_s > given_up_after_s) {
            out.killed = true;
            ::kill(child, SIGKILL);
        }
        const double rest_s = out.reached ? 0.002 : std::clamp(c.stop_s - now, 1e-4, 0.02);
        std::this_thread::sleep_for(std::chrono::duration<double>(rest_s));
    }
    const auto time = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    out.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    out.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (out.reached) {
        out.wall_s = seconds() - c.stop_s;
        out.own_s = time(usage.ru_utime) + time(usage.ru_stime) - cpu_at_stop_s + asleep_s;
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return out;
}

/// The least late of some tries, if it takes more than one.
Lateness measured(const Case& c, const Settings& s) {
    Lateness best = once(c, s);
    for (int i = 1; i < most_tries && best.counted_s() > s.allowed_s && !best.broken(); ++i) {
        const Lateness again = once(c, s);
        if (again.reached && again.counted_s() < best.counted_s()) {
            best = again;
        }
    }
    return best;
}

std::vector<Case> cases(const Settings& s) {
    std::mt19937_64 random(static_cast<unsigned>(s.seed));
    double longest_s = 0;
    for (const std::string& limit : s.limits) {
        longest_s = std::max(longest_s, std::atof(limit.c_str()));
    }
    std::vector<Case> out;
    for (const Pair& pair : s.pairs) {
        for (const std::string& mapper : s.mappers) {
            for (const std::string& limit : s.limits) {
                out.push_back({pair, mapper, std::atof(limit.c_str()), false});
            }
            for (int i = 0; i < static_cast<int>(s.interrupts); ++i) {
                const double share = static_cast<double>(random() % 10000) / 10000;
                const double at_s = first_interrupt_s + share * (longest_s - first_interrupt_s);
                out.push_back({pair, mapper, std::max(at_s, first_interrupt_s), true});
            }
        }
    }
    return out;
}

void print(const Case& c, const Lateness& l) {
    std::printf("%6.0f ms late %6.0f ms own  exit %d  %s%s\n", 1000 * l.wall_s, 1000 * l.own_s,
                l.exit_code, c.name().c_str(),
                l.killed             ? "  KILLED"
                : l.signal == SIGINT ? "  before the search began"
                : l.signal != 0      ? "  CRASHED"
                                     : "");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const Settings s = settings(argc, argv);
    std::vector<std::pair<Case, Lateness>> stopped;
    int ended = 0, refused = 0, broken = 0, late = 0;
    for (const Case& c : cases(s)) {
        const Lateness l = measured(c, s);
        broken += l.broken() ? 1 : 0;
        if (!l.reached) {
            ++(l.exit_code == 2 || l.exit_code == 3 ? refused : ended);
            continue;
        }
        late += l.counted_s() > s.allowed_s ? 1 : 0;
        if (s.verbose || l.broken() || l.counted_s() > s.allowed_s) {
            print(c, l);
        }
        stopped.emplace_back(c, l);
    }
    std::stable_sort(stopped.begin(), stopped.end(), [](const auto& a, const auto& b) {
        return a.second.counted_s() > b.second.counted_s();
    });
    std::printf("%zu runs stopped, %d ended before, %d refused, %d crashed or killed\n",
                stopped.size(), ended, refused, broken);
    std::printf("The latest:\n");
    for (std::size_t i = 0; i < std::min(worst_shown, stopped.size()); ++i) {
        print(stopped[i].first, stopped[i].second);
    }
    std::printf("%d later than %.0f ms\n", late, 1000 * s.allowed_s);
    return late + broken > 0 ? 1 : 0;
}
