// Map:
//   Team::prepare()  hello of all, the job to all, ready from all
//   Team::run()      tasks to those who have room, answers, whoever is lost
#include "ranks/manager.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/pause.hpp"
#include "base/printable.hpp"
#include "link.hpp"
#include "task_messages.hpp"
#include "tessera/base/error.hpp"

namespace tessera::ranks {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;
using Done = std::function<void(std::size_t, const base::ChildEnd&)>;
using Next = std::function<std::optional<std::size_t>()>;

constexpr auto shortest_pause = std::chrono::microseconds(500);
constexpr auto longest_pause = std::chrono::milliseconds(4);
constexpr auto lost_after = seconds(30);
constexpr auto beats_every = seconds(30);
constexpr auto looks_every = seconds(1);

struct Worker {
    enum class State { silent, greeted, ready, lost };
    State state = State::silent;
    std::string host;
    std::set<std::size_t> tasks;
    Clock::time_point heard = Clock::now();
};

/// The error that a worker met, as if it had been met here.
[[noreturn]] void throw_again(const std::string& message, int exit_code) {
    if (exit_code == PluginError("").exit_code()) {
        throw PluginError(message);
    }
    if (exit_code == LimitReached("").exit_code()) {
        throw LimitReached(message);
    }
    throw UserError(message);
}

}  // namespace

