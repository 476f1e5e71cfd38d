// What the benchmarks share: running a program under limits and reading what `map --json` says.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace bench {

using Json = nlohmann::ordered_json;

/// What one run of a program cost and said. CPU is user + system of it and its children.
struct Outcome {
    bool started = false, out_of_time = false, out_of_memory = false;
    int exit_code = -1, signal = 0;
    double wall_s = 0, cpu_s = 0, peak_rss_bytes = 0;
    std::string output, errors;

    bool ok() const {
        return started && signal == 0 && exit_code == 0;
    }
};

inline std::string read_and_remove(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    return text;
}

/// What a process group uses, sampled: resident memory (shared pages count per process) and CPU
/// time, that of ended children included as soon as their parent has waited for them.
struct GroupUse {
    double resident_bytes = 0, cpu_s = 0;
};

inline GroupUse group_use(pid_t group) {
    GroupUse sum;
    const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    std::error_code failed;
    for (std::filesystem::directory_iterator it("/proc", failed), end; !failed && it != end;
         it.increment(failed)) {
        const std::string name = it->path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos ||
            getpgid(std::atoi(name.c_str())) != group) {
            continue;
        }
        std::ifstream statm(it->path() / "statm"), stat(it->path() / "stat");
        double total = 0, resident = 0;
        if (statm >> total >> resident) {
            sum.resident_bytes += resident * page;
        }
        std::string text;
        std::getline(stat, text);
        // After "pid (name)": state, 10 fields, then utime stime cutime cstime.
        std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
        std::string skipped;
        for (int i = 0; i < 11; ++i) {
            fields >> skipped;
        }
        double time = 0;
        for (int i = 0; i < 4 && fields >> time; ++i) {
            sum.cpu_s += time / ticks;
        }
    }
    return sum;
}

/// Runs `command` (nice 10) in a process group of its own; the group is killed at either limit.
inline Outcome run(const std::vector<std::string>& command, double limit_s = 1e9,
                   double limit_bytes = 1e18) {
    static std::atomic<int> runs{0};  // several threads may run programs
    const std::string stem =
        std::filesystem::temp_directory_path() /
        ("tessera-bench-" + std::to_string(getpid()) + "-" + std::to_string(runs++));
    const std::string out = stem + ".out", err = stem + ".err";
    std::vector<char*> argv;
    for (const std::string& word : command) {
        argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    std::fflush(nullptr);
    Outcome result;
    const auto from = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child < 0) {
        return result;
    }
    if (child == 0) {
        setpgid(0, 0);
        if (setpriority(PRIO_PROCESS, 0, 10) != 0) {
            std::perror("setpriority");
        }
        const int mode = O_WRONLY | O_CREAT | O_TRUNC;
        dup2(open(out.c_str(), mode, 0600), 1);
        dup2(open(err.c_str(), mode, 0600), 2);
        execvp(argv[0], argv.data());
        std::perror(argv[0]);
        _exit(127);
    }
    setpgid(child, child);
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    };
    int status = 0;
    rusage usage{};
    GroupUse sampled;
    auto pause = std::chrono::milliseconds(1);
    while (wait4(child, &status, WNOHANG, &usage) == 0) {
        result.out_of_time = result.out_of_time || seconds() > limit_s;
        if (pause.count() >= 50) {
            const GroupUse now = group_use(child);
            sampled.cpu_s = std::max(sampled.cpu_s, now.cpu_s);
            sampled.resident_bytes = std::max(sampled.resident_bytes, now.resident_bytes);
            result.out_of_memory = result.out_of_memory || now.resident_bytes > limit_bytes;
        }
        if (result.out_of_time || result.out_of_memory) {
            kill(-child, SIGKILL);
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::milliseconds(50));
    }
    result.wall_s = seconds();
    result.started = !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const auto time = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    // Workers that nobody waited for are in the samples only.
    result.cpu_s = std::max(sampled.cpu_s, time(usage.ru_utime) + time(usage.ru_stime));
    result.peak_rss_bytes =
        std::max(sampled.resident_bytes, static_cast<double>(usage.ru_maxrss) * 1024);
    result.output = read_and_remove(out);
    result.errors = read_and_remove(err);
    return result;
}

/// The `tessera` beside this benchmark's folder.
inline std::string tessera() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tessera";
}

/// The document on stdout; null if there is none.
inline Json document(const Outcome& outcome) {
    return Json::parse(outcome.output, nullptr, false, true);
}

/// A number at a path such as {"search", "wall_s"}; `fallback` if it is missing or null.
inline double number(const Json& root, const std::vector<const char*>& path,
                     double fallback = std::nan("")) {
    const Json* at = &root;
    for (const char* key : path) {
        if (!at->is_object() || !at->contains(key)) {
            return fallback;
        }
        at = &(*at)[key];
    }
    return at->is_number() ? at->get<double>() : fallback;
}

/// The best value of a metric ("edp_js", "energy_j", "latency_s").
inline double best(const Json& root, const char* key) {
    if (!root.is_object() || !root.contains("mappings") || root["mappings"].empty()) {
        return std::nan("");
    }
    return number(root["mappings"][0], {key});
}

/// "templates 0.11, tile shapes 0.50, join 0.07"
inline std::string phases(const Json& root) {
    std::string text;
    if (root.is_object() && root.contains("search") && root["search"].contains("phases")) {
        for (const auto& [name, seconds] : root["search"]["phases"].items()) {
            char item[80];
            std::snprintf(item, sizeof item, "%s%s %.2f", text.empty() ? "" : ", ", name.c_str(),
                          seconds.get<double>());
            text += item;
        }
    }
    return text;
}

inline std::vector<std::string> split(const std::string& list, char at = ',') {
    std::vector<std::string> parts;
    std::istringstream in(list);
    for (std::string part; std::getline(in, part, at);) {
        if (!part.empty()) {
            parts.push_back(part);
        }
    }
    return parts;
}

inline std::string last_line(const std::string& text) {
    std::string last, line;
    std::istringstream in(text);
    while (std::getline(in, line)) {
        last = line.empty() ? last : line;
    }
    return last;
}

/// `a` followed by all of `b`.
inline std::vector<std::string> joined(std::vector<std::string> a,
                                       const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace bench
