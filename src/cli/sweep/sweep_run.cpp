// Map:
//   SweepFolder   -o: what is known already, the journal, the files at the end
//   Progress      lines on stderr
//   Choice        which point is searched next: of a list, or claimed beside other processes
//   Engine        where it is searched: in a child, or on another rank
//   run_sweep()   all of it
//   merge_sweeps()
#include "sweep_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <utility>

#include "base/leave.hpp"
#include "base/pause.hpp"
#include "base/process_pool.hpp"
#include "base/units.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/ranks/ranked.hpp"
#include "cli/run/live_run.hpp"
#include "cli/view/interrupt.hpp"
#include "sweep_journals.hpp"
#include "sweep_work.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

using Policy = io::RunDirectory::Policy;
using Clock = std::chrono::steady_clock;

constexpr const char* journal = "points.jsonl";
// Every look reads the folder, which may be another host's.
constexpr auto look_again = std::chrono::milliseconds(100);
constexpr auto look_at_last = std::chrono::milliseconds(1600);

Policy policy(const Arguments& arguments) {
    Policy result = Policy::refuse;
    const char* chosen = nullptr;
    for (const auto& [name, meaning] : {std::pair{"force", Policy::replace},
                                        {"resume", Policy::resume},
                                        {"share", Policy::share}}) {
        if (!arguments.flag(name)) {
            continue;
        }
        if (!arguments.has("output")) {
            throw UserError(std::string("option '--") + name + "' needs the folder: -o DIR");
        }
        if (chosen != nullptr) {
            throw UserError(std::string("options '--") + chosen + "' and '--" + name +
                            "' exclude each other");
        }
        chosen = name;
        result = meaning;
    }
    return result;
}

/// The plan of a folder; nothing: it holds no sweep.
std::optional<SweepPlan> stored_plan(const std::string& text, const std::string& file) {
    const io::ParsedJson json = base::parsed_json(text);
    if (!json.is_object() || !json.contains("sweep")) {
        return std::nullopt;
    }
    return read_plan(json["sweep"], file);
}

/// What differs, in words; empty: nothing.
std::string difference(const io::Json& a, const io::Json& b) {
    std::string text;
    for (const auto& [key, value] : a.members()) {
        const bool same = b.contains(key) && io::Json(b)[key] == value;
        text += same ? "" : (text.empty() ? "" : ", ") + key;
    }
    return text;
}

std::string difference(const SweepPlan& a, const SweepPlan& b) {
    const std::string text = difference(to_json(a), to_json(b));
    return text == "command" ? difference(a.command, b.command) : text;
}

io::Json description(const SweepPlan& plan, const std::vector<std::string>& args) {
    io::Json root;
    root["schema_version"] = io::schema_version;
    root["tessera_version"] = version;
    root["command"] = io::Json::array({"tessera", "sweep"});
    for (const std::string& arg : args) {
        root["command"].push_back(io::exact(arg));
    }
    root["host"] = host_name();
    root["started"] = utc_now();
    root["sweep"] = to_json(plan);
    return root;
}

class SweepFolder {
public:
    /// Looks only. \throws UserError
    SweepFolder(const SweepPlan& plan, const Arguments& arguments)
        : plan_(plan), how_(policy(arguments)) {
        if (!arguments.has("output")) {
            return;
        }
        folder_.emplace(arguments.text("output"), how_);
        if (goes_on()) {
            check_same();
        }
    }
    /// What an error ends stays, to be resumed, if anything was found.
    ~SweepFolder() {
        if (journal_ < 0) {
            return;
        }
        ::close(journal_);
        try {
            if (noted_ && !shared()) {
                folder_->finish({}, false);
            }
        } catch (const std::bad_alloc&) {  // what is there stays
        }
    }
    SweepFolder(const SweepFolder&) = delete;
    SweepFolder& operator=(const SweepFolder&) = delete;