class Manager::Team {
public:
    Team() : workers_(static_cast<std::size_t>(link_.size())) {}
    ~Team() {
        for (int rank = 1; rank < link_.size(); ++rank) {
            if (orderly_ || worker(rank).state != Worker::State::lost) {
                link_.send(rank, Kind::leave, orderly_ ? "" : "at once");
            }
        }
        link_.set_orderly(orderly_);
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int size() const {
        return link_.size() - 1;
    }

    bool prepare(const Job& job, const std::atomic<bool>* stop) {
        job_ = &job;
        for (const auto state : {Worker::State::greeted, Worker::State::ready}) {
            while (!all(state)) {
                if (!goes_on(stop)) {
                    return false;
                }
                turn({});
                refuse_lost();
            }
            if (state == Worker::State::greeted) {
                for (int rank = 1; rank < link_.size(); ++rank) {
                    link_.send(rank, Kind::text, job.text);
                }
            }
        }
        return true;
    }

    bool run(const Next& next, const TaskOptions& options, const Done& done,
             const std::atomic<bool>* stop) {
        options_ = &options;
        stop_ = stop;
        for (;;) {
            if (!goes_on(stop)) {
                return false;
            }
            hand_out(next);
            const bool none_left = all(Worker::State::lost);
            if (running() == 0 && again_.empty() && !(none_left && next())) {
                return true;
            }
            if (none_left) {
                throw UserError(
                    "all workers were lost; what was found goes on with the same command and "
                    "--resume");
            }
            turn(done);
        }
    }

private:
    Worker& worker(int rank) {
        return workers_[static_cast<std::size_t>(rank)];
    }
    std::string name(int rank) {
        const std::string& host = worker(rank).host;
        return "rank " + std::to_string(rank) + (host.empty() ? "" : " on " + host);
    }
    bool all(Worker::State state) const {
        return std::all_of(workers_.begin() + 1, workers_.end(),
                           [&](const Worker& one) { return one.state == state; });
    }
    std::size_t running() const {
        std::size_t n = 0;
        for (const Worker& one : workers_) {
            n += one.tasks.size();
        }
        return n;
    }

    bool goes_on(const std::atomic<bool>* stop) const {
        return (stop == nullptr || !stop->load()) && !launcher_gone_;
    }

    std::optional<std::size_t> next_task(const Next& next) {
        if (again_.empty()) {
            return next();
        }
        const std::size_t task = again_.front();
        again_.pop_front();
        return task;
    }

    /// A task to each in turn, so that few tasks are spread.
    void hand_out(const Next& next) {
        for (std::size_t room = 0; room < static_cast<std::size_t>(options_->jobs); ++room) {
            for (int rank = 1; rank < link_.size(); ++rank) {
                Worker& one = worker(rank);
                if (one.state != Worker::State::ready || one.tasks.size() > room) {
                    continue;
                }
                const std::optional<std::size_t> task = next_task(next);
                if (!task) {
                    return;
                }
                one.tasks.insert(*task);
                link_.send(rank, Kind::text, to_line(Task{*task, options_->text(*task)}));
            }
        }
    }

    /// What has come, else a pause.
    void turn(const Done& done) {
        bool came = false;
        while (const std::optional<Message> message = link_.receive()) {
            came = true;
            hear(*message, done);
        }
        look_after_all(done);
        if (came) {
            pause_.reset();
        } else {
            pause_.sleep();
        }
    }

    void hear(const Message& message, const Done& done) {
        if (message.rank < 1 || message.rank >= link_.size()) {
            return;
        }
        Worker& one = worker(message.rank);
        one.heard = Clock::now();
        const std::optional<Said> said =
            message.kind == Kind::text ? read_said(message.text) : std::nullopt;
        if (!said) {
            return;
        }
        switch (said->what) {
            case Said::What::hello:
                one.host = base::one_line(said->host);
                one.state = Worker::State::greeted;
                check_program(message.rank, said->program);
                break;
            case Said::What::ready:
                one.state = Worker::State::ready;
                check_traits(message.rank, said->traits);
                break;
            case Said::What::refused:
                throw_again(name(message.rank) + ": " + said->message, said->exit_code);
            case Said::What::gone:
                lose(message.rank, base::one_line(said->message), done);
                break;
            case Said::What::end:
                end(one, *said, done);
                break;
        }
    }

    void check_program(int rank, const std::string& program) {
        if (program != job_->program) {
            throw UserError(name(rank) + " runs " + base::one_line(program) +
                            ", the manager runs " + job_->program +
                            "; install the same program on all hosts");
        }
    }

    void check_traits(int rank, const std::string& traits) {
        if (traits != job_->traits) {
            throw PluginError(name(rank) + " " + job_->difference(traits));
        }
    }

    /// An answer of a worker that was thought lost counts if nobody else has the task now.
    void end(Worker& one, const Said& said, const Done& done) {
        const bool waits = std::erase(again_, said.task) > 0;
        if ((one.tasks.erase(said.task) > 0 || waits) && done) {
            done(said.task, said.end);
        }
    }

    void lose(int rank, const std::string& why, const Done& done) {
        Worker& one = worker(rank);
        if (one.state == Worker::State::lost) {
            return;
        }
        one.state = Worker::State::lost;
        lost_why_ = name(rank) + " was lost: " + why;
        if (options_ != nullptr && options_->told && goes_on(stop_)) {
            options_->told(lost_why_);
        }
        for (const std::size_t task : std::exchange(one.tasks, {})) {
            if (lost_once_.insert(task).second) {
                again_.push_back(task);
            } else if (done) {
                base::ChildEnd failed;
                failed.failed = "two workers were lost while they ran it";
                done(task, failed);
            }
        }
    }

    void refuse_lost() const {
        if (!lost_why_.empty()) {
            throw UserError(lost_why_ + " before it was ready");
        }
    }

    void look_after_all(const Done& done) {
        const Clock::time_point now = Clock::now();
        if (now - looked_ < looks_every) {
            return;
        }
        // A manager that was stopped for a while has not heard what waits for it.
        const bool awake = now - looked_ < lost_after / 2;
        looked_ = now;
        if (launcher_.is_gone()) {
            ::signal(SIGPIPE, SIG_IGN);  // the terminal may be gone with it
            launcher_gone_ = true;
            orderly_ = false;
        }
        const bool beats = now - beat_ >= beats_every;
        beat_ = beats ? now : beat_;
        for (int rank = 1; rank < link_.size(); ++rank) {
            Worker& one = worker(rank);
            if (one.state == Worker::State::lost) {
                continue;
            }
            if (!awake) {
                one.heard = now;
            }
            if (now - one.heard > lost_after) {
                orderly_ = false;  // it may never come to the end
                lose(rank, "it has not been heard for 30 s", done);
            } else if (beats) {
                link_.send(rank, Kind::beat, "");
            }
        }
    }

    const Launcher launcher_;
    Link link_;
    std::vector<Worker> workers_;  ///< by rank; the manager's own is not used
    const Job* job_ = nullptr;
    const TaskOptions* options_ = nullptr;
    const std::atomic<bool>* stop_ = nullptr;
    std::deque<std::size_t> again_;
    std::set<std::size_t> lost_once_;
    std::string lost_why_;
    base::Pause pause_{shortest_pause, longest_pause};
    Clock::time_point looked_ = Clock::now(), beat_ = looked_;
    bool orderly_ = true, launcher_gone_ = false;
};

Manager::Manager() : team_(std::make_unique<Team>()) {}
Manager::~Manager() = default;

int Manager::workers() const {
    return team_->size();
}

bool Manager::prepare(const Job& job, const std::atomic<bool>* stop) {
    return team_->prepare(job, stop);
}

bool Manager::run(const std::function<std::optional<std::size_t>()>& next,
                  const TaskOptions& options,
                  const std::function<void(std::size_t task, const base::ChildEnd&)>& done,
                  const std::atomic<bool>* stop) {
    return team_->run(next, options, done, stop);
}

}  // namespace tessera::ranks
