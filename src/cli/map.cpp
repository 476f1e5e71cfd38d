// tessera map: find the best mapping, print it, write the run directory.
//
//   description()      the options
//   mapper_options()   options -> mapper::Options
//   document()         the JSON document, also result.json
//   print()            the same for people
//   run_files()        what -o writes at the end
//   run_json()         what -o writes at the start
//   map_command()      all of it, in order
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <ostream>
#include <thread>

#include "cli/cli.hpp"
#include "cli/components.hpp"
#include "cli/inputs.hpp"
#include "cli/live_run.hpp"
#include "cli/output.hpp"
#include "cli/stored_run.hpp"
#include "io/run_directory.hpp"
#include "io/units.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/spec/reader.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera map -a tpu-v4i -w gpt3-6.7b -D BATCH=1 -D TOKENS=2048 --metric edp -o runs/gpt3
  tessera map -a snowcat -w matmuls -D N_EINSUMS=4 --metric energy,latency --json
)";

constexpr const char* rerun_help =
    R"(Examples:
  tessera rerun runs/gpt3
  tessera rerun runs/gpt3 -o runs/gpt3-again

tessera rerun DIR [options of map]

Runs the command of a run directory again, refuses if an input file has changed, and says whether
the result is the same. Options given here replace those of the command.
)";

options::options_description description() {
    options::options_description result("Options", 100);
    add_inputs(result, "awD");
    const auto text = [](const char* standard, const char* name) {
        return options::value<std::string>()->default_value(standard)->value_name(name);
    };
    result.add_options()  //
        ("metric", text("edp", "METRIC"),
         "what is minimised: energy, latency, edp, or the Pareto set "
         "of several, as in energy,latency")  //
        ("mapspace", text("accelforge", "PRESET"),
         "mapspace preset: full, or accelforge: the restrictions of that tool")  //
        ("compat", text("none", "MODEL"),
         "none or accelforge: cost conventions of that tool, defects "
         "included; implied by --mapspace accelforge")  //
        ("max-fused-loops", text("unlimited", "N"),
         "loops that Einsums may share: a number or unlimited")  //
        ("max-fused-loops-per-rank-variable", options::value<std::string>()->value_name("N"),
         "the same per rank variable (unlimited; accelforge: 1)")  //
        ("einsum-orders", options::value<std::string>()->value_name("ORDERS"),
         "all: every order in which producers run first; file: that of the file (all; accelforge: "
         "file)")  //
        ("imperfect-temporal", options::bool_switch(),
         "tile shapes need not divide (temporal loops)")  //
        ("imperfect-spatial", options::bool_switch(),
         "tile shapes need not divide (spatial loops)")                                 //
        ("unfused", options::bool_switch(), "the outermost memory keeps every tensor")  //
        ("threads", text("0", "N"), "worker threads; 0: one per core")                  //
        ("seed", text("0", "N"), "seed of randomised searches");
    add_components(result, true);
    result.add_options()  //
        ("output,o", options::value<std::string>()->value_name("DIR"),
         "keep the run in a new folder: inputs, events, status, result.json, mapping.yaml")  //
        ("force", options::bool_switch(), "replace the run in the folder")                   //
        ("resume", options::bool_switch(),
         "go on with the run in the folder if it was stopped; -a, -w and the rest may be left "
         "out")  //
        ("skip-if-exists", options::bool_switch(),
         "do nothing if the folder holds a finished run")  //
        ("json", options::bool_switch(), "print one JSON document");
    add_run_control(result);
    return result;
}

mapper::Options mapper_options(const Arguments& arguments) {
    mapper::Options result;
    result.metrics = arguments.metrics();
    if (arguments.choice("mapspace", {"full", "accelforge"}) == 0) {
        result.mapspace = mapspace::MapSpaceOptions::full();
    }
    result.mapspace.max_fused_loops = arguments.limit("max-fused-loops");
    if (arguments.has("max-fused-loops-per-rank-variable")) {
        result.mapspace.max_fused_loops_per_rank_variable =
            arguments.limit("max-fused-loops-per-rank-variable");
    }
    if (arguments.has("einsum-orders")) {
        result.mapspace.all_einsum_orders = arguments.choice("einsum-orders", {"all", "file"}) == 0;
    }
    result.mapspace.imperfect_temporal = arguments.flag("imperfect-temporal");
    result.mapspace.imperfect_spatial = arguments.flag("imperfect-spatial");
    result.mapspace.unfused = arguments.flag("unfused");
    result.threads = static_cast<int>(arguments.whole("threads", 0, 4096));
    result.seed = arguments.whole("seed", 0, ~0ull);
    result.budget = budget(arguments);
    return result;
}

