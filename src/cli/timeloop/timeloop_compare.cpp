// tessera compare for Timeloop's input files: its own algorithms, ours, and given mappings.
#include <filesystem>
#include <ostream>
#include <sstream>

#include "base/directory.hpp"
#include "cli/cli.hpp"
#include "cli/compare/compare.hpp"
#include "cli/run/stored_run.hpp"
#include "io/json_text.hpp"
#include "io/sha256.hpp"
#include "tessera/base/error.hpp"
#include "timeloop.hpp"
#include "timeloop_search.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera compare -a arch.yaml -w problem.yaml --max-time 10s
  tessera compare -a arch.yaml -w problem.yaml --mapper optimal,random --seeds 5 -m mine.map.yaml
  tessera compare -a arch.yaml -w problem.yaml --mapper hybrid,annealing,genetic --max-time 5s
)";

options::Description description() {
    options::Description result("Options for Timeloop's input files", 100);
    options::Description inputs;
    add_inputs(result, "awD");
    add_compare_options(result, "optimal,random,random-pruned,linear-pruned,hybrid",
                        "optimal, random, random-pruned, linear-pruned, hybrid, exhaustive, or a "
                        "search strategy (search:random for the one of that name)");
    result.add_options()("model", options::text().by_default("timeloop").named("NAME"),
                         "cost model: only timeloop");
    add_knobs(result);
    add_timeloop_search(result);
    return result;
}

/// What all contenders share.
struct Ground {
    timeloop::Input input;
    timeloop::Constraints constraints;
    timeloop::MapperSettings settings;
    TimeloopMetric metric;

    /// Costs of a mapping, by the model that executes the nest.
    void judge(const timeloop::Mapping& mapping, Trial& trial) const {
        const timeloop::Evaluation evaluation =
            timeloop::evaluate(input.problem, input.architecture, mapping, input.model);
        if (!evaluation.fit.ok()) {
            throw IllegalMapping(
                timeloop::describe(evaluation.fit, input.problem, input.architecture));
        }
        const timeloop::Stats& stats = evaluation.stats;
        const std::vector<std::string> doubts = evaluation_warnings(stats);
        if (!doubts.empty()) {
            throw IllegalMapping(doubts.front());
        }
        timeloop::Cost cost;
        cost.energy_pj = stats.energy_pj;
        cost.cycles = stats.cycles;
        for (std::size_t i = 0; i < stats.levels.size(); ++i) {
            cost.accesses[i] = stats.levels[i].accesses;
        }
        trial.value =
            objective_value(settings.objectives.front(), cost, input.architecture.levels()) *
            metric.scale;
        trial.energy_j = stats.energy_pj * 1e-12;
        trial.latency = static_cast<double>(stats.cycles);
        std::ostringstream yaml;
        timeloop::write_map_yaml(yaml, input.problem, input.architecture, mapping);
        trial.files = {{".map.yaml", yaml.str() + "\n"}};
    }
};

/// Timeloop's algorithms and ours by their names, everything else as a search strategy.
class SearchContender : public Contender {
public:
    SearchContender(const std::string& name, const Ground& ground, const Arguments& arguments,
                    std::set<std::string>& unused_knobs)
        : Contender(name), ground_(ground), settings_(ground.settings) {
        if (is_timeloop_algorithm(name)) {
            settings_.algorithm = timeloop_algorithm("mapper", name);
        } else {
            settings_.strategy = timeloop_strategy(components_of(arguments, name, unused_knobs));
        }
        // The budget of the comparison alone counts.
        settings_.timeout = settings_.victory = settings_.search_size = 0;
        settings_.time_limit_s = 0;
        settings_.target.reset();
    }

