// tessera map and tessera rerun: the options, and which command is run.
#include <ostream>

#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/inputs.hpp"
#include "cli/plugins/components.hpp"
#include "cli/summary.hpp"
#include "live_run.hpp"
#include "map_options.hpp"
#include "map_run.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera map -a tpu-v4i -w gpt3-6.7b -D BATCH=1 -D TOKENS=2048 --metric edp -o runs/gpt3
  tessera map -a snowcat -w matmuls -D N_EINSUMS=4 --metric energy,latency --json
)";

}  // namespace

CommandText map_text() {
    options::Description result("Options", 100);
    add_inputs(result, "aweDS");
    add_search_options(result);
    add_summary_options(result);
    add_components(result, true);
    result.add_options()  //
        ("output,o", options::text().named("DIR"),
         "keep the run in a new folder: inputs, events, status, result.json, mapping.yaml")  //
        ("force", options::flag(), "replace the run in the folder")                          //
        ("resume", options::flag(),
         "go on with the run in the folder if it was stopped; -a, -w and the rest may be left "
         "out")  //
        ("skip-if-exists", options::flag(),
         "do nothing if the folder holds a finished run")  //
        ("json", options::flag(), "print one JSON document");
    add_run_control(result);
    return {"-a ARCH -w WORKLOAD [options]", examples, result};
}

namespace {

/// Does what a folder tells. What is wrong with its command is said with the file that has it.
template <class Run>
int run_stored(const StoredRun& stored, const Run& run) {
    try {
        return run();
    } catch (const UserError& error) {
        const std::string message = error.what();
        if (error.position() || message.find(stored.file()) != std::string::npos) {
            throw;
        }
        throw UserError(message + "; the command is that of " + stored.file());
    }
}

void tell_changed(const StoredRun& run, const Arguments& arguments, std::ostream& err) {
    if (arguments.flag("quiet")) {
        return;
    }
    for (const std::string& line : run.changed_inputs()) {
        err << "tessera: " << line << "\n";
    }
}

/// `map -o DIR --resume` without inputs: the command is in the folder.
int resume_stored(const std::vector<std::string>& args, const Arguments& arguments,
                  const options::Description& known, std::ostream& out, std::ostream& err) {
    StoredRun stored{base::Directory(arguments.text("output"))};
    stored.read_anew(known, args);
    const std::string again = "tessera map --resume -o " + arguments.text("output");
    std::vector<std::string> full = stored.arguments(known, args, again);
    const std::vector<std::string> now = with_absolute(args, known);
    full.insert(full.end(), now.begin(), now.end());
    tell_changed(stored, arguments, err);
    const WorkingDirectory there(stored);
    return run_stored(stored, [&] {
        const Arguments all("map", full, known);
        return run_map(full, all, mapper_options(all), out, err);
    });
}

}  // namespace

CommandText rerun_text() {
    return {"DIR [options of map]",
            "  tessera rerun runs/gpt3\n  tessera rerun runs/gpt3 -o runs/gpt3-again\n",
            map_text().options};
}

int map_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::Description known = map_text().options;
    const Arguments arguments("map", args, known);
    const bool bare = !arguments.has("arch") && !arguments.has("workload");
    if (bare && arguments.flag("resume") && arguments.has("output")) {
        return resume_stored(args, arguments, known, out, err);
    }
    arguments.required("arch", "the architecture");
    arguments.required("workload", "the workload");
    return run_map(args, arguments, mapper_options(arguments), out, err);
}

int rerun_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::Description known = map_text().options;
    if (args.empty() || args.front().rfind('-', 0) == 0) {
        throw UserError("tessera rerun takes the folder of a run first; see tessera rerun --help");
    }
    StoredRun original{base::Directory(std::filesystem::absolute(args.front()))};
    const std::vector<std::string> more(args.begin() + 1, args.end());
    const Arguments valid("map", more, known);
    original.read_anew(known, more);
    const std::string again = "tessera rerun " + args.front();
    std::vector<std::string> full = original.arguments(known, more, again);
    const std::vector<std::string> now = with_absolute(more, known);
    full.insert(full.end(), now.begin(), now.end());
    tell_changed(original, valid, err);
    const WorkingDirectory there(original);
    return run_stored(original, [&] {
        const Arguments all("map", full, known);
        return run_map(full, all, mapper_options(all), out, err, &original);
    });
}

}  // namespace tessera::cli