const char* status_name(mapper::Status status) {
    return status == mapper::Status::optimal    ? "optimal"
           : status == mapper::Status::feasible ? "feasible"
                                                : "infeasible";
}

io::Json search_json(const mapper::Result& result, const mapper::Options& settings, double wall_s) {
    const mapper::Statistics& statistics = result.statistics;
    const Usage used = usage();
    io::Json search;
    search["wall_s"] = wall_s;
    search["cpu_s"] = used.cpu_s;
    search["peak_rss_bytes"] = static_cast<std::uint64_t>(used.peak_rss_bytes);
    search["mapspace_size"] = statistics.mapspace_size;
    search["templates"] = statistics.templates;
    search["evaluated"] = statistics.evaluated;
    search["pareto"] = statistics.pareto;
    search["threads"] = statistics.threads;
    search["seed"] = settings.seed;
    search["stopped_by"] =
        result.stopped_by.empty() ? io::Json(nullptr) : io::Json(result.stopped_by);
    search["phases"] = io::Json::object();
    for (const auto& [phase, seconds] : statistics.phases) {
        io::put(search["phases"], phase, seconds);
    }
    return search;
}

io::Json document(const model::Problem& problem, const mapper::Result& result,
                  const mapper::Options& settings, double wall_s) {
    io::Json root;
    root["schema_version"] = io::schema_version;
    const bool nothing = result.solutions.empty() && result.status == mapper::Status::feasible;
    root["status"] = nothing ? "unknown" : status_name(result.status);
    root["metric"] = metric_names(settings.metrics);
    root["mappings"] = io::Json::array();
    for (const mapper::Solution& solution : result.solutions) {
        root["mappings"].push_back(solution_json(problem, solution.mapping, solution.report));
    }
    root["bound"] = io::Json::object();
    if (settings.metrics.size() == 1 && result.bound) {
        static const char* const keys[] = {"energy_j", "latency_s", "edp_js"};
        io::put(root["bound"], keys[static_cast<int>(settings.metrics.front())], *result.bound);
    }
    root["gap"] = result.solutions.empty() ? io::Json(nullptr) : gap_json(result, settings.metrics);
    if (!result.reasons.empty()) {
        root["reasons"] = result.reasons;
    }
    root["search"] = search_json(result, settings, wall_s);
    return root;
}

/// result.json: what every run of the same command ends with, byte by byte. Times, memory and the
/// counts that threads share by chance are in status.json.
io::Json stored_document(io::Json document) {
    io::Json& search = document["search"];
    for (const char* key :
         {"wall_s", "cpu_s", "peak_rss_bytes", "evaluated", "pareto", "threads", "phases"}) {
        search.erase(key);
    }
    return document;
}

const char* preset_name(const mapspace::MapSpaceOptions& space) {
    return space.preset == mapspace::MapSpaceOptions::Preset::full ? "full" : "accelforge";
}

std::string optimality(const mapper::Result& result, const mapper::Options& settings) {
    const mapspace::MapSpaceOptions& space = settings.mapspace;
    const auto limit = [](int value) {
        return value < 0 ? std::string("unlimited") : std::to_string(value);
    };
    std::string where = std::string("mapspace ") + preset_name(space) + ", fused loops " +
                        limit(space.max_fused_loops) + ", " +
                        limit(space.max_fused_loops_per_rank_variable) + " per rank variable";
    where += !space.all_einsum_orders ? ", Einsums in file order"
             : result.statistics.all_orders
                 ? ", all Einsum orders"
                 : ", Einsums in file order because their orders are too many";
    where += space.unfused ? ", unfused" : "";
    where += space.imperfect_temporal ? ", imperfect temporal" : "";
    where += space.imperfect_spatial ? ", imperfect spatial" : "";
    if (result.status == mapper::Status::optimal) {
        return (settings.metrics.size() == 1 ? "Proven optimal for " : "Complete Pareto set for ") +
               metric_names(settings.metrics) + " (" + where + ").";
    }
    const io::Json gap = gap_json(result, settings.metrics);
    return "Not proven optimal: the search was stopped" +
           (gap.is_null()
                ? std::string("")
                : "; no mapping is better by more than " + io::percent(gap.get<double>())) +
           " (" + where + ").";
}