    /// Opens it and reads what it knows. Points that failed are searched again.
    void open(const std::vector<std::string>& args, std::vector<SweepOutcome>& outcomes) {
        if (!folder_) {
            return;
        }
        const bool begun = goes_on();
        folder_->open();
        if (!goes_on()) {
            folder_->write("run.json", io::dumped(description(plan_, args)), true);
            folder_->write("checkpoint.json", "{}\n");
        } else if (shared()) {
            if (!begun) {  // another process was faster
                check_same();
            }
        } else {
            cut_half_line();
            folder_->write("checkpoint.json", "{}\n");
        }
        if (shared()) {
            folder_->let_in();
            claims_.emplace(folder_->folder());
        }
        read_news(outcomes);
        if (!shared()) {
            for (std::size_t point = 0; point < outcomes.size(); ++point) {
                if (outcomes[point].status == "failed") {
                    measured_s_[point] = std::exchange(outcomes[point], {}).wall_s;
                }
            }
        }
        journal_ = folder_->folder().open_to_append(shared() ? SweepJournals::own_name() : journal);
    }

    bool shared() const {
        return how_ == Policy::share;
    }
    /// What took long before begins first. The others keep their order.
    void sort_by_time(std::vector<std::size_t>& points) const {
        const auto seconds = [&](std::size_t point) {
            const auto found = measured_s_.find(point);
            return found == measured_s_.end() ? 0 : found->second;
        };
        std::stable_sort(points.begin(), points.end(),
                         [&](std::size_t a, std::size_t b) { return seconds(a) > seconds(b); });
    }
    /// What this process and others have found since the last call.
    void read_news(std::vector<SweepOutcome>& outcomes) {
        if (goes_on() || shared()) {
            journals_.read(folder_->folder(), outcomes);
        }
    }
    /// \pre shared
    SweepClaims& claims() {
        return *claims_;
    }
    /// Another process has written the result.
    bool is_finished() const {
        return folder_->folder().has("result.json") && !folder_->folder().has("checkpoint.json");
    }

    void note(std::size_t point, const SweepOutcome& outcome) {
        if (journal_ < 0) {
            return;
        }
        if (base::write_to_pipe(journal_, journal_line(point, outcome))) {
            noted_ = true;
        } else {
            throw UserError((folder_->path() / journal).string() +
                            ": cannot be written; make room and give the command again with "
                            "--resume");
        }
    }

    /// False: something could not be written.
    bool finish(const std::map<std::string, std::string>& files, bool ended, bool json,
                std::ostream& out, std::ostream& err) {
        if (!folder_) {
            return true;
        }
        const auto unwritten = folder_->finish(files, ended);
        noted_ = noted_ && !unwritten.empty();
        if (!unwritten.empty()) {
            explain_unwritten(err, *folder_, unwritten, files,
                              "make room and give the command again with --resume");
        } else if (!json) {
            print_place(out, *folder_);
        }
        return unwritten.empty();
    }

private:
    /// There is a sweep in the folder that this one goes on with.
    bool goes_on() const {
        return (how_ == Policy::resume || shared()) &&
               folder_->state() != io::RunDirectory::State::free;
    }

    /// A line that a kill cut off would spoil the next one.
    void cut_half_line() const {
        const std::string text = folder_->read(journal);
        const std::size_t whole = text.rfind('\n') + 1;
        if (whole < text.size()) {
            folder_->write(journal, text.substr(0, whole), true);
        }
    }

    void check_same() const {
        const std::string file = (folder_->path() / "run.json").string();
        const std::optional<SweepPlan> before = stored_plan(folder_->read("run.json"), file);
        if (!before) {
            throw UserError("-o " + folder_->path().string() +
                            ": holds no sweep; choose another folder");
        }
        const std::string differs = difference(plan_, *before);
        if (!differs.empty()) {
            throw UserError("-o " + folder_->path().string() + ": holds another sweep (" + differs +
                            " differ); give its command again, or choose another folder");
        }
    }

