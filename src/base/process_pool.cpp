// Map:
//   begin_child()  what a child does before its task: files, signals, its life tied to ours
//   Children       those that run: start, read, end
//   run_in_children() keeps `jobs` of them busy
#include "base/process_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>

#include "tessera/base/error.hpp"

namespace tessera::base {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int poll_ms = 20;
/// A child that writes more than this has gone wrong.
constexpr std::size_t longest_answer = 64u << 20;

std::vector<int> cores() {
    std::vector<int> result;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &set)) {
                result.push_back(core);
            }
        }
    }
    return result;
}

void keep_to_core(int slot) {
    const std::vector<int> all = cores();
    if (all.empty()) {
        return;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(all[static_cast<std::size_t>(slot) % all.size()], &set);
    ::sched_setaffinity(0, sizeof set, &set);
}

/// It has the standard streams and its pipe, and no other file of the parent's: a lock of a folder,
/// say, would outlive a parent that is killed.
void close_others(int pipe) {
    const auto first = static_cast<unsigned>(STDERR_FILENO + 1);
    const auto own = static_cast<unsigned>(pipe);
    if (own > first) {
        ::close_range(first, own - 1, 0);
    }
    ::close_range(own + 1, ~0u, 0);
}

/// Ctrl-C reaches the whole group: the parent alone decides what it means.
void begin_child(pid_t parent, int pipe) {
    close_others(pipe);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(1);  // it ended before we asked to be told
    }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE}) {
        ::signal(signal, SIG_IGN);
    }
    for (const int signal : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
        ::signal(signal, SIG_DFL);
    }
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
}

struct Child {
    pid_t pid = -1;
    int pipe = -1, slot = 0;
    std::size_t task = 0;
    Clock::time_point start;
    std::string text;
    std::size_t seen = 0;  ///< of the text: no end of a line there
};

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

std::string how_it_ended(int status) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        return "its process was ended by signal " + std::to_string(signal) + " (" +
               ::strsignal(signal) + ")" +
               (signal == SIGKILL ? ", as the system does when memory runs out" : "");
    }
    const int code = WEXITSTATUS(status);
    return code == 0 ? "" : "its process ended with code " + std::to_string(code);
}

class Children {
public:
    using Body = std::function<void(std::size_t, int)>;

    explicit Children(bool pin) : pin_(pin) {}
    ~Children() {
        for (Child& child : running_) {
            ::kill(child.pid, SIGKILL);
            ::close(child.pipe);
            int status = 0;
            while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
            }
        }
    }
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;

    std::deque<Child>& running() {
        return running_;
    }

    void start(std::size_t task, const Body& body) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) {
            throw LimitReached("no pipe to a child process could be made");
        }
        const int slot = free_slot();
        const pid_t parent = ::getpid();
        const pid_t pid = ::fork();
        if (pid == 0) {
            begin_child(parent, ends[1]);
            if (pin_) {
                keep_to_core(slot);
            }
            try {
                body(task, ends[1]);
            } catch (...) {
                ::_exit(1);
            }
            ::_exit(0);
        }
        ::close(ends[1]);
        if (pid < 0) {
            ::close(ends[0]);
            throw LimitReached("no child process could be started; ulimit -u limits them");
        }
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
        running_.push_back({pid, ends[0], slot, task, Clock::now(), {}, 0});
    }

    /// What it has written. True: it closed its end.
    static bool read(Child& child) {
        char buffer[65536];
        for (;;) {
            const ssize_t n = ::read(child.pipe, buffer, sizeof buffer);
            if (n > 0 && child.text.size() < longest_answer) {
                child.text.append(buffer, static_cast<std::size_t>(n));
            } else if (n == 0 || (n < 0 && errno != EINTR)) {
                return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
            }
        }
    }

    /// Tells the whole lines that are there, and drops them.
    static void tell_lines(Child& child, const ProcessPoolOptions& options) {
        if (!options.line) {
            return;
        }
        std::size_t from = 0;
        for (std::size_t end = 0;
             (end = child.text.find('\n', std::max(from, child.seen))) != std::string::npos;
             from = end + 1) {
            options.line(child.task, child.text.substr(from, end - from));
        }
        child.text.erase(0, from);
        child.seen = child.text.size();
    }

    bool signal(std::size_t task, int number) const {
        return std::any_of(running_.begin(), running_.end(), [&](const Child& child) {
            return child.task == task && ::kill(child.pid, number) == 0;
        });
    }

    /// Waits for its end and forgets it. `late`: it is killed first.
    ChildEnd end(std::size_t index, bool late, double limit_s) {
        Child child = std::move(running_[index]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
        if (late) {
            ::kill(child.pid, SIGKILL);
        }
        ::close(child.pipe);
        int status = 0;
        rusage used{};
        while (::wait4(child.pid, &status, 0, &used) < 0 && errno == EINTR) {
        }
        ChildEnd result;
        result.text = std::move(child.text);
        result.failed = late ? "it did not end within " +
                                   std::to_string(static_cast<long>(limit_s)) + " s and was killed"
                             : how_it_ended(status);
        result.wall_s = since(child.start);
        result.cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
        result.peak_memory_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
        return result;
    }

private:
    int free_slot() const {
        for (int slot = 0;; ++slot) {
            const bool taken = std::any_of(running_.begin(), running_.end(),
                                           [&](const Child& c) { return c.slot == slot; });
            if (!taken) {
                return slot;
            }
        }
    }

    const bool pin_;
    std::deque<Child> running_;
};

