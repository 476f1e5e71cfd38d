// tessera compare: several mappers, strategies and given mappings on one problem under one budget.
#include "compare.hpp"
#include "api/search.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>

#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "cli/plugins/components.hpp"
#include "cli/run/map_options.hpp"
#include "cli/run/map_report.hpp"
#include "cli/run/map_run.hpp"
#include "cli/run/mapping_view.hpp"
#include "cli/run/run_description.hpp"
#include "cli/run/stored_run.hpp"
#include "compare_field.hpp"
#include "contender_name.hpp"
#include "io/json_text.hpp"
#include "judgement.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera compare -a simba -w matmuls -D N_EINSUMS=2 --mapper ffm,random --max-time 5s
  tessera compare -a simba -w matmuls --mapper random --mapper timeloop -m mine.yaml --seeds 5 -o runs/comparison
  tessera compare -a simba -w matmuls --mapper 'mcts,mcts[variant=tileseek]' --max-time 5s
  tessera compare --instances instances.yaml --mapper ffm,random --seeds 5 --max-time 5s -o runs/field
  tessera compare -a arch.yaml -w problem.yaml --mapper optimal,random,hybrid --max-time 10s
)";

}  // namespace

CommandText compare_text() {
    options::options_description result("Options", 100);
    add_inputs(result, "aweD");
    add_compare_options(result, "ffm,random", "mappers and search strategies");
    add_field_options(result);
    add_search_options(result);
    const auto list = [](const char* name) {
        return options::value<std::vector<std::string>>()->value_name(name);
    };
    result.add_options()  //
        ("model", options::value<std::string>()->default_value("looptree")->value_name("NAME"),
         "cost model of all")  //
        ("knob", list("NAME.KNOB=VALUE"),
         "set a knob of those that use this mapper, strategy or model; may be repeated")  //
        ("plugin", list("FILE"), "load this plugin first; may be repeated");
    add_run_control(result);
    return {"-a ARCH -w WORKLOAD [options]", examples, result};
}

std::set<std::string> given_knobs(const Arguments& arguments) {
    const std::vector<std::string> knobs = arguments.list("knob");
    return {knobs.begin(), knobs.end()};
}

void refuse_unused(const std::set<std::string>& knobs) {
    if (!knobs.empty()) {
        throw UserError("--knob " + *knobs.begin() + ": none of those compared uses it");
    }
}

Components components_of(const Arguments& arguments, const std::string& mapper,
                         std::set<std::string>& unused_knobs) {
    options::options_description known;
    add_components(known, true);
    const ContenderName contender = contender_name(mapper);
    std::vector<std::string> words = {"--mapper", contender.mapper, "--model",
                                      arguments.text("model")};
    const Components bare(Arguments("compare", words, known), true);
    for (const std::string& knob : arguments.list("knob")) {
        const std::string component = knob.substr(0, knob.find('.'));
        const std::string key = knob.substr(0, knob.find('='));
        if (std::any_of(contender.knobs.begin(), contender.knobs.end(),
                        [&](const auto& own) { return own.substr(0, own.find('=')) == key; })) {
            unused_knobs.erase(knob);
            continue;  // its own goes before
        }
        const bool runner = bare.mapper == "search" && component == "random";
        if (component == bare.mapper || component == bare.model || component == bare.strategy ||
            (runner && bare.strategy.empty()) || knob.find('.') == std::string::npos) {
            words.insert(words.end(), {"--knob", knob});
            unused_knobs.erase(knob);
        }
    }
    for (const std::string& knob : contender.knobs) {
        words.insert(words.end(), {"--knob", knob});
    }
    return Components(Arguments("compare", words, known), true);
}

namespace {

/// Value and mapping of a solution that was judged.
void record(const model::Report& report, const mapping::Mapping& mapping, mapper::Metric metric,
            Trial& trial) {
    trial.value = mapper::metric_value(metric, report);
    trial.energy_j = report.energy_j();
    trial.latency = report.latency_s();
    trial.files = {{".mapping.yaml", mapping::to_yaml(mapping)}};
}

class MapperContender : public Contender {
public:
    MapperContender(std::string name, Components components, const Inputs& inputs,
                    const mapper::Options& settings)
        : Contender(std::move(name)),
          components_(std::move(components)),
          inputs_(inputs),
          settings_(settings) {
        shown_by_ = components_.make_model();  // wrong knobs are told before anything runs
        components_.make_mapper();
    }

