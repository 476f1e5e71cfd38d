// tessera map and tessera rerun: the options, and which command is run.
#include <ostream>

#include "cli/cli.hpp"
#include "cli/components.hpp"
#include "cli/inputs.hpp"
#include "cli/live_run.hpp"
#include "cli/map_run.hpp"

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
        ("mapspace", text("full", "PRESET"),
         "mapspace preset: full, or accelforge: the restrictions of that tool")  //
        ("compat", text("none", "MODEL"),
         "none or accelforge: cost conventions of that tool, defects "
         "included; implied by --mapspace accelforge")  //
        ("max-fused-loops", text("unlimited", "N"),
         "loops that Einsums may share: a number or unlimited")  //
        ("max-fused-loops-per-rank-variable", options::value<std::string>()->value_name("N"),
         "the same per rank variable (1)")  //
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

/// `map -o DIR --resume` without inputs: the command is in the folder.
int resume_stored(const std::vector<std::string>& args, const Arguments& arguments,
                  const options::options_description& known, std::ostream& out, std::ostream& err) {
    const StoredRun stored(arguments.text("output"));
    std::vector<std::string> full = stored.arguments(known, args);
    const std::vector<std::string> now = with_absolute(args, known, "output");
    full.insert(full.end(), now.begin(), now.end());
    const WorkingDirectory there(stored.directory());
    const Arguments all("map", full, known);
    return run_map(full, all, mapper_options(all), out, err);
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
    return run_map(args, arguments, mapper_options(arguments), out, err);
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
    return run_map(full, all, mapper_options(all), out, err, &original);
}

}  // namespace tessera::cli
