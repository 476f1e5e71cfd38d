#include "plugin/scan.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/child_answer.hpp"
#include "plugin/library.hpp"

namespace tessera::plugin {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string seconds_text(double seconds) {
    std::string text = std::to_string(seconds);
    text.erase(text.find_last_not_of('0') + 1);
    return text.back() == '.' ? text.substr(0, text.size() - 1) : text;
}

double time_limit_s() {
    const char* given = std::getenv("TESSERA_PLUGIN_SCAN_TIME");
    const double seconds = given != nullptr ? std::strtod(given, nullptr) : 0;
    return seconds > 0 ? seconds : 5;
}

fs::path cache_file() {
    if (const char* given = std::getenv("TESSERA_PLUGIN_CACHE")) {
        return given;
    }
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
        return fs::path(cache) / "tessera" / "plugins.json";
    }
    const char* home = std::getenv("HOME");
    return home != nullptr && home[0] == '/' ? fs::path(home) / ".cache/tessera/plugins.json"
                                             : fs::path();
}

Json read_cache(const fs::path& file) {
    std::ifstream in(file);
    Json cache = Json::parse(in, nullptr, false);
    return cache.is_object() && cache.contains("files") && cache["files"].is_object()
               ? cache
               : Json{{"version", 1}, {"files", Json::object()}};
}

/// A cache that cannot be written only costs time.
void write_cache(const fs::path& file, const Json& cache) {
    if (file.empty()) {
        return;
    }
    std::error_code failed;
    fs::create_directories(file.parent_path(), failed);
    const fs::path draft = file.string() + "." + std::to_string(::getpid());
    {
        std::ofstream out(draft);
        out << cache.dump(1) << "\n";
        if (!out) {
            fs::remove(draft, failed);
            return;
        }
    }
    fs::rename(draft, file, failed);
}

/// The child: loads the file and says what came of it. Does not return.
[[noreturn]] void child(const std::string& path, int answer) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    for (const int signal : {SIGINT, SIGTERM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
        ::signal(signal, SIG_DFL);
    }
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) {
        ::dup2(nowhere, stream);
    }
    std::string problem;
    open_library(path, problem);
    problem += '\n';
    const ssize_t written = ::write(answer, problem.data(), problem.size());
    ::_exit(written == static_cast<ssize_t>(problem.size()) ? 0 : 1);
}

std::string scan(const std::string& path) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return "no pipe to a child process could be made";
    }
    const pid_t process = ::fork();
    if (process < 0) {
        ::close(ends[0]);
        ::close(ends[1]);
        return "no child process could be started";
    }
    if (process == 0) {
        child(path, ends[1]);
    }
    ::close(ends[1]);
    const double limit_s = time_limit_s();
    auto [answer, in_time, status] = base::answer_of(process, ends[0], limit_s);
    if (!in_time) {
        return "it did not come back within " + seconds_text(limit_s) +
               " s when it was first examined; its initialisation must not wait for anything";
    }
    if (WIFSIGNALED(status)) {
        return "it crashed when it was first examined (signal " + std::to_string(WTERMSIG(status)) +
               "); run it under a debugger";
    }
    if (answer.empty() || answer.back() != '\n') {
        return "it ended the process when it was first examined";
    }
    answer.pop_back();
    return answer;
}

}  // namespace

std::string examine(const std::string& path) {
    struct stat now {};
    if (::stat(path.c_str(), &now) != 0) {
        return "it cannot be read";
    }
    const fs::path file = cache_file();
    Json cache = read_cache(file);
    const Json identity = {{"size", now.st_size},
                           {"changed_s", now.st_mtim.tv_sec},
                           {"changed_ns", now.st_mtim.tv_nsec},
                           {"inode", now.st_ino}};
    Json& known = cache["files"][path];
    if (known.is_object() && known.value("identity", Json()) == identity &&
        known.contains("denied") && known["denied"].is_string()) {
        return known["denied"].get<std::string>();
    }
    const std::string problem = scan(path);
    known = {{"identity", identity}, {"denied", problem}};
    write_cache(file, cache);
    return problem;
}

}  // namespace tessera::plugin