void wait_for_any(const std::deque<Child>& running) {
    std::vector<pollfd> waits;
    for (const Child& child : running) {
        waits.push_back({child.pipe, POLLIN, 0});
    }
    ::poll(waits.data(), waits.size(), poll_ms);
}

}  // namespace

bool run_in_children(const std::vector<std::size_t>& tasks, const ProcessPoolOptions& options,
                     const std::function<void(std::size_t, int)>& body,
                     const std::function<void(std::size_t, const ChildEnd&)>& done,
                     const std::atomic<bool>* stop) {
    std::size_t at = 0;
    const std::function<std::optional<std::size_t>()> next = [&] {
        return at < tasks.size() ? std::optional(tasks[at++]) : std::nullopt;
    };
    return run_in_children(next, options, body, done, stop);
}

bool run_in_children(const std::function<std::optional<std::size_t>()>& next,
                     const ProcessPoolOptions& options,
                     const std::function<void(std::size_t, int)>& body,
                     const std::function<void(std::size_t, const ChildEnd&)>& done,
                     const std::atomic<bool>* stop) {
    Children children(options.pin);
    const auto at_once = static_cast<std::size_t>(std::max(1, options.jobs));
    const auto stopped = [&] { return stop != nullptr && stop->load(); };
    const SignalTask signal = [&](std::size_t task, int number) {
        return children.signal(task, number);
    };
    for (;;) {
        while (!stopped() && children.running().size() < at_once) {
            const std::optional<std::size_t> task = next();
            if (!task) {
                break;
            }
            children.start(*task, body);
            if (options.started) {
                options.started(*task);
            }
        }
        if (children.running().empty()) {
            return !stopped();
        }
        wait_for_any(children.running());
        if (options.turn) {
            options.turn(signal);
        }
        for (std::size_t i = 0; i < children.running().size();) {
            Child& child = children.running()[i];
            const bool ended = Children::read(child);
            Children::tell_lines(child, options);
            if (stopped()) {  // an interrupt of the whole group cuts the answers of children short
                return false;
            }
            const bool late = !ended && options.limit_s > 0 && since(child.start) > options.limit_s;
            if (!ended && !late) {
                ++i;
                continue;
            }
            const std::size_t task = child.task;
            done(task, children.end(i, late, options.limit_s));
        }
    }
}

bool write_to_pipe(int pipe, const std::string& text) {
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t n = ::write(pipe, text.data() + written, text.size() - written);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        written += static_cast<std::size_t>(n);
    }
    return true;
}

int usable_cores() {
    return std::max(1, static_cast<int>(cores().size()));
}

}  // namespace tessera::base
