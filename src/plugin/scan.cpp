#include "plugin/scan.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/child_answer.hpp"
#include "base/directory.hpp"
#include "base/parsed_json.hpp"
#include "base/printable.hpp"
#include "plugin/library.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::plugin {

namespace {

namespace fs = std::filesystem;

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

/// What is known of each file; an object.
base::Json read_cache(const fs::path& file) {
    std::string text;
    try {
        text = base::read_regular_file(file).value_or("");
    } catch (const UserError&) {  // what cannot be read is made anew
    }
    const base::ParsedJson cache = base::parsed_json(text);
    const bool good = cache.is_object() && cache.contains("files") && cache["files"].is_object();
    return good ? base::written(cache["files"]) : base::Json::object();
}

/// A cache that cannot be written only costs time.
void write_cache(const fs::path& file, const base::Json& known) {
    try {
        fs::create_directories(file.parent_path());
        base::Directory(file.parent_path())
            .write(file.filename().string(),
                   base::Json{{"version", 1}, {"files", known}}.dump(1) + "\n");
    } catch (const std::exception&) {
        return;
    }
}

// Ends the answer of a child that could not link the file, which may fit into another program.
constexpr const char* unlinked = "\a\n";

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
    bool linked = true;
    open_library(path, problem, &linked);
    problem += linked ? "\n" : unlinked;
    const ssize_t written = ::write(answer, problem.data(), problem.size());
    ::_exit(written == static_cast<ssize_t>(problem.size()) ? 0 : 1);
}

struct Verdict {
    std::string problem;   ///< empty: none
    bool lasting = false;  ///< a property of the file alone
};

Verdict scan(const std::string& path) {
    const double limit_s = time_limit_s();
    auto [failed, answer, in_time, status] =
        base::answer_of([&](int pipe) { child(path, pipe); }, limit_s);
    if (!failed.empty()) {
        return {failed};
    }
    if (!in_time) {
        return {"it did not come back within " + spec::number_text(limit_s) +
                    " s when it was first examined; its initialisation must not wait for anything",
                true};
    }
    if (WIFSIGNALED(status)) {
        return {"it crashed when it was first examined (signal " +
                    std::to_string(WTERMSIG(status)) + "); run it under a debugger",
                true};
    }
    const bool lasting = !answer.ends_with(unlinked);
    if (answer.empty() || answer.back() != '\n') {
        return {"it ended the process when it was first examined", true};
    }
    answer.erase(answer.size() - (lasting ? 1 : std::string_view(unlinked).size()));
    return {answer, lasting};
}

}  // namespace

std::string examine(const std::string& path) {
    struct stat now {};
    if (::stat(path.c_str(), &now) != 0) {
        return "it cannot be read";
    }
    const fs::path file = cache_file();
    base::Json cache = read_cache(file);
    const base::Json identity = {{"size", now.st_size},
                                 {"changed_s", now.st_mtim.tv_sec},
                                 {"changed_ns", now.st_mtim.tv_nsec},
                                 {"inode", now.st_ino}};
    base::Json& known = cache[base::one_line(path)];
    if (known.is_object() && known["identity"] == identity) {
        if (const std::string* const denied = known["denied"].text()) {
            return *denied;
        }
    }
    const Verdict verdict = scan(path);
    if (verdict.lasting) {
        known = {{"identity", identity}, {"denied", verdict.problem}};
        write_cache(file, cache);
    }
    return verdict.problem;
}

}  // namespace tessera::plugin