void print_pareto_set(std::ostream& out, const arch::Architecture& architecture,
                      const mapper::Result& result) {
    std::vector<std::vector<std::string>> rows = {{"  mapping", "energy", "latency", "EDP"}};
    for (std::size_t i = 0; i < result.solutions.size(); ++i) {
        const model::Report& report = result.solutions[i].report;
        rows.push_back({"  " + std::to_string(i + 1),
                        io::quantity(report.energy_j(), unit(architecture, "J")),
                        io::quantity(report.latency_s(), unit(architecture, "s")),
                        io::plain(report.edp_js(), unit(architecture, "J s"))});
    }
    out << "Pareto set:\n";
    print_table(out, rows, 1);
    out << "Of mapping 1:\n";
}

/// A long decimal integer as people read it: 1.7e102.
std::string rounded(const std::string& digits) {
    if (digits.size() <= 9) {
        return digits;
    }
    return digits.substr(0, 1) + "." + digits.substr(1, 1) + "e" +
           std::to_string(digits.size() - 1);
}

void print(std::ostream& out, const model::Problem& problem, const mapper::Result& result,
           const mapper::Options& settings, double wall_s) {
    const mapper::Solution& best = result.solutions.front();
    out << "Mapping of " << problem.workload->name << " on " << problem.architecture->name()
        << "\n";
    if (result.solutions.size() > 1) {
        print_pareto_set(out, *problem.architecture, result);
    } else {
        print_totals(out, *problem.architecture, best.report);
    }
    print_fused_groups(out, problem, best.mapping);
    out << "LoopTree:\n";
    print_indented(out, mapping::to_text(best.mapping));
    out << optimality(result, settings) << "\n";
    const Usage used = usage();
    out << "Search: " << io::quantity(wall_s, "s") << " wall, " << io::quantity(used.cpu_s, "s")
        << " CPU, " << result.statistics.threads << " threads, " << io::memory(used.peak_rss_bytes)
        << " memory, " << result.statistics.evaluated << " pmappings evaluated";
    if (!result.statistics.mapspace_size.empty()) {
        out << " of " << rounded(result.statistics.mapspace_size);
    }
    out << "\n";
}

/// What is known before the search, and does not change when it is resumed.
io::Json run_json(const std::vector<std::string>& args, const Inputs& inputs,
                  const mapper::Options& settings, const Arguments& arguments,
                  const Components& components) {
    io::Json root;
    root["schema_version"] = io::schema_version;
    root["tessera_version"] = version;
    root["command"] = io::Json::array({"tessera", "map"});
    for (const std::string& arg : args) {
        root["command"].push_back(arg);
    }
    std::error_code ignored;
    root["directory"] = std::filesystem::current_path(ignored).string();
    root["host"] = host_name();
    root["started"] = utc_now();
    root["inputs"] = io::Json::array();
    for (const InputFile& file : inputs.files) {
        root["inputs"].push_back(
            {{"role", file.role}, {"path", file.path}, {"sha256", file.sha256}});
    }
    root["defines"] = arguments.defines();
    const mapspace::MapSpaceOptions& space = settings.mapspace;
    root["options"] = {
        {"metric", metric_names(settings.metrics)},
        {"mapper", components.mapper},
        {"strategy",
         components.strategy.empty() ? io::Json(nullptr) : io::Json(components.strategy)},
        {"model", components.model},
        {"knobs", components.knobs},
        {"mapspace", preset_name(space)},
        {"compat", inputs.compat == arch::Compat::accelforge ? "accelforge" : "none"},
        {"max_fused_loops", arguments.text("max-fused-loops")},
        {"max_fused_loops_per_rank_variable",
         space.max_fused_loops_per_rank_variable < 0
             ? io::Json("unlimited")
             : io::Json(std::to_string(space.max_fused_loops_per_rank_variable))},
        {"einsum_orders", space.all_einsum_orders ? "all" : "file"},
        {"imperfect_temporal", space.imperfect_temporal},
        {"imperfect_spatial", space.imperfect_spatial},
        {"unfused", space.unfused},
    };
    root["limits"] = limits_json(settings.budget);
    root["threads"] = settings.threads;
    root["seed"] = settings.seed;
    return root;
}

