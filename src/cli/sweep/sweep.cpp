// tessera sweep: the options, and the plan that they make.
#include <algorithm>
#include <charconv>
#include <map>
#include <ostream>
#include <unordered_map>

#include "base/directory.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "cli/plugins/components.hpp"
#include "cli/ranks/ranked.hpp"
#include "cli/run/live_run.hpp"
#include "cli/run/map_options.hpp"
#include "cli/run/run_description.hpp"
#include "cli/run/stored_run.hpp"
#include "io/sha256.hpp"
#include "spec/kept_files.hpp"
#include "sweep_run.hpp"
#include "sweep_work.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/position.hpp"
#include "timeloop/read.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera sweep -a tpu-v4i -w gpt3-6.7b -D BATCH=1 -D TOKENS=1024:8192:*2 --set arch.GlobalBuffer.size=2.7e8,5.4e8,1.1e9 -o runs/sweep
  tessera sweep -a tpu-v4i -w gpt3-6.7b -D BATCH=1 --points points.csv --pareto arch.GlobalBuffer.size,latency_s --json
  tessera sweep ... --shard $SLURM_ARRAY_TASK_ID/8 -o shard-$SLURM_ARRAY_TASK_ID    (a Slurm array of tasks 1-8)
  mpirun -n 5 tessera sweep ... -o runs/sweep    (a manager and four workers, on any hosts)
  tessera sweep --merge shard-1 shard-2 ... -o runs/sweep
)";

}  // namespace

CommandText sweep_text() {
    options::Description result("Options", 100);
    const auto list = [](const char* name) { return options::list().named(name); };
    add_inputs(result, "aw");
    result.add_options()  //
        ("define,D", list("NAME=VALUES"),
         "values of a variable: 1,2,4 or FROM:TO:STEP or FROM:TO:*FACTOR; may be repeated")  //
        ("set", list("PATH=VALUES"),
         "values of any key of the files, as in arch.GlobalBuffer.size=1e6,2e6 or "
         "workload.rank_sizes.M=16:64:*2; may be repeated")  //
        ("zip", options::flag(),
         "take the i-th values together, instead of all combinations")  //
        ("points", options::text().named("FILE"),
         "the points: CSV with a line of names (.csv), or a YAML list of maps")  //
        ("pareto", options::text().by_default("energy,latency").named("X,Y"),
         "columns of the Pareto front, both minimised: energy, latency, edp, or what is swept")  //
        ("jobs,j", options::text().named("N"),
         "searches at a time, each in a process of its own (one per core; one per worker of "
         "mpirun)")  //
        ("shard", options::text().named("I/N"),
         "search only the I-th of N parts of the sweep; see --merge")  //
        ("share", options::flag(),
         "search beside other processes that have the same command and see the same folder: jobs "
         "of a cluster, terminals")                                                  //
        ("merge", list("DIR").many(), "join the folders of the parts of one sweep")  //
        ("output,o", options::text().named("DIR"),
         "keep the sweep in a new folder: result.csv, result.json, times.csv, drawings, the "
         "mappings of the Pareto front")                               //
        ("force", options::flag(), "replace the sweep in the folder")  //
        ("resume", options::flag(),
         "go on with the sweep in the folder; points that failed are searched again")  //
        ("all-mappings", options::flag(), "write the mapping of every point")          //
        ("json", options::flag(), "print one JSON document");
    add_components(result, true);
    add_search_options(result);
    add_ranks(result);
    add_run_control(result);
    return {"-a ARCH -w WORKLOAD [options]", examples, result};
}

