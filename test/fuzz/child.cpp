// A child runs the command; the parent looks after it every few milliseconds. The address sanitizer
// reserves terabytes of addresses, so that memory is measured as what is resident.

#include "fuzz/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "cli/cli.hpp"
#include "cli/timeloop/timeloop.hpp"
#include "support/paths.hpp"

// Reports of the sanitizers end the process by a signal. A small quarantine keeps what is resident
// near what is in use.
extern "C" const char* __asan_default_options() {
    return "abort_on_error=1:detect_leaks=0:quarantine_size_mb=8:allocator_may_return_null=0:"
           "max_allocation_size_mb=1024";
}
extern "C" const char* __ubsan_default_options() {
    return "abort_on_error=1:print_stacktrace=1";
}

namespace tessera::fuzz {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

class MemoryFile {
public:
    MemoryFile() : file_(::memfd_create("output", MFD_CLOEXEC)) {
        if (file_ < 0) {
            throw std::runtime_error("no file for the output of a child");
        }
    }
    ~MemoryFile() {
        ::close(file_);
    }
    MemoryFile(const MemoryFile&) = delete;

    int descriptor() const {
        return file_;
    }
    std::string text() const {
        constexpr std::size_t at_most = 1U << 20U;
        std::string result(at_most, '\0');
        const ssize_t length = ::pread(file_, result.data(), at_most, 0);
        result.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
        return result;
    }

private:
    int file_;
};

int command_line(const std::vector<std::string>& words) {
    const std::vector<std::string> args(words.begin() + 1, words.end());
    const std::string& name = words.front();
    return cli::is_timeloop_name(name) ? cli::run_timeloop(name, args, std::cout, std::cerr)
                                       : cli::run(args, std::cout, std::cerr);
}

/// Linux's MAX_ARG_STRLEN without the zero at the end: what is longer starts no program.
constexpr std::size_t longest_argument = 131071;

[[noreturn]] void execute(const std::vector<std::string>& words) {
    std::vector<std::string> copy = words;
    copy.front() = (build_folder() / words.front()).string();
    std::vector<char*> argv;
    for (std::string& word : copy) {
        word.resize(std::min(word.size(), longest_argument));
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    // What is lost in libraries of others is theirs.
    const std::string known = test::test_folder() + "/leaks.supp";
    ::setenv("LSAN_OPTIONS", ("print_suppressions=0:suppressions=" + known).c_str(), 1);
    ::execv(argv[0], argv.data());
    ::_exit(127);
}

[[noreturn]] void child(const Input& input, const fs::path& folder, Way way, int out, int err) {
    ::setpgid(0, 0);
    const rlimit no_core{0, 0}, file_size{64U << 20U, 64U << 20U};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::setrlimit(RLIMIT_FSIZE, &file_size);
    for (const int signal : {SIGINT, SIGTERM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
        ::signal(signal, SIG_DFL);  // Boost.Test's
    }
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    if (::chdir(folder.c_str()) != 0) {
        ::_exit(127);
    }
    if (way == Way::program) {
        execute(input.words);
    }
    const int code = command_line(input.words);
    std::cout.flush();
    std::cerr.flush();
    ::_exit(code);
}

std::size_t resident_bytes(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/statm");
    std::size_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Seconds of the processor, so that a busy machine makes no input hang.
double cpu_s(pid_t process) {
    clockid_t clock{};
    timespec used{};
    const bool known =
        ::clock_getcpuclockid(process, &clock) == 0 && ::clock_gettime(clock, &used) == 0;
    return known ? static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec) : 0;
}

void watch(pid_t process, Outcome& outcome) {
    const auto end = Clock::now() + std::chrono::seconds(static_cast<int>(waiting_limit_s));
    const int handle = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    pollfd ended{handle, POLLIN, 0};
    while (::poll(&ended, 1, 10) == 0) {
        outcome.hung = Clock::now() > end || cpu_s(process) > time_limit_s;
        outcome.grew = resident_bytes(process) > memory_limit_bytes;
        if (outcome.hung || outcome.grew) {
            ::kill(-process, SIGKILL);
            break;
        }
    }
    ::close(handle);
    int status = 0;
    rusage usage{};
    ::wait4(process, &status, 0, &usage);
    ::kill(-process, SIGKILL);  // what it may have left behind
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcome.grew |= static_cast<std::size_t>(usage.ru_maxrss) * 1024 > memory_limit_bytes;
}

}  // namespace

Outcome run(const Input& input, const fs::path& folder, Way way) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    input.put_into(folder);
    const MemoryFile out, err;
    std::cout.flush();  // or the child would write it again
    std::cerr.flush();
    const pid_t process = ::fork();
    if (process < 0) {
        throw std::runtime_error("no child process could be started");
    }
    if (process == 0) {
        child(input, folder, way, out.descriptor(), err.descriptor());
    }
    ::setpgid(process, process);
    Outcome outcome;
    watch(process, outcome);
    outcome.out = out.text();
    outcome.err = err.text();
    outcome.files = files_in(folder);
    return outcome;
}

fs::path build_folder() {
    return fs::read_symlink("/proc/self/exe").parent_path().parent_path();
}

}  // namespace tessera::fuzz