std::string dumped(const io::Json& json) {
    return json.dump(2, ' ', false, io::Json::error_handler_t::replace) + "\n";
}

std::map<std::string, std::string> run_files(const model::Problem& problem,
                                             const mapper::Result& result) {
    std::map<std::string, std::string> files;
    for (std::size_t i = 0; i < result.solutions.size(); ++i) {
        const mapping::Mapping& tree = result.solutions[i].mapping;
        const std::string suffix = i == 0 ? "" : "-" + std::to_string(i + 1);
        const std::string yaml = mapping::to_yaml(tree);
        const std::string plain =
            mapping::to_accelforge_yaml(tree, *problem.workload, *problem.architecture);
        files["mapping" + suffix + ".yaml"] = yaml;
        if (plain != yaml) {
            files["mapping" + suffix + ".accelforge.yaml"] =
                "# The same mapping without what AccelForge cannot read: one branch per Einsum.\n" +
                plain;
        }
    }
    files["looptree.svg"] = mapping::to_svg(result.solutions.front().mapping);
    return files;
}

mapper::Result search(const Components& components, mapper::Mapper& mapper,
                      const model::Problem& problem, const model::CostModel& model,
                      const mapper::Options& settings) {
    try {
        return components.run(mapper, problem, model, settings);
    } catch (const NoLegalMapping& error) {
        mapper::Result result;
        result.reasons = {error.what()};
        return result;
    } catch (const LimitReached&) {
        mapper::Result result;
        result.status = mapper::Status::feasible;
        return result;
    }
}

// The exit code of a search without any mapping, and why.
int explain_nothing(const mapper::Result& result, bool interrupted, std::ostream& err) {
    if (result.status != mapper::Status::infeasible) {
        err << (interrupted ? "tessera: interrupted before any mapping was found\n"
                            : "tessera: a limit was hit before any mapping was found; raise "
                              "--max-time or the limit that was set\n");
        return interrupted ? ExitCode::interrupted : ExitCode::limit_before_result;
    }
    err << "tessera: no legal mapping\n";
    for (const std::string& reason : result.reasons) {
        err << "  " << reason << "\n";
    }
    return ExitCode::no_legal_mapping;
}

telemetry::RunIdentity identity(const std::vector<std::string>& args, const Inputs& inputs,
                                const mapper::Options& settings, const Arguments& arguments,
                                const Components& components) {
    static const char* const units[] = {"J", "s", "J s"};
    telemetry::RunIdentity run;
    run.workload = inputs.workload->name;
    run.architecture = inputs.architecture->name();
    std::string name = run.workload;
    if (arguments.has("output")) {
        const auto path = std::filesystem::absolute(arguments.text("output")).lexically_normal();
        run.directory = path.string();
        name = (path.has_filename() ? path : path.parent_path()).filename().string();
    }
    run.id = name + "-" + std::to_string(::getpid());
    run.mapper = components.strategy.empty() ? components.mapper
                                             : components.mapper + ":" + components.strategy;
    run.model = components.model;
    for (const mapper::Metric metric : settings.metrics) {
        run.metrics.push_back(metric_name(metric));
    }
    run.unit = unit(*inputs.architecture, units[static_cast<int>(settings.metrics.front())]);
    run.version = version;
    run.host = host_name();
    run.started = utc_now();
    run.pid = static_cast<int>(::getpid());
    run.threads = settings.threads > 0
                      ? settings.threads
                      : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    run.seed = settings.seed;
    run.command = {"tessera", "map"};
    run.command.insert(run.command.end(), args.begin(), args.end());
    return run;
}

