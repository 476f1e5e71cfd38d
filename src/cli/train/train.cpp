// tessera train: the options, and the plan that they make.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <ostream>

#include "cli/arguments.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/inputs.hpp"
#include "io/json_text.hpp"
#include "tessera/base/error.hpp"
#include "train_run.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera train -a mind-mappings -w cnn-layer -D C=32:480:32 -D K=32:512:32 -D P=7:112:7 -o runs/cnn
  tessera map -a mind-mappings -w cnn-layer --mapper gradient --max-time 10s \
    --knob gradient.surrogate=runs/cnn/surrogate.bin
)";

}  // namespace

CommandText train_text() {
    options::Description result("Options", 100);
    const auto list = [](const char* name) { return options::list().named(name); };
    const auto text = [](const char* standard, const char* name) {
        return options::text().by_default(standard).named(name);
    };
    add_inputs(result, "aw");
    result.add_options()  //
        ("define,D", list("NAME=VALUES"),
         "values that a variable takes in the family: 1,2,4 or FROM:TO:STEP or FROM:TO:*FACTOR; "
         "may be repeated")                                                               //
        ("samples", text("200000", "N"), "random legal mappings to train and test with")  //
        ("per-problem", text("500", "N"), "of these, from each problem")                  //
        ("predict", text("statistics", "WHAT"),
         "statistics: energies by memory and tensor, usage, peaks, energy and latency; edp: the "
         "EDP alone")                                                                    //
        ("scale", text("log", "SCALE"), "of costs: log, or linear as published")         //
        ("hidden", text("256,256,256", "WIDTHS"), "widths of the hidden layers")         //
        ("loss", text("huber", "LOSS"), "huber, squared or absolute")                    //
        ("epochs", text("30", "N"), "times that each sample is trained with")            //
        ("batch", text("128", "N"), "samples of a step")                                 //
        ("rate", text("0.01", "RATE"), "of the first steps")                             //
        ("momentum", text("0.9", "FRACTION"), "of a step that the next one keeps")       //
        ("drop-every", text("10", "N"), "epochs after which the rate is divided by 10")  //
        ("seed", text("0", "N"), "of problems, mappings, weights and order")             //
        ("threads", text("1", "N"), "the result does not depend on it")                  //
        ("output,o", options::text().named("DIR"),
         "the folder: surrogate.bin, samples, losses.csv, losses.svg, result.json")  //
        ("resume", options::flag(), "go on with the run in the folder")              //
        ("json", options::flag(), "print one JSON document");
    add_views(result);
    add_components(result, false);
    return {"-a ARCH -w WORKLOAD -o DIR [options]", examples, result};
}

namespace {

std::vector<std::size_t> widths(const Arguments& arguments) {
    std::vector<std::size_t> result;
    const std::string text = arguments.text("hidden") + ",";
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find(',', at);
        std::size_t width = 0;
        const auto [last, code] = std::from_chars(text.data() + at, text.data() + end, width);
        if (code != std::errc() || last != text.data() + end || width < 1 || width > 65536 ||
            result.size() == 64) {
            arguments.refuse("hidden", "up to 64 widths from 1 to 65536, as in 256,256,256");
        }
        result.push_back(width);
        at = end + 1;
    }
    return result;
}

learning::Loss loss(const Arguments& arguments) {
    static constexpr learning::Loss kinds[] = {learning::Loss::huber, learning::Loss::squared,
                                               learning::Loss::absolute};
    return kinds[arguments.choice("loss", {"huber", "squared", "absolute"})];
}

/// What the folder must agree with to be gone on with.
io::Json described(const TrainPlan& plan, const Arguments& arguments,
                   const api::ProblemFamily& family) {
    io::Json run;
    run["schema_version"] = io::schema_version;
    run["kind"] = "train";
    run["tessera_version"] = version;
    for (const InputFile& file : input_files(family.files())) {
        run["inputs"].push_back({{"role", file.role}, {"sha256", file.sha256}});
    }
    for (const SweepAxis& axis : plan.axes) {
        run["define"].push_back({{"name", io::exact(axis.name)}, {"values", axis.values}});
    }
    for (const char* option :
         {"model", "samples", "per-problem", "predict", "scale", "hidden", "loss", "epochs",
          "batch", "rate", "momentum", "drop-every", "seed"}) {
        run["options"][option] = arguments.text(option);
    }
    run["knobs"] = arguments.list("knob");
    return run;
}

telemetry::RunIdentity identity(const TrainPlan& plan, const std::vector<std::string>& args,
                                const Components& components) {
    telemetry::RunIdentity run = process_identity("train", args, plan.folder, plan.workload);
    run.workload = plan.workload;
    run.architecture = plan.architecture;
    run.mapper = "train";
    run.model = components.model;
    run.metrics = {"loss"};
    run.threads = plan.training.threads;
    run.seed = plan.training.seed;
    return run;
}

}  // namespace

int train_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::Description known = train_text().options;
    const Arguments arguments("train", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    const std::string architecture = arguments.required("arch", "the architecture");
    const std::string workload = arguments.required("workload", "the workload");
    TrainPlan plan;
    plan.folder = arguments.required("output", "the folder to train in");
    plan.resume = arguments.flag("resume");
    plan.json = arguments.flag("json");
    constexpr std::uint64_t most = 100'000'000;
    plan.samples = arguments.whole("samples", 1, most);
    plan.per_problem = arguments.whole("per-problem", 1, 1'000'000);
    plan.epochs = arguments.whole("epochs", 1, 100'000);
    plan.hidden = widths(arguments);
    plan.sampling.predicted = arguments.choice("predict", {"statistics", "edp"}) == 0
                                  ? learning::Predicted::statistics
                                  : learning::Predicted::edp;
    plan.sampling.log = arguments.choice("scale", {"log", "linear"}) == 0;
    plan.training.loss = loss(arguments);
    plan.training.batch = arguments.whole("batch", 1, most);
    plan.training.rate = arguments.number("rate", 1000, "a number above 0");
    plan.training.momentum = arguments.number("momentum", 1, "a number above 0 and below 1");
    plan.training.drop_every = arguments.whole("drop-every", 1, 100'000);
    plan.training.seed = arguments.whole("seed", 0, ~std::uint64_t{0});
    plan.training.threads = static_cast<int>(arguments.whole("threads", 1, 1024));
    for (const std::string& text : arguments.list("define")) {
        plan.axes.push_back(sweep_axis(text, false));
    }
    const api::ProblemFamily family(architecture, workload);
    api::Choice first;
    for (const SweepAxis& axis : plan.axes) {
        first.defines[axis.name] = axis.values.front();
    }
    family.check(first);
    print_file_warnings(err, family.with(first).warnings);
    plan.workload = family.workload_name();
    plan.architecture = std::filesystem::path(family.files().front().path).stem().string();
    const Components components(arguments, false);
    components.make_model();  // wrong knobs are told before anything is drawn
    plan.description = described(plan, arguments, family);
    plan.views = {identity(plan, args, components), ui(arguments, err), arguments.flag("plain")};
    return train(plan, family, components, out, err);
}

}  // namespace tessera::cli