    void run(const Start& start, Trial& trial) override {
        mapper::Options settings = settings_;
        settings.seed = start.seed;
        settings.budget = start.budget;
        settings.recorder = start.recorder;
        settings.stop = start.stop;
        settings.knobs = components_.knobs;
        settings.progress = [&](const std::string& line) { start.recorder->log(line); };
        const auto model = components_.make_model();
        const auto mapper = components_.make_mapper();
        const model::Problem problem = inputs_.problem();
        const mapper::Result result = api::run_mapper(*mapper, problem, *model, settings);
        trial.evaluated = result.statistics.evaluated;
        trial.stopped_by = result.stopped_by;
        trial.preparation = {result.statistics.trained_on, result.statistics.tuned_by,
                             result.statistics.tuned_s};
        if (result.solutions.empty()) {
            trial.status = result.status == mapper::Status::infeasible ? Trial::Status::infeasible
                                                                       : Trial::Status::nothing;
            return;
        }
        const mapper::Solution& best = result.solutions.front();
        const mapper::Metric metric = settings.metrics.front();
        record(judged(problem, *model, best, metric), best.mapping, metric, trial);
        trial.bound = result.bound;
        trial.status = result.status == mapper::Status::optimal ? Trial::Status::optimal
                                                                : Trial::Status::feasible;
    }
    std::vector<telemetry::PluginView> plugins() const override {
        return plugins_in_use(components_);
    }
    std::function<telemetry::MappingView(const std::string&)> describe() const override {
        return mapping_view(inputs_.problem(), *shown_by_);
    }

private:
    Components components_;
    plugin::Owned<model::CostModel> shown_by_;
    const Inputs& inputs_;
    const mapper::Options& settings_;
};

/// A mapping from a file.
class GivenContender : public Contender {
public:
    GivenContender(const std::string& path, mapping::Mapping mapping, const Components& components,
                   const Inputs& inputs, mapper::Metric metric)
        : Contender(std::filesystem::path(path).filename().string()),
          mapping_(std::move(mapping)),
          components_(components),
          inputs_(inputs),
          metric_(metric) {}
    bool searches() const override {
        return false;
    }
    void run(const Start&, Trial& trial) override {
        const model::Report report = judged(inputs_.problem(), *components_.make_model(), mapping_);
        record(report, mapping_, metric_, trial);
        trial.evaluated = 1;
        trial.status = Trial::Status::evaluated;
    }

private:
    mapping::Mapping mapping_;
    Components components_;
    const Inputs& inputs_;
    mapper::Metric metric_;
};

/// -a, -w, -D and --einsums alone.
Arguments input_arguments(const Arguments& arguments) {
    options::options_description known;
    add_inputs(known, "aweD");
    std::vector<std::string> words = {"-a", arguments.text("arch"), "-w",
                                      arguments.text("workload")};
    for (const std::string& define : arguments.list("define")) {
        words.insert(words.end(), {"-D", define});
    }
    if (arguments.has("einsums")) {
        words.insert(words.end(), {"--einsums", arguments.text("einsums")});
    }
    return Arguments("compare", words, known);
}

class CompareCommand {
public:
    CompareCommand(const std::vector<std::string>& args, const Arguments& arguments,
                   std::ostream& out, std::ostream& err)
        : args_(args),
          arguments_(arguments),
          settings_(mapper_options(arguments)),
          input_arguments_(input_arguments(arguments)),
          inputs_(input_arguments_, arguments.compat()),
          out_(out),
          err_(err) {
        if (settings_.metrics.size() != 1) {
            arguments.refuse("metric", "one metric: a comparison ranks by it");
        }
        comparison_.first_seed = settings_.seed;
        read_comparison_options(arguments, comparison_);
        comparison_.ui = ui(arguments, err);
        if (arguments.text("mapspace") == timeloop_name) {
            arguments.refuse("mapspace", "full or accelforge: --mapper timeloop has its own");
        }
        print_file_warnings(err, inputs_.warnings);
        print_guessed(err, inputs_.guessed_roles);
        add_contenders();
        describe();
    }

    int run() {
        return deliver_comparison(comparison_, subject_, arguments_, run_json(), out_, err_);
    }

private:
    void add_contenders() {
        std::set<std::string> unused = given_knobs(arguments_);
        for (const std::string& name : contender_names(arguments_)) {
            comparison_.contenders.push_back(std::make_unique<MapperContender>(
                name, components_of(arguments_, name, unused), inputs_, settings_));
        }
        refuse_unused(unused);
        options::options_description known;
        add_components(known, false);
        const Components model(Arguments("compare", {"--model", arguments_.text("model")}, known),
                               false);
        for (const std::string& path : arguments_.list("mapping")) {
            comparison_.contenders.push_back(std::make_unique<GivenContender>(
                path, given_mapping(path, arguments_.defines(), inputs_.problem(), err_), model,
                inputs_, settings_.metrics.front()));
        }
        for (const std::string& path : arguments_.list("start")) {
            const auto judge = model.make_model();
            mapper::Solution known{given_mapping(path, {}, inputs_.problem(), err_), {}};
            known.report = judged(inputs_.problem(), *judge, known.mapping);
            settings_.start.push_back(std::move(known));
        }
        check_names(comparison_);
    }

    void describe() {
        const arch::Architecture& hardware = *inputs_.architecture;
        subject_ = {inputs_.workload->name,
                    hardware.name(),
                    arguments_.text("model"),
                    preset_name(settings_.mapspace),
                    metric_name(settings_.metrics.front()),
                    metric_unit(hardware, settings_.metrics.front()),
                    unit(hardware, "J"),
                    unit(hardware, "s"),
                    mapper::facts(settings_.metrics.front()).key,
                    "latency_s",
                    settings_.threads};
        comparison_.run = comparison_identity(args_, subject_);
    }

    io::Json run_json() const {
        io::Json root = comparison_run_json(args_);
        root["inputs"] = io::Json::array();
        for (const InputFile& file : inputs_.files) {
            root["inputs"].push_back(
                {{"role", file.role}, {"path", io::exact(file.path)}, {"sha256", file.sha256}});
        }
        root["defines"] = defines_json(arguments_.defines());
        return root;
    }

    const std::vector<std::string>& args_;
    const Arguments& arguments_;
    mapper::Options settings_;
    Arguments input_arguments_;
    Inputs inputs_;
    std::ostream& out_;
    std::ostream& err_;
    Comparison comparison_;
    ComparisonSubject subject_;
};

}  // namespace

int compare_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::options_description known = compare_text().options;
    const Arguments arguments("compare", args, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    if (arguments.has("instances")) {
        return compare_field(args, arguments, out, err);
    }
    for (const char* name : {"jobs", "resume"}) {
        if (arguments.given(name)) {
            throw UserError(std::string("option '--") + name + "' belongs to --instances");
        }
    }
    arguments.required("arch", "the architecture");
    arguments.required("workload", "the workload");
    return CompareCommand(args, arguments, out, err).run();
}

}  // namespace tessera::cli
