// Map:
//   policy()       what may be done with a folder that is there
//   MapRun         the order of things
#include "map_run.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <ostream>

#include "base/memory_reserve.hpp"
#include "base/printable.hpp"
#include "cli/answer/usage_goals.hpp"
#include "cli/cli.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "cli/plugins/components.hpp"
#include "io/json_text.hpp"
#include "io/run_directory.hpp"
#include "live_run.hpp"
#include "map_options.hpp"
#include "map_report.hpp"
#include "mapping_view.hpp"
#include "reading_limit.hpp"
#include "run_description.hpp"
#include "spec/kept_files.hpp"
#include "spec/reader.hpp"
#include "tessera/mapper/order.hpp"
#include "tessera/session.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {

namespace {

/// What is left of a limit in time; a little, so that the search can say what it has.
void spend(double& limit_s, double spent_s) {
    limit_s = limit_s > 0 ? std::max(limit_s - spent_s, 1e-3) : 0;
}

io::RunDirectory::Policy policy(const Arguments& arguments) {
    using Policy = io::RunDirectory::Policy;
    const std::pair<const char*, Policy> choices[] = {
        {"force", Policy::replace}, {"resume", Policy::resume}, {"skip-if-exists", Policy::skip}};
    Policy result = Policy::refuse;
    const char* chosen = nullptr;
    for (const auto& [name, meaning] : choices) {
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

/// One `tessera map` whose inputs are read.
class MapRun {
public:
    MapRun(const std::vector<std::string>& args, const Arguments& arguments,
           const mapper::Options& settings, std::ostream& out, std::ostream& err,
           const StoredRun* original)
        : args_(args), arguments_(arguments), out_(out), err_(err), original_(original) {
        ui_ = ui(arguments, err);
        if (arguments.has("output")) {
            folder_.emplace(arguments.text("output"), policy(arguments));
        } else {
            policy(arguments);
        }
        tables_ = summary_tables(arguments);
        read_within(settings.budget, [&] { inputs_.emplace(arguments, arguments.compat()); });
        if (!arguments.flag("quiet")) {
            print_file_warnings(err, inputs_->warnings);
            print_guessed(err, inputs_->guessed_roles);
        }
        const Components components(arguments, true);
        check_mapspace(arguments, components.mapper);
        session_.emplace(problem(), components, settings);
        for (const std::string& file : arguments.list("start")) {
            session_->begin_with(given_mapping(file, {}, problem(), err),
                                 "--start " + base::one_line(file));
        }
        session_->minimise_usage(usage_goals(arguments));
        turn_ = session_->turn();
    }

    int run() {
        const io::Json description =
            run_json(args_, *inputs_, settings(), arguments_, session_->components());
        if (original_ != nullptr) {
            original_->check_same(description);
        }
        if (folder_) {
            const bool known = folder_->state() != io::RunDirectory::State::free;
            if (known && arguments_.flag("resume")) {
                StoredRun(folder_->folder()).check_same(description);
            }
            if (folder_->state() == io::RunDirectory::State::finished &&
                !arguments_.flag("force") && !may_go_on()) {
                return show_stored();
            }
            open_folder(description);
        }
        LiveRun::Settings live;
        live.run = identity(args_, *inputs_, settings(), arguments_, session_->components());
        live.budget = turn_.limits;
        live.plugins = plugins_in_use(session_->components());
        live.ui = ui_;
        live.plain = arguments_.flag("plain");
        live.folder = folder_ ? &*folder_ : nullptr;
        live.spent_s = checkpoint_.spent_s;
        live.known = restored_ ? mapper::metric_value(settings().metrics.front(), restored_->report)
                               : std::numeric_limits<double>::infinity();
        live.rescue = [this](const std::vector<std::string>& mappings) { rescue(mappings); };
        live.watch = [this](const telemetry::Snapshot& now, const std::vector<telemetry::Event>&) {
            seen_.search_s = now.elapsed_s;
            if (!now.incumbents.empty()) {
                seen_.last_better_s = now.incumbents.back().time_s;
            }
        };
        live.describe = mapping_view(problem(), session_->model());
        const auto owned = std::make_unique<LiveRun>(std::move(live), err_);
        LiveRun& running = *owned;
        live_ = &running;
        turn_.stop = running.interrupt().stop();
        turn_.recorder = &running.recorder();
        spend(turn_.limits.max_time_s,
              std::max(wall_s() - std::chrono::duration<double>(least_reading).count(), 0.0));
        mapper::Result result;
        const bool memory = !searched(result);
        running.hold();
        const bool proven = result.status == mapper::Status::optimal && mapper::ended(result);
        const bool cut = memory || (running.interrupted() && !proven);
        running.finish(cut ? telemetry::RunState::interrupted : telemetry::RunState::finished);
        if (memory) {
            result = told(running.best());
            result.stopped_by = base::out_of_memory;
        }
        keep_restored(result);
        return deliver(result, cut);
    }

private:
    /// False: it ended for lack of memory, without a result of its own.
    bool searched(mapper::Result& result) {
        try {
            result = session_->search(turn_);
            return true;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    model::Problem problem() const {
        return inputs_->problem();
    }

    const mapper::Options& settings() const {
        return session_->settings();
    }

    bool one_metric() const {
        return settings().metrics.size() == 1 && session_->usage().memories.empty();
    }

    double wall_s() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

    /// Whether the finished run in the folder ended at a limit that is higher now.
    bool may_go_on() const {
        const bool resumed =
            folder_->state() == io::RunDirectory::State::finished && arguments_.flag("resume");
        const std::string saved = resumed ? folder_->read("stopped.json") : "";
        if (saved.empty()) {
            return false;
        }
        const double limit_s = turn_.limits.max_time_s;
        const std::string file = (folder_->path() / "stopped.json").string();
        return limit_s <= 0 || limit_s > read_checkpoint(saved, file).spent_s;
    }

    void open_folder(const io::Json& description) {
        const bool stopped = may_go_on();
        const bool goes_on = stopped || (folder_->state() == io::RunDirectory::State::unfinished &&
                                         arguments_.flag("resume"));
        folder_->open();
        if (stopped) {
            folder_->write("checkpoint.json", folder_->read("stopped.json"), true);
        }
        if (!goes_on) {
            folder_->write("run.json", io::dumped(description), true);
        }
        for (const auto& [name, text] : kept_inputs(*inputs_)) {
            if (!goes_on || folder_->read(name).empty()) {  // a run may be killed before them
                folder_->write(name, text, true);
            }
        }
        if (!goes_on) {
            folder_->write("checkpoint.json", to_json(Checkpoint{}));
            return;
        }
        if (const std::string text = folder_->read("checkpoint.json"); !text.empty()) {
            const std::string file = (folder_->path() / "checkpoint.json").string();
            checkpoint_ = read_checkpoint(text, file);
            turn_.resume = checkpoint_.state;
        }
        spend(turn_.limits.max_time_s, checkpoint_.spent_s);
        restore();
    }

    /// The best mapping of the run that is resumed, if there is one.
    void restore() {
        const std::string yaml = folder_->read("mapping.yaml");
        if (yaml.empty() || !one_metric()) {
            return;
        }
        try {
            restored_ = session_->member(mapping_in(yaml, stored_mapping()), stored_mapping());
        } catch (const Error&) {
            restored_.reset();  // it was changed by hand; the search goes on without
        }
    }

    std::string stored_mapping() const {
        return folder_ ? (folder_->path() / "mapping.yaml").string() : "mapping.yaml";
    }

    mapper::Solution evaluated(const std::string& yaml) const {
        mapper::Solution result{mapping_in(yaml, stored_mapping()), {}};
        result.report = session_->model().evaluate(problem(), result.mapping);
        return result;
    }

    /// A search that was stopped must not end with less than an earlier part of it had found.
    void keep_restored(mapper::Result& result) const {
        if (!restored_ || mapper::ended(result)) {
            return;
        }
        if (result.solutions.empty() ||
            mapper::better(settings().metrics.front(), restored_->report,
                           result.solutions.front().report)) {
            result.solutions = {*restored_};
        }
    }

    /// What the search has told of itself, in place of its result.
    mapper::Result told(const std::vector<std::string>& mappings) const {
        mapper::Result result;
        result.status = mapper::Status::feasible;
        for (const std::string& yaml : mappings) {
            result.solutions.push_back(evaluated(yaml));
        }
        if (one_metric() && std::isfinite(live_->recorder().bound())) {
            result.bound = live_->recorder().bound();
        }
        result.statistics.evaluated = live_->recorder().evaluated();
        return result;
    }

    Measured measured() const {
        Measured result = seen_;
        const auto& components = session_->components();
        result.strategy = !components.strategy.empty();
        result.mapper = result.strategy ? components.strategy : components.mapper;
        result.peak_memory_bytes = usage().peak_rss_bytes;
        result.folder = folder_.has_value();
        return result;
    }

    /// On the sampler's thread, while the search does not come back.
    void rescue(const std::vector<std::string>& mappings) {
        mapper::Result result = told(mappings);
        keep_restored(result);
        deliver(result, true);
        out_.flush();
    }

    /// Output, then files, which may fail; exit code.
    int deliver(const mapper::Result& result, bool cut) {
        const std::vector<io::Description> described = descriptions(problem(), result);
        io::Json json = document(result, described, settings(), session_->usage(), wall_s());
        json["guessed_roles"] = guessed_lines(inputs_->guessed_roles);
        put_names(json, *inputs_, arguments_, session_->components());
        const bool memory = result.stopped_by == base::out_of_memory;
        if (arguments_.flag("json")) {
            out_ << io::dumped(json);
        } else if (!result.solutions.empty()) {
            print(out_, problem(), result, described.front(),
                  {settings(), session_->usage(), measured(), tables_, arguments_.flag("tree"),
                   wall_s()});
        }
        out_.flush();
        if (result.solutions.empty()) {
            return explain_nothing(result, cut, err_);
        }
        if (folder_) {
            std::map<std::string, std::string> files =
                run_files(problem(), result, described.front());
            files["result.json"] = io::dumped(stored_document(json));
            if (result.stopped_by == "max-time") {  // a higher limit may let it go on
                files["stopped.json"] = folder_->read("checkpoint.json");
            }
            const auto unwritten = folder_->finish(files, !cut && !memory);
            if (!unwritten.empty()) {
                explain_unwritten(err_, *folder_, unwritten, files,
                                  "make room and give the command again with --resume");
                return ExitCode::user_error;
            }
            if (!arguments_.flag("json")) {
                print_place(out_, *folder_);
            }
        }
        if (original_ != nullptr && !cut) {
            original_->compare(stored_document(json), err_);
        }
        if (memory) {
            err_ << "tessera: the search was stopped with the best mapping so far: "
                 << out_of_memory_text;
            return ExitCode::limit_before_result;
        }
        return cut ? ExitCode::interrupted : ExitCode::ok;
    }

    /// The folder holds the finished run already.
    int show_stored() const {
        const std::string text = folder_->read("result.json");
        if (arguments_.flag("json")) {
            out_ << text;
            return ExitCode::ok;
        }
        const mapper::Solution best = evaluated(folder_->read("mapping.yaml"));
        const io::Description told = io::describe(problem(), best.mapping, best.report);
        if (arguments_.flag("tree")) {
            print_tree(out_, best.mapping, told.notes);
        }
        print_fused_groups(out_, told.fused_groups);
        out_ << "Mapping of " << inputs_->workload->name << " on " << inputs_->architecture->name()
             << "\n";
        print_totals(out_, *inputs_->architecture, best.report);
        print_summary(out_, *inputs_->architecture, told);
        print_summary_tables(out_, *inputs_->architecture, told.summary, tables_);
        out_ << "Finished before; in " << folder_->path().string() << "\n";
        return ExitCode::ok;
    }

    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    const std::vector<std::string>& args_;
    const Arguments& arguments_;
    std::ostream& out_;
    std::ostream& err_;
    const StoredRun* const original_;
    SummaryTables tables_;
    Ui ui_ = Ui::line;
    std::optional<io::RunDirectory> folder_;
    spec::ReadOnce one_text_of_each_file_;
    std::optional<Inputs> inputs_;
    std::optional<Session> session_;
    Session::Turn turn_;
    Checkpoint checkpoint_;
    std::optional<mapper::Solution> restored_;
    Measured seen_;  ///< of the sampler's thread until the search is over
    LiveRun* live_ = nullptr;
};

}  // namespace

int run_map(const std::vector<std::string>& args, const Arguments& arguments,
            const mapper::Options& settings, std::ostream& out, std::ostream& err,
            const StoredRun* original) {
    return MapRun(args, arguments, settings, out, err, original).run();
}

}  // namespace tessera::cli
