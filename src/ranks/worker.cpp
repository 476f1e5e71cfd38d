// Map:
//   Searcher   the child that prepares the job and runs its tasks; it knows nothing of MPI
//   Relay      the process that the launcher started: lines between the socket and the manager
//   work()     both
#include "ranks/worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>

#include "lines.hpp"
#include "link.hpp"
#include "task_messages.hpp"
#include "tessera/base/error.hpp"

namespace tessera::ranks {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto beats_every = seconds(2);
constexpr auto manager_is_gone_after = seconds(300);
/// After an answer the next task is about to come.
constexpr auto soon = milliseconds(100);
constexpr timespec short_wait{0, 2'000'000}, long_wait{0, 20'000'000};

std::atomic<bool> ended{false};

std::string host() {
    char text[256] = "";
    ::gethostname(text, sizeof text - 1);
    return text;
}

void to_nowhere(int stream) {
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) {
        ::dup2(nowhere, stream);
        ::close(nowhere);
    }
}

class Searcher {
public:
    using Prepare = std::function<Work(const std::string&)>;

    explicit Searcher(int socket) : socket_(socket), lines_(socket) {}

    void run(const std::string& program, const Prepare& prepare) {
        Said hello{Said::What::hello};
        hello.program = program;
        hello.host = host();
        say(hello);
        const std::optional<std::string> job = lines_.next(true);
        if (job && prepared(prepare, *job)) {
            work();
        }
    }

private:
    void say(const Said& said) {
        base::write_to_pipe(socket_, to_line(said) + "\n");
    }

    bool prepared(const Prepare& prepare, const std::string& job) {
        Said said{Said::What::refused};
        try {
            work_ = prepare(job);
            said.what = Said::What::ready;
            said.traits = work_.traits;
        } catch (const Error& error) {
            said.message = error.what();
            said.exit_code = error.exit_code();
        } catch (const std::exception& error) {
            const Bug bug(error.what());
            said.message = bug.what();
            said.exit_code = bug.exit_code();
        }
        say(said);
        return said.what == Said::What::ready;
    }

    /// Until the relay closes its end.
    void work() {
        while (const std::optional<std::string> first = lines_.next(true)) {
            take(*first);
            try {
                base::run_in_children(
                    [&] { return next(); }, work_.pool,
                    [&](std::size_t task, int pipe) { work_.body(texts_.at(task), pipe); },
                    [&](std::size_t task, const base::ChildEnd& end) { tell(task, end); }, nullptr);
            } catch (const Error& error) {
                Said gone{Said::What::gone};
                gone.message = error.what();
                say(gone);
                return;
            }
        }
    }

    void take(const std::string& line) {
        if (std::optional<Task> task = read_task(line)) {
            waiting_.push_back(task->number);
            texts_[task->number] = std::move(task->text);
        }
    }

    std::optional<std::size_t> next() {
        while (const std::optional<std::string> line = lines_.next(false)) {
            take(*line);
        }
        if (waiting_.empty()) {
            return std::nullopt;
        }
        const std::size_t task = waiting_.front();
        waiting_.erase(waiting_.begin());
        return task;
    }

    void tell(std::size_t task, const base::ChildEnd& end) {
        texts_.erase(task);
        Said said{Said::What::end};
        said.task = task;
        said.end = end;
        say(said);
    }

    const int socket_;
    Lines lines_;
    Work work_;
    std::vector<std::size_t> waiting_;
    std::map<std::size_t, std::string> texts_;
};

/// Ends with the relay; signals of the whole job are the relay's to understand.
void begin_searcher(pid_t relay) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != relay) {
        ::_exit(1);
    }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
        ::signal(signal, SIG_IGN);
    }
    to_nowhere(STDERR_FILENO);
}

class Relay {
public:
    Relay(pid_t searcher, int socket) : searcher_(searcher), socket_(socket), lines_(socket) {}
    ~Relay() {
        end_searcher();
    }
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    void run() {
        for (;;) {
            pass_on_answers();
            while (const std::optional<Message> message = link_.receive()) {
                heard_ = Clock::now();
                if (message->kind == Kind::leave) {
                    link_.set_orderly(message->text.empty());
                    return;
                }
                if (message->kind == Kind::text && searcher_ > 0) {
                    answered_ = {};
                    base::write_to_pipe(socket_, message->text + "\n");
                }
            }
            if (ended.load() && searcher_ > 0) {
                end_searcher();
                say_gone("it was ended by a signal");
            }
            if (beat_late()) {
                return;
            }
            wait();
        }
    }

private:
    void pass_on_answers() {
        while (const std::optional<std::string> line =
                   searcher_ > 0 ? lines_.next(false) : std::nullopt) {
            link_.send(0, Kind::text, *line);
            answered_ = Clock::now();
        }
        if (searcher_ > 0 && lines_.closed()) {
            end_searcher();
            say_gone("its process that searches ended");
        }
    }

    void say_gone(const std::string& why) const {
        Said gone{Said::What::gone};
        gone.message = why;
        link_.send(0, Kind::text, to_line(gone));
    }

    void end_searcher() {
        if (searcher_ <= 0) {
            return;
        }
        ::kill(searcher_, SIGKILL);  // its children end with it
        ::close(socket_);
        int status = 0;
        while (::waitpid(searcher_, &status, 0) < 0 && errno == EINTR) {
        }
        searcher_ = -1;
    }

    /// True: manager or launcher are no more.
    bool beat_late() {
        const Clock::time_point now = Clock::now();
        if (now - beat_ < beats_every) {
            return false;
        }
        beat_ = now;
        link_.send(0, Kind::beat, "");
        const bool gone = launcher_.is_gone() || now - heard_ > manager_is_gone_after;
        if (gone) {
            link_.set_orderly(false);
        }
        return gone;
    }

    void wait() const {
        pollfd answer{searcher_ > 0 ? socket_ : -1, POLLIN, 0};
        const bool often = link_.sends() || Clock::now() - answered_ < soon;
        ::ppoll(&answer, 1, often ? &short_wait : &long_wait, nullptr);
    }

    const Launcher launcher_;
    pid_t searcher_;
    const int socket_;
    Lines lines_;
    Link link_;
    Clock::time_point beat_ = Clock::now(), heard_ = beat_, answered_ = {};
};

}  // namespace

int work(const std::string& program, const std::function<Work(const std::string& job)>& prepare) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        throw LimitReached("no socket to a child process could be made");
    }
    to_nowhere(STDOUT_FILENO);
    const pid_t relay = ::getpid();
    const pid_t searcher = ::fork();
    if (searcher == 0) {
        ::close(ends[0]);
        begin_searcher(relay);
        try {
            Searcher(ends[1]).run(program, prepare);
        } catch (...) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    ::close(ends[1]);
    if (searcher < 0) {
        ::close(ends[0]);
        throw LimitReached("no child process could be started; ulimit -u limits them");
    }
    ::signal(SIGPIPE, SIG_IGN);
    for (const int signal : {SIGINT, SIGTERM}) {
        ::signal(signal, [](int) { ended.store(true); });
    }
    Relay(searcher, ends[0]).run();
    return 0;
}

}  // namespace tessera::ranks