std::vector<telemetry::PluginView> plugins_in_use(const Components& components) {
    std::vector<telemetry::PluginView> result;
    const auto add = [&](const char* kind, const std::string& name) {
        telemetry::PluginView view{kind, name, version, "", "in use", {}};
        if (const auto knobs = components.knobs.find(name); knobs != components.knobs.end()) {
            for (const auto& [knob, value] : knobs->second) {
                view.knobs.emplace_back(knob, value);
            }
        }
        result.push_back(std::move(view));
    };
    add("mapper", components.mapper);
    if (!components.strategy.empty()) {
        add("strategy", components.strategy);
    }
    add("model", components.model);
    return result;
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
    /// `original`: the run that this one repeats.
    MapRun(const std::vector<std::string>& args, const Arguments& arguments, std::ostream& out,
           std::ostream& err, const StoredRun* original = nullptr)
        : args_(args), arguments_(arguments), out_(out), err_(err), original_(original) {
        settings_ = mapper_options(arguments);
        ui_ = ui(arguments, err);
        if (arguments.has("output")) {
            folder_.emplace(arguments.text("output"), policy(arguments));
        } else {
            policy(arguments);
        }
        inputs_.emplace(arguments, arguments.compat());
        load_plugins(args, err);  // a stored command line may name more
        components_.emplace(arguments, true);
        settings_.knobs = components_->knobs;
        model_ = components_->make_model();
        mapper_ = components_->make_mapper();
    }

    int run() {
        const io::Json description = run_json(args_, *inputs_, settings_, arguments_, *components_);
        if (original_ != nullptr) {
            original_->check_same(description);
        }
        if (folder_) {
            const bool known = folder_->state() != io::RunDirectory::State::free;
            if (known && arguments_.flag("resume")) {
                StoredRun(folder_->path()).check_same(description);
            }
            if (folder_->state() == io::RunDirectory::State::finished &&
                !arguments_.flag("force")) {
                return show_stored();
            }
            open_folder(description);
        }
        LiveRun::Settings live;
        live.run = identity(args_, *inputs_, settings_, arguments_, *components_);
        live.budget = settings_.budget;
        live.plugins = plugins_in_use(*components_);
        live.ui = ui_;
        live.plain = arguments_.flag("plain");
        live.folder = folder_ ? &*folder_ : nullptr;
        live.spent_s = checkpoint_.spent_s;
        live.known = restored_ ? value_of(restored_->report, settings_.metrics.front())
                               : std::numeric_limits<double>::infinity();
        live.rescue = [this](const std::vector<std::string>& mappings) { rescue(mappings); };
        LiveRun running(std::move(live), err_);
        live_ = &running;
        settings_.stop = running.interrupt().stop();
        settings_.recorder = &running.recorder();
        settings_.progress = [&running](const std::string& line) { running.recorder().log(line); };
        mapper::Result result = search(*components_, *mapper_, problem(), *model_, settings_);
        running.hold();
        keep_restored(result);
        const bool cut = running.interrupted() && result.status != mapper::Status::optimal;
        running.finish(cut ? telemetry::RunState::interrupted : telemetry::RunState::finished);
        return deliver(result, cut);
    }

private:
    model::Problem problem() const {
        return inputs_->problem();
    }

    double wall_s() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

    void open_folder(const io::Json& description) {
        const bool goes_on =
            folder_->state() == io::RunDirectory::State::unfinished && arguments_.flag("resume");
        folder_->open();
        if (!goes_on) {
            folder_->write("checkpoint.json", to_json(Checkpoint{}));
            folder_->write("run.json", dumped(description), true);
            return;
        }
        if (const std::string text = folder_->read("checkpoint.json"); !text.empty()) {
            const std::string file = (folder_->path() / "checkpoint.json").string();
            checkpoint_ = read_checkpoint(text, file);
            settings_.resume = checkpoint_.state;
        }
        // What is left of a limit in time; a little, so that the search can say what it has.
        double& limit_s = settings_.budget.max_time_s;
        limit_s = limit_s > 0 ? std::max(limit_s - checkpoint_.spent_s, 1e-3) : 0;
        restore();
    }

    /// The best mapping of the run that is resumed, if there is one.
    void restore() {
        const std::string yaml = folder_->read("mapping.yaml");
        if (yaml.empty() || settings_.metrics.size() != 1) {
            return;
        }
        try {
            restored_ = evaluated(yaml);
        } catch (const Error&) {
            restored_.reset();  // it was changed by hand; the search goes on without
        }
    }

    mapper::Solution evaluated(const std::string& yaml) const {
        spec::Node root = spec::read_text(yaml, "mapping.yaml");
        spec::assign_paths(root);
        mapper::Solution result{mapping::read_mapping(*root.find("mapping")), {}};
        result.report = model_->evaluate(problem(), result.mapping);
        return result;
    }

    /// A search that was stopped must not end with less than an earlier part of it had found.
    void keep_restored(mapper::Result& result) const {
        if (!restored_ || result.status != mapper::Status::feasible) {
            return;
        }
        const mapper::Metric metric = settings_.metrics.front();
        if (result.solutions.empty() || value_of(restored_->report, metric) <
                                            value_of(result.solutions.front().report, metric)) {
            result.solutions = {*restored_};
        }
    }

    /// On the sampler's thread, while the search does not come back.
    void rescue(const std::vector<std::string>& mappings) {
        mapper::Result result;
        result.status = mapper::Status::feasible;
        for (const std::string& yaml : mappings) {
            result.solutions.push_back(evaluated(yaml));
        }
        if (settings_.metrics.size() == 1 && std::isfinite(live_->recorder().bound())) {
            result.bound = live_->recorder().bound();
        }
        keep_restored(result);
        deliver(result, true);
        out_.flush();
    }

    /// Files, output, exit code.
    int deliver(const mapper::Result& result, bool cut) {
        const io::Json json = document(problem(), result, settings_, wall_s());
        if (folder_ && !result.solutions.empty()) {
            std::map<std::string, std::string> files = run_files(problem(), result);
            files["result.json"] = dumped(stored_document(json));
            folder_->finish(files, !cut);
        }
        if (arguments_.flag("json")) {
            out_ << dumped(json);
        } else if (!result.solutions.empty()) {
            print(out_, problem(), result, settings_, wall_s());
            if (folder_) {
                out_ << "Written to " << folder_->path().string() << "\n";
            }
        }
        if (result.solutions.empty()) {
            return explain_nothing(result, cut, err_);
        }
        if (original_ != nullptr && !cut) {
            original_->compare(stored_document(json), err_);
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
        out_ << "Mapping of " << inputs_->workload->name << " on " << inputs_->architecture->name()
             << "\n";
        print_totals(out_, *inputs_->architecture, best.report);
        print_fused_groups(out_, problem(), best.mapping);
        out_ << "LoopTree:\n";
        print_indented(out_, mapping::to_text(best.mapping));
        out_ << "Finished before; in " << folder_->path().string() << "\n";
        return ExitCode::ok;
    }

    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    const std::vector<std::string>& args_;
    const Arguments& arguments_;
    std::ostream& out_;
    std::ostream& err_;
    const StoredRun* const original_;
    mapper::Options settings_;
    Ui ui_ = Ui::line;
    std::optional<io::RunDirectory> folder_;
    std::optional<Inputs> inputs_;
    std::optional<Components> components_;
    plugin::Owned<model::CostModel> model_;
    plugin::Owned<mapper::Mapper> mapper_;
    Checkpoint checkpoint_;
    std::optional<mapper::Solution> restored_;
    LiveRun* live_ = nullptr;
};

/// `map -o DIR --resume` without inputs: the command is in the folder.
int resume_stored(const std::vector<std::string>& args, const Arguments& arguments,
                  const options::options_description& known, std::ostream& out, std::ostream& err) {
    const StoredRun stored(arguments.text("output"));
    std::vector<std::string> full = stored.arguments(known, args);
    const std::vector<std::string> now = with_absolute(args, known, "output");
    full.insert(full.end(), now.begin(), now.end());
    const WorkingDirectory there(stored.directory());
    const Arguments all("map", full, known);
    return MapRun(full, all, out, err).run();
}

}  // namespace