    const SweepPlan& plan_;
    const Policy how_;
    std::optional<io::RunDirectory> folder_;
    std::optional<SweepClaims> claims_;
    SweepJournals journals_;
    std::map<std::size_t, double> measured_s_;  ///< of points that are searched again
    int journal_ = -1;
    bool noted_ = false;  ///< something was, and finish() has not been called
};

/// How far it is, every few seconds.
class Progress {
public:
    Progress(std::size_t n, bool quiet, std::ostream& err) : n_(n), quiet_(quiet), err_(err) {}

    void ended(const SweepOutcome& outcome) {
        ++done_;
        failed_ += outcome.status == "failed";
        const double now_s = seconds();
        if (quiet_ || (now_s - told_s_ < every_s && done_ < n_)) {
            return;
        }
        told_s_ = now_s;
        err_ << "tessera: " << done_ << " of " << base::counted(n_, "search", "searches");
        if (failed_ > 0) {
            err_ << ", " << failed_ << " failed";
        }
        const double left_s = now_s / static_cast<double>(done_) * static_cast<double>(n_ - done_);
        err_ << ", " << base::quantity(now_s, "s");
        if (done_ < n_) {
            err_ << ", about " << base::quantity(left_s, "s") << " left";
        }
        err_ << std::endl;
    }

private:
    static constexpr double every_s = 5;

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    const std::size_t n_;
    const bool quiet_;
    std::ostream& err_;
    std::size_t done_ = 0, failed_ = 0;
    double told_s_ = 0;
};

/// What a child said, or how it died.
SweepOutcome outcome_of(const base::ChildEnd& end) {
    const io::ParsedJson json = base::parsed_json(end.text);
    std::optional<SweepOutcome> outcome = end.failed.empty() ? read_outcome(json) : std::nullopt;
    if (!outcome) {
        outcome.emplace();
        outcome->status = "failed";
        outcome->message = end.failed.empty() ? "its process said nothing" : end.failed;
    }
    outcome->wall_s = end.wall_s;
    outcome->cpu_s = end.cpu_s;
    outcome->memory_bytes = end.peak_memory_bytes;
    return *outcome;
}

bool deliver(SweepResult& result, SweepFolder& folder, bool ended, const Arguments& arguments,
             std::ostream& out, std::ostream& err) {
    share(result.plan, result.outcomes);
    const bool json = arguments.flag("json");
    if (json) {
        out << io::dumped(sweep_json(result));
    } else {
        print_sweep(out, result);
    }
    out.flush();
    return folder.finish(sweep_files(result, arguments.flag("all-mappings")), ended, json, out,
                         err);
}

/// Which point is searched next.
class Choice {
public:
    /// `points`: those that this process may search, in order.
    Choice(SweepFolder& folder, const std::vector<std::size_t>& points,
           std::vector<SweepOutcome>& outcomes)
        : folder_(folder), points_(points), outcomes_(outcomes) {}

    std::optional<std::size_t> next() {
        return folder_.shared() ? claimed_at_times() : listed();
    }
    /// Its outcome is in the journal.
    void ended(std::size_t point) {
        if (folder_.shared()) {
            folder_.claims().drop(point);
        }
    }
    /// Points that nobody has found yet. The next look for one comes at once.
    std::size_t left() {
        next_look_ = {};
        folder_.read_news(outcomes_);
        return static_cast<std::size_t>(std::count_if(
            points_.begin(), points_.end(), [&](std::size_t point) { return open(point); }));
    }

private:
    bool open(std::size_t point) const {
        return outcomes_[point].status.empty();
    }

    std::optional<std::size_t> listed() {
        while (at_ < points_.size()) {
            const std::size_t point = points_[at_++];
            if (open(point)) {
                return point;
            }
        }
        return std::nullopt;
    }

