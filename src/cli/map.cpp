// tessera map: find the best mapping, print it, write the run directory.
//
//   description()      the options
//   mapper_options()   options -> mapper::Options
//   document()         the JSON document, also result.json
//   print()            the same for people
//   run_files()        what -o writes
#include <chrono>
#include <optional>
#include <ostream>

#include "cli/cli.hpp"
#include "cli/components.hpp"
#include "cli/inputs.hpp"
#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "io/run_directory.hpp"
#include "io/units.hpp"
#include "tessera/mapping/assemble.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera map -a tpu-v4i -w gpt3-6.7b -D BATCH=1 -D TOKENS=2048 --metric edp -o runs/gpt3
  tessera map -a snowcat -w matmuls -D N_EINSUMS=4 --metric energy,latency --json
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
         "of several, as in energy,latency")                                       //
        ("mapspace", text("accelforge", "PRESET"), "mapspace preset: accelforge")  //
        ("compat", text("none", "MODEL"),
         "none or accelforge: cost conventions of that tool, defects "
         "included; implied by --mapspace accelforge")  //
        ("max-fused-loops", text("unlimited", "N"),
         "loops that Einsums may share: a number or unlimited")                              //
        ("max-fused-loops-per-rank-variable", text("1", "N"), "the same per rank variable")  //
        ("imperfect-temporal", options::bool_switch(),
         "tile shapes need not divide (temporal loops)")  //
        ("imperfect-spatial", options::bool_switch(),
         "tile shapes need not divide (spatial loops)")                                 //
        ("unfused", options::bool_switch(), "the outermost memory keeps every tensor")  //
        ("max-time", options::value<std::string>()->value_name("TIME"),
         "stop after this time (500ms, 3s, 2m, 1h) with the best mapping so far")  //
        ("max-evals", options::value<std::string>()->value_name("N"),
         "stop after this many evaluations")                            //
        ("threads", text("0", "N"), "worker threads; 0: one per core")  //
        ("seed", text("0", "N"), "seed of randomised searches");
    add_components(result, true);
    result.add_options()  //
        ("output,o", options::value<std::string>()->value_name("DIR"),
         "write run.json, result.json, mapping.yaml and looptree.svg to a new folder")  //
        ("force", options::bool_switch(), "replace the folder of an earlier run")       //
        ("json", options::bool_switch(), "print one JSON document")                     //
        ("quiet,q", options::bool_switch(), "no progress on stderr");
    return result;
}

mapper::Options mapper_options(const Arguments& arguments) {
    mapper::Options result;
    result.metrics = arguments.metrics();
    arguments.choice("mapspace", {"accelforge"});
    result.mapspace.preset = mapspace::MapSpaceOptions::Preset::accelforge;
    result.mapspace.max_fused_loops = arguments.limit("max-fused-loops");
    result.mapspace.max_fused_loops_per_rank_variable =
        arguments.limit("max-fused-loops-per-rank-variable");
    result.mapspace.imperfect_temporal = arguments.flag("imperfect-temporal");
    result.mapspace.imperfect_spatial = arguments.flag("imperfect-spatial");
    result.mapspace.unfused = arguments.flag("unfused");
    result.threads = static_cast<int>(arguments.whole("threads", 0, 4096));
    result.seed = arguments.whole("seed", 0, ~0ull);
    if (arguments.has("max-time")) {
        result.budget.max_time_s = arguments.duration_s("max-time");
    }
    if (arguments.has("max-evals")) {
        result.budget.max_evals = arguments.whole("max-evals", 1, ~0ull);
    }
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
    root["status"] = status_name(result.status);
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

std::string optimality(const mapper::Result& result, const mapper::Options& settings) {
    const mapspace::MapSpaceOptions& space = settings.mapspace;
    const auto limit = [](int value) {
        return value < 0 ? std::string("unlimited") : std::to_string(value);
    };
    std::string where = "mapspace accelforge, fused loops " + limit(space.max_fused_loops) + ", " +
                        limit(space.max_fused_loops_per_rank_variable) + " per rank variable";
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
        {"mapspace", "accelforge"},
        {"compat", inputs.compat == arch::Compat::accelforge ? "accelforge" : "none"},
        {"max_fused_loops", arguments.text("max-fused-loops")},
        {"max_fused_loops_per_rank_variable", arguments.text("max-fused-loops-per-rank-variable")},
        {"imperfect_temporal", space.imperfect_temporal},
        {"imperfect_spatial", space.imperfect_spatial},
        {"unfused", space.unfused},
        {"max_time_s",
         settings.budget.max_time_s > 0 ? io::Json(settings.budget.max_time_s) : io::Json(nullptr)},
        {"threads", settings.threads},
    };
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

mapper::Result search(const model::Problem& problem, const Components& components,
                      const mapper::Options& settings) {
    const auto model = components.make_model();
    const auto mapper = components.make_mapper();
    try {
        return mapper->map(problem, *model, settings);
    } catch (const NoLegalMapping& error) {
        mapper::Result result;
        result.reasons = {error.what()};
        return result;
    }
}

// The exit code of a search without any mapping, and why.
int explain_nothing(const mapper::Result& result, bool interrupted, std::ostream& err) {
    if (result.status != mapper::Status::infeasible) {
        err << (interrupted ? "tessera: interrupted before any mapping was found\n"
                            : "tessera: the time limit was hit before any mapping was found; raise "
                              "--max-time\n");
        return interrupted ? ExitCode::interrupted : ExitCode::limit_before_result;
    }
    err << "tessera: no legal mapping\n";
    for (const std::string& reason : result.reasons) {
        err << "  " << reason << "\n";
    }
    return ExitCode::no_legal_mapping;
}

}  // namespace

int map_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const auto start = std::chrono::steady_clock::now();
    const options::options_description known = description();
    const Arguments arguments("map", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    arguments.required("arch", "the architecture");
    arguments.required("workload", "the workload");
    mapper::Options settings = mapper_options(arguments);
    const Components components(arguments, true);
    settings.knobs = components.knobs;
    std::optional<io::RunDirectory> folder;
    if (arguments.has("output")) {
        folder.emplace(arguments.text("output"), arguments.flag("force"));
    }
    const Inputs inputs(arguments, arguments.compat());
    const model::Problem problem = inputs.problem();
    const Interrupt interrupt;
    settings.stop = interrupt.stop();
    if (!arguments.flag("quiet")) {
        settings.progress = [&err](const std::string& line) { err << line << "\n"; };
    }
    const mapper::Result result = search(problem, components, settings);
    const double wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const io::Json json = document(problem, result, settings, wall_s);
    if (folder && !result.solutions.empty()) {
        std::map<std::string, std::string> files = run_files(problem, result);
        files["run.json"] = dumped(run_json(args, inputs, settings, arguments, components));
        files["result.json"] = dumped(json);
        folder->write(files);
    }
    if (arguments.flag("json")) {
        out << dumped(json);
    } else if (!result.solutions.empty()) {
        print(out, problem, result, settings, wall_s);
        if (folder) {
            out << "Written to " << folder->path().string() << "\n";
        }
    }
    if (result.solutions.empty()) {
        return explain_nothing(result, interrupt.happened(), err);
    }
    const bool cut = interrupt.happened() && result.status != mapper::Status::optimal;
    return cut ? ExitCode::interrupted : ExitCode::ok;
}

}  // namespace tessera::cli