int map_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::options_description known = description();
    const Arguments arguments("map", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    const bool bare = !arguments.has("arch") && !arguments.has("workload");
    if (bare && arguments.flag("resume") && arguments.has("output")) {
        return resume_stored(args, arguments, known, out, err);
    }
    arguments.required("arch", "the architecture");
    arguments.required("workload", "the workload");
    return MapRun(args, arguments, out, err).run();
}

int rerun_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::options_description known = description();
    if (args.empty() || args.front() == "--help" || args.front() == "-h") {
        out << rerun_help;
        return args.empty() ? ExitCode::user_error : ExitCode::ok;
    }
    if (args.front().rfind('-', 0) == 0) {
        throw UserError("tessera rerun takes the folder of a run first; see tessera rerun --help");
    }
    const StoredRun original(std::filesystem::absolute(args.front()));
    const std::vector<std::string> more(args.begin() + 1, args.end());
    const Arguments valid("map", more, known);
    std::vector<std::string> full = original.arguments(known, more);
    const std::vector<std::string> now = with_absolute(more, known, "output");
    full.insert(full.end(), now.begin(), now.end());
    const WorkingDirectory there(original.directory());
    const Arguments all("map", full, known);
    return MapRun(full, all, out, err, &original).run();
}

}  // namespace tessera::cli