namespace {

SweepShard shard(const Arguments& arguments) {
    SweepShard result;
    if (!arguments.has("shard")) {
        return result;
    }
    const std::string text = arguments.text("shard");
    const char* const end = text.data() + text.size();
    const auto [slash, code] = std::from_chars(text.data(), end, result.index);
    const bool two = code == std::errc() && slash != end && *slash == '/';
    const auto [last, more] =
        two ? std::from_chars(slash + 1, end, result.count) : std::from_chars_result{end, code};
    if (!two || more != std::errc() || last != end || result.count < 1 ||
        result.count > most_sweep_points || result.index < 1 || result.index > result.count) {
        arguments.refuse("shard", "I/N with I from 1 to N, for example 3/8");
    }
    return result;
}

std::vector<SweepAxis> axes(const Arguments& arguments) {
    std::vector<SweepAxis> result;
    for (const std::string& text : arguments.list("define")) {
        result.push_back(sweep_axis(text, false));
    }
    for (const std::string& text : arguments.list("set")) {
        result.push_back(sweep_axis(text, true));
    }
    return result;
}

SweepSpace space(const Arguments& arguments) {
    const std::vector<SweepAxis> given = axes(arguments);
    if (arguments.has("points")) {
        if (arguments.flag("zip")) {
            throw UserError("options '--points' and '--zip' exclude each other");
        }
        return points_of(arguments.text("points"), given);
    }
    return arguments.flag("zip") ? zip_of(given) : grid_of(given);
}

/// The column that a name of --pareto means.
std::string column_name(const std::string& name, const SweepSpace& space,
                        const Arguments& arguments) {
    std::vector<std::string> names;
    for (const mapper::MetricFacts& metric : mapper::all_metrics) {
        if (name == metric.name || name == metric.key) {
            return metric.key;
        }
        names.emplace_back(metric.name);
    }
    for (const SweepAxis& axis : space.axes) {
        if (axis.name == name) {
            return name;
        }
        names.push_back(axis.name);
    }
    const std::string near = spec::did_you_mean(name, names);
    arguments.refuse("pareto",
                     "two of " + spec::name_list(names) + (near.empty() ? "" : "; " + near));
}

void set_front(SweepPlan& plan, const Arguments& arguments) {
    const std::string text = arguments.text("pareto");
    const std::size_t comma = text.find(',');
    if (comma == std::string::npos) {
        arguments.refuse("pareto", "two columns separated by a comma, as in energy,latency");
    }
    plan.x = column_name(text.substr(0, comma), plan.space, arguments);
    plan.y = column_name(text.substr(comma + 1), plan.space, arguments);
    if (plan.x == plan.y) {
        arguments.refuse("pareto", "two different columns");
    }
}

/// Points whose problem another point has are not searched.
void find_same(SweepPlan& plan, const api::ProblemFamily& family) {
    std::unordered_map<std::string, std::size_t> first;
    for (std::size_t i = 0; i < plan.space.points.size(); ++i) {
        std::size_t same = i;
        try {
            const std::string id = io::sha256(family.identity(plan.space.choice(i)));
            same = first.emplace(id, i).first->second;
        } catch (const Error&) {
            // told when it is searched
        }
        plan.same_as.push_back(same);
    }
}

io::Json inputs_json(const api::ProblemFamily& family) {
    io::Json result = io::Json::array();
    for (const InputFile& file : input_files(family.files())) {
        result.push_back({{"role", file.role}, {"sha256", file.sha256}});
    }
    return result;
}

/// Contents of the mappings to begin with. What is no mapping is told before anything runs.
io::Json start_json(const std::vector<std::string>& files, const api::ProblemFamily& family,
                    const api::Choice& choice) {
    const api::Inputs first = family.with(choice);
    io::Json result = io::Json::array();
    for (const std::string& file : files) {
        api::given_mapping(file, {}, *first.workload, *first.architecture);
        const std::string text = base::read_regular_file(file).value_or("");
        spec::remember_text(file, text);
        result.push_back(io::sha256(text));
    }
    return result;
}

void refuse_timeloop(const Arguments& arguments) {
    for (const char* option : {"arch", "workload"}) {
        if (timeloop::is_timeloop_file(arguments.text(option))) {
            throw UserError(std::string("--") + option + " " + arguments.text(option) +
                            ": tessera sweep takes Tessera's own files, not Timeloop's");
        }
    }
}

int sweep(const std::vector<std::string>& args, const Arguments& arguments, std::ostream& out,
          std::ostream& err) {
    refuse_timeloop(arguments);
    if (arguments.flag("share") && arguments.has("shard")) {
        throw UserError("options '--share' and '--shard' exclude each other");
    }
    const std::string view = arguments.text("ui");
    if (view == "tui" || view == "json" || view == "snapshots") {
        arguments.refuse("ui", "line or none: a sweep has no dashboard");
    }
    const spec::ReadOnce one_text_of_each_file;
    const Components components(arguments, true);
    const mapper::Options settings = sweep_settings(arguments, components);
    const api::ProblemFamily family(arguments.text("arch"), arguments.text("workload"));
    SweepPlan plan;
    plan.space = space(arguments);
    family.check(plan.space.choice(0));
    print_file_warnings(err, family.with(plan.space.choice(0)).warnings);
    set_front(plan, arguments);
    plan.workload = family.workload_name();
    plan.architecture = std::filesystem::path(family.files().front().path).stem().string();
    plan.mapper = components.strategy.empty() ? components.mapper
                                              : components.mapper + ":" + components.strategy;
    plan.model = components.model;
    plan.metric = metric_name(settings.metrics.front());
    plan.command["tessera_version"] = version;
    plan.command["inputs"] = inputs_json(family);
    plan.command["options"] = options_json(settings, arguments, components, arguments.compat());
    plan.command["plugins"] = plugins_json(components);
    plan.command["limits"] = limits_json(settings.budget);
    plan.command["seed"] = settings.seed;
    const std::vector<std::string> start = arguments.list("start");
    if (!start.empty()) {
        plan.command["start"] = start_json(start, family, plan.space.choice(0));
    }
    find_same(plan, family);
    const SweepSearch search{family, components, settings, arguments.compat(), start};
    const SweepCall call{args, arguments, shard(arguments), one_text_of_each_file.spelled()};
    return run_sweep(plan, search, call, out, err);
}

}  // namespace

int sweep_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::Description known = sweep_text().options;
    const Arguments arguments("sweep", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    if (arguments.has("merge")) {
        return merge_sweeps(arguments.list("merge"), args, arguments, out, err);
    }
    arguments.required("arch", "the architecture");
    arguments.required("workload", "the workload");
    return sweep(args, arguments, out, err);
}

}  // namespace tessera::cli