    void run(const Start& start, Trial& trial) override {
        timeloop::MapperSettings settings = settings_;
        settings.seed = start.seed;
        const timeloop::MapperResult result =
            timeloop_search(ground_.input, ground_.constraints, settings,
                            {start.budget, start.recorder, start.stop, {}});
        trial.evaluated = result.valid;
        trial.generated = result.total;
        trial.stopped_by = result.stopped_by;
        if (!result.best) {
            trial.status = result.proof == timeloop::Proof::infeasible ? Trial::Status::infeasible
                                                                       : Trial::Status::nothing;
            trial.error = "";
            return;
        }
        ground_.judge(*result.best, trial);
        if (result.bound) {
            trial.bound = *result.bound * ground_.metric.scale;
        }
        trial.status = result.proof == timeloop::Proof::optimal ? Trial::Status::optimal
                                                                : Trial::Status::feasible;
    }

private:
    const Ground& ground_;
    timeloop::MapperSettings settings_;
};

class GivenContender : public Contender {
public:
    GivenContender(const std::string& path, std::vector<std::string> files,
                   const spec::Defines& defines, const Ground& ground, timeloop::Warnings& warnings)
        : Contender(std::filesystem::path(path).filename().string()), ground_(ground) {
        mapping_ = timeloop_mapping(path, std::move(files), defines, warnings);
    }
    bool searches() const override {
        return false;
    }
    void run(const Start&, Trial& trial) override {
        if (const std::string fault = timeloop_fault(ground_.input, mapping_); !fault.empty()) {
            throw IllegalMapping(fault);
        }
        ground_.judge(mapping_, trial);
        trial.evaluated = 1;
        trial.status = Trial::Status::evaluated;
    }

private:
    const Ground& ground_;
    timeloop::Mapping mapping_;
};

io::Json run_json(const std::vector<std::string>& args, const std::vector<std::string>& files,
                  const Arguments& arguments) {
    io::Json root = comparison_run_json(args);
    root["inputs"] = io::Json::array();
    for (const std::string& file : files) {
        root["inputs"].push_back(
            {{"role", "input"},
             {"path", io::exact(file)},
             {"sha256", io::sha256(base::read_regular_file(file).value_or(""))}});
    }
    root["defines"] = defines_json(arguments.defines());
    return root;
}

}  // namespace

int timeloop_compare(const std::vector<std::string>& args, const std::vector<std::string>& files,
                     std::ostream& out, std::ostream& err) {
    const options::Description known = description();
    const Arguments arguments("compare", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    if (arguments.text("model") != "timeloop") {
        arguments.refuse("model", "timeloop, for Timeloop's input files");
    }
    Ground ground;
    ground.input = timeloop::load_input(timeloop::read_document(files, arguments.defines()));
    ground.settings = timeloop_settings(arguments, ground.input);
    ground.constraints =
        timeloop::read_constraints(ground.input.document, ground.input.problem,
                                   ground.input.architecture, ground.input.warnings);
    ground.metric = timeloop_metric(ground.settings);
    Comparison comparison;
    comparison.first_seed = ground.settings.seed;
    read_comparison_options(arguments, comparison);
    comparison.ui = ui(arguments, err);
    std::set<std::string> unused = given_knobs(arguments);
    for (const std::string& name : contender_names(arguments)) {
        comparison.contenders.push_back(
            std::make_unique<SearchContender>(name, ground, arguments, unused));
    }
    refuse_unused(unused);
    timeloop::Warnings warnings = ground.input.warnings;
    for (const std::string& path : arguments.list("mapping")) {
        comparison.contenders.push_back(
            std::make_unique<GivenContender>(path, files, arguments.defines(), ground, warnings));
    }
    if (!arguments.flag("quiet")) {
        for (const std::string& warning : warnings) {
            err << "tessera: warning: " << warning << "\n";
        }
    }
    check_names(comparison);
    const ComparisonSubject subject = {timeloop_workload(ground.input),
                                       timeloop_hardware(ground.input),
                                       "timeloop",
                                       "timeloop",
                                       ground.metric.name,
                                       ground.metric.unit,
                                       "J",
                                       "cycles",
                                       ground.metric.key,
                                       "cycles",
                                       ground.settings.threads};
    comparison.run = comparison_identity(args, subject);
    return deliver_comparison(comparison, subject, arguments, run_json(args, files, arguments), out,
                              err);
}

}  // namespace tessera::cli