    /// Whoever has room asks many times a second.
    std::optional<std::size_t> claimed_at_times() {
        const Clock::time_point now = Clock::now();
        if (now < next_look_) {
            return std::nullopt;
        }
        const std::optional<std::size_t> point = claimed();
        wait_ = point ? look_again : std::min(2 * wait_, look_at_last);
        next_look_ = point ? now : now + wait_;
        return point;
    }

    /// One that nobody searches. It may have ended since the journals were read.
    std::optional<std::size_t> claimed() {
        folder_.read_news(outcomes_);
        for (const std::size_t point : points_) {
            SweepClaims& claims = folder_.claims();
            if (!open(point) || claims.has(point) || !claims.take(point)) {
                continue;
            }
            folder_.read_news(outcomes_);
            if (open(point)) {
                return point;
            }
            claims.drop(point);
        }
        return std::nullopt;
    }

    SweepFolder& folder_;
    const std::vector<std::size_t>& points_;
    std::vector<SweepOutcome>& outcomes_;
    std::size_t at_ = 0;
    Clock::time_point next_look_ = {};
    std::chrono::milliseconds wait_ = look_again;
};

/// Where points are searched: in children of this process, or on other ranks.
class Engine {
public:
    using Next = std::function<std::optional<std::size_t>()>;
    using Done = std::function<void(std::size_t, const base::ChildEnd&)>;

    Engine(const SweepPlan& plan, const SweepSearch& search, const SweepCall& call,
           std::ostream& err)
        : plan_(plan), search_(search), call_(call), err_(err) {}

    /// False: `stop` was set.
    bool run(const Next& next, const Done& done, const std::atomic<bool>* stop) const {
        ranks::Manager* const manager = Ranked::manager();
        return manager == nullptr ? in_children(next, done, stop)
                                  : on_ranks(*manager, next, done, stop);
    }

private:
    bool in_children(const Next& next, const Done& done, const std::atomic<bool>* stop) const {
        const Arguments& arguments = call_.arguments;
        base::ProcessPoolOptions pool;
        pool.jobs = arguments.given("jobs") ? static_cast<int>(arguments.whole("jobs", 1, 1024))
                                            : base::usable_cores();
        pool.limit_s = kill_after_s(search_.settings);
        return base::run_in_children(
            next, pool,
            [&](std::size_t point, int pipe) {
                base::end_process_after_search();
                const SweepOutcome outcome = search_point(search_, plan_.space.choice(point));
                base::write_to_pipe(pipe, outcome_json(outcome).dump());
            },
            done, stop);
    }

    bool on_ranks(ranks::Manager& manager, const Next& next, const Done& done,
                  const std::atomic<bool>* stop) const {
        const ranks::Job job = sweep_job(call_.args, search_, call_.texts);
        ranks::TaskOptions tasks;
        tasks.jobs = jobs_of_rank(call_.arguments);
        tasks.text = [&](std::size_t point) { return choice_text(plan_.space.choice(point)); };
        tasks.told = [&](const std::string& line) { err_ << "tessera: " << line << std::endl; };
        return manager.prepare(job, stop) && manager.run(next, tasks, done, stop);
    }

    const SweepPlan& plan_;
    const SweepSearch& search_;
    const SweepCall& call_;
    std::ostream& err_;
};

/// The claim behind the points: who has it writes the result.
bool writes_result(SweepFolder& folder, std::size_t n_points, const Interrupt& interrupt) {
    base::Pause pause(look_again, look_at_last);
    while (!folder.claims().take(n_points)) {
        if (interrupt.happened()) {
            return false;
        }
        pause.sleep();
    }
    return !folder.is_finished();
}

}  // namespace

