// tessera compare: several mappers, strategies and given mappings on one problem under one budget.
#include "compare.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>

#include "base/printable.hpp"
#include "cli/answer/proof.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "cli/plugins/components.hpp"
#include "cli/run/map_options.hpp"
#include "cli/run/map_run.hpp"
#include "cli/run/mapping_view.hpp"
#include "cli/run/run_description.hpp"
#include "cli/run/stored_run.hpp"
#include "compare_field.hpp"
#include "contender_name.hpp"
#include "io/json_text.hpp"
#include "tessera/base/error.hpp"
#include "tessera/session.hpp"
#include "tessera/workload/workload.hpp"

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
    options::Description result("Options", 100);
    add_inputs(result, "aweDS");
    add_compare_options(result, "ffm,random", "mappers and search strategies");
    add_field_options(result);
    add_search_options(result);
    const auto list = [](const char* name) { return options::list().named(name); };
    result.add_options()  //
        ("model", options::text().by_default("looptree").named("NAME"),
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

std::vector<std::string> knobs_for(const Arguments& arguments, const std::string& mapper,
                                   std::set<std::string>& unused_knobs) {
    const Components bare(arguments, contender_name(mapper).mapper, {});
    std::vector<std::string> used;
    for (const std::string& knob : arguments.list("knob")) {
        const std::size_t dot = knob.find('.');
        if (dot == std::string::npos || bare.uses(knob.substr(0, dot))) {
            used.push_back(knob);
            unused_knobs.erase(knob);
        }
    }
    return used;
}

Components components_of(const Arguments& arguments, const std::string& mapper,
                         std::set<std::string>& unused_knobs) {
    const ContenderName contender = contender_name(mapper);
    std::vector<std::string> knobs = contender.knobs;
    for (const std::string& knob : knobs_for(arguments, mapper, unused_knobs)) {
        const std::string key = knob.substr(0, knob.find('=') + 1);
        if (std::none_of(contender.knobs.begin(), contender.knobs.end(),
                         [&](const std::string& own) { return own.starts_with(key); })) {
            knobs.push_back(knob);
        }
    }
    return Components(arguments, contender.mapper, knobs);
}

namespace {

/// Value and mapping of a solution.
void record(const mapper::Solution& solution, mapper::Metric metric, Trial& trial) {
    trial.value = mapper::metric_value(metric, solution.report);
    trial.energy_j = solution.report.energy_j();
    trial.latency = solution.report.latency_s();
    trial.files = {{".mapping.yaml", mapping::to_yaml(solution.mapping)}};
}

/// All search the mapspace of the options.
class MapperContender : public Contender {
public:
    MapperContender(std::string name, const Components& components, const model::Problem& problem,
                    const mapper::Options& settings)
        : Contender(std::move(name)),
          session_(problem, components, settings, Session::Space::given) {}

    void begin_with(const mapping::Mapping& mapping, const std::string& name) {
        session_.begin_with(mapping, name);
    }

    void run(const Start& start, Trial& trial) override {
        const Result result =
            session_.search({start.seed, start.budget, start.recorder, start.stop, ""});
        trial.evaluated = result.statistics.evaluated;
        trial.stopped_by = result.stopped_by;
        trial.preparation = {result.statistics.trained_on, result.statistics.tuned_by,
                             result.statistics.tuned_s};
        if (result.solutions.empty()) {
            trial.status = result.status == mapper::Status::infeasible ? Trial::Status::infeasible
                                                                       : Trial::Status::nothing;
            trial.reasons = result.reasons;
            return;
        }
        record(result.best(), result.metrics.front(), trial);
        trial.bound = result.bound;
        trial.status = result.status == mapper::Status::optimal ? Trial::Status::optimal
                                                                : Trial::Status::feasible;
    }
    std::vector<telemetry::PluginView> plugins() const override {
        return plugins_in_use(session_.components());
    }
    std::function<telemetry::MappingView(const std::string&)> describe() const override {
        return mapping_view(session_.problem(), session_.model());
    }

private:
    Session session_;
};

/// A mapping from a file. It need not be in the mapspace that the others search.
class GivenContender : public Contender {
public:
    GivenContender(const std::string& path, mapping::Mapping mapping, const Components& components,
                   const model::Problem& problem, const mapper::Options& settings)
        : Contender(std::filesystem::path(path).filename().string()),
          given_{std::move(mapping), {}},
          session_(problem, components, settings) {}
    bool searches() const override {
        return false;
    }
    void run(const Start&, Trial& trial) override {
        given_.report = session_.judge(given_.mapping);
        record(given_, session_.settings().metrics.front(), trial);
        trial.evaluated = 1;
        trial.status = Trial::Status::evaluated;
    }

private:
    mapper::Solution given_;
    const Session session_;
};

class CompareCommand {
public:
    CompareCommand(const std::vector<std::string>& args, const Arguments& arguments,
                   std::ostream& out, std::ostream& err)
        : args_(args),
          arguments_(arguments),
          settings_(mapper_options(arguments)),
          inputs_(arguments, arguments.compat(), false),
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
        std::vector<std::pair<std::string, mapping::Mapping>> start;
        for (const std::string& path : arguments_.list("start")) {
            start.emplace_back("--start " + base::one_line(path),
                               given_mapping(path, {}, inputs_.problem(), err_));
        }
        std::set<std::string> unused = given_knobs(arguments_);
        for (const std::string& name : contender_names(arguments_)) {
            auto contender = std::make_unique<MapperContender>(
                name, components_of(arguments_, name, unused), inputs_.problem(), settings_);
            for (const auto& [what, mapping] : start) {
                contender->begin_with(mapping, what);
            }
            comparison_.contenders.push_back(std::move(contender));
        }
        if (!start.empty() && comparison_.contenders.empty()) {
            throw UserError("--start: nothing is searched that could begin with it");
        }
        const Components model = components_of(arguments_, "", unused);
        for (const std::string& path : arguments_.list("mapping")) {
            comparison_.contenders.push_back(std::make_unique<GivenContender>(
                path, given_mapping(path, arguments_.defines(), inputs_.problem(), err_), model,
                inputs_.problem(), settings_));
        }
        refuse_unused(unused);
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
                    settings_.threads,
                    switches_text(settings_.mapspace)};
        comparison_.run = comparison_identity(args_, subject_);
    }

    io::Json run_json() const {
        io::Json root = comparison_run_json(args_);
        root["inputs"] = io::Json::array();
        for (const InputFile& file : inputs_.files) {
            root["inputs"].push_back(
                {{"role", file.role}, {"path", io::exact(file.path)}, {"sha256", file.sha256}});
        }
        put_given(root, arguments_);
        return root;
    }

    const std::vector<std::string>& args_;
    const Arguments& arguments_;
    mapper::Options settings_;
    Inputs inputs_;
    std::ostream& out_;
    std::ostream& err_;
    Comparison comparison_;
    ComparisonSubject subject_;
};

}  // namespace

int compare_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::Description known = compare_text().options;
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