int run_sweep(const SweepPlan& plan, const SweepSearch& search, const SweepCall& call,
              std::ostream& out, std::ostream& err) {
    const auto& [args, arguments, shard, texts] = call;
    const bool quiet = ui(arguments, err) == Ui::none;
    SweepFolder folder(plan, arguments);
    SweepResult result{plan, std::vector<SweepOutcome>(plan.space.points.size())};
    folder.open(args, result.outcomes);
    std::vector<std::size_t> own = plan.searched(shard.index, shard.count);
    folder.sort_by_time(own);
    const auto left =
        static_cast<std::size_t>(std::count_if(own.begin(), own.end(), [&](std::size_t point) {
            return result.outcomes[point].status.empty();
        }));
    Progress progress(left, quiet, err);
    Choice choice(folder, own, result.outcomes);
    std::size_t searched = 0;
    const Interrupt interrupt;
    const auto next = [&] { return choice.next(); };
    const auto done = [&](std::size_t point, const base::ChildEnd& end) {
        result.outcomes[point] = outcome_of(end);
        folder.note(point, result.outcomes[point]);
        choice.ended(point);
        progress.ended(result.outcomes[point]);
        ++searched;
    };
    const Engine engine(plan, search, call, err);
    const auto search_those_left = [&] { return engine.run(next, done, interrupt.stop()); };
    bool whole = search_those_left();
    base::Pause pause(look_again, look_at_last);
    for (std::size_t left = own.size(); whole && folder.shared();) {
        const std::size_t before = std::exchange(left, choice.left());
        if (left == 0) {
            break;
        }
        if (left < before) {
            pause.reset();
        }
        // Others search what is left, and may be killed.
        pause.sleep();
        whole = search_those_left();
    }
    if (folder.shared() && (!whole || !writes_result(folder, own.size(), interrupt))) {
        err << "tessera: " << base::counted(searched, "search", "searches")
            << " of the sweep here; "
            << (whole ? "another process has written its result\n"
                      : "go on with the same command\n");
        return whole ? sweep_exit_code(result, own) : ExitCode::interrupted;
    }
    if (!deliver(result, folder, whole, arguments, out, err)) {
        return ExitCode::user_error;
    }
    if (!whole) {
        err << "tessera: the sweep was interrupted"
            << (arguments.has("output") ? "; go on with the same command and --resume\n" : "\n");
        return ExitCode::interrupted;
    }
    return sweep_exit_code(result, own);
}

int merge_sweeps(const std::vector<std::string>& folders, const std::vector<std::string>& args,
                 const Arguments& arguments, std::ostream& out, std::ostream& err) {
    std::optional<SweepPlan> plan;
    std::vector<SweepOutcome> outcomes;
    for (const std::string& path : folders) {
        const base::Directory folder{std::filesystem::path(path)};
        const std::string file = path + "/run.json";
        const std::optional<SweepPlan> one =
            stored_plan(folder.read("run.json").value_or(""), file);
        if (!one) {
            throw UserError("--merge " + path +
                            ": is no folder of a sweep (its run.json has none)");
        }
        if (!plan) {
            plan = one;
            outcomes.resize(plan->space.points.size());
        } else if (const std::string differs = difference(*plan, *one); !differs.empty()) {
            throw UserError("--merge " + path + ": holds another sweep than " + folders.front() +
                            " (" + differs + " differ)");
        }
        SweepJournals().read(folder, outcomes);
    }
    SweepFolder merged(*plan, arguments);
    std::vector<SweepOutcome> known;
    merged.open(args, known);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (!outcomes[i].status.empty()) {
            merged.note(i, outcomes[i]);
        }
    }
    SweepResult result{*plan, std::move(outcomes)};
    const std::vector<std::size_t> all = plan->searched(1, 1);
    const bool whole = std::none_of(all.begin(), all.end(), [&](std::size_t point) {
        return result.outcomes[point].status.empty();
    });
    if (!deliver(result, merged, whole, arguments, out, err)) {
        return ExitCode::user_error;
    }
    return sweep_exit_code(result, all);
}

}  // namespace tessera::cli
