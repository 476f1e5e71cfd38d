#include "timeloop_search.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "api/search.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "cli/output.hpp"
#include "cli/run/live_run.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/position.hpp"
#include "timeloop/mapspace.hpp"
#include "timeloop/write.hpp"

namespace tessera::cli {

namespace {

using timeloop::Algorithm;
using Kind = timeloop::Objective::Kind;

constexpr double j_per_pj = 1e-12;

}  // namespace

void add_timeloop_search(options::Description& description) {
    const auto text = [](const char* name) { return options::text().named(name); };
    description.add_options()                                                             //
        ("metric", text("METRIC"), "energy, latency or edp; default: as the input says")  //
        ("threads", options::text().by_default("0").named("N"),
         "0: as the input says")  //
        ("seed", options::text().by_default("0").named("N"),
         "seed of randomised searches; 0: Timeloop's");
    add_run_control(description);
}

bool is_timeloop_algorithm(const std::string& name) {
    return timeloop::algorithm_named(name).has_value();
}

Algorithm timeloop_algorithm(const std::string& option, const std::string& name) {
    if (const std::optional<Algorithm> found = timeloop::algorithm_named(name)) {
        return *found;
    }
    const std::vector<std::string> known = timeloop::algorithm_names();
    const std::string near = spec::did_you_mean(name, known);
    throw UserError("--" + option + ": '" + name + "' is no algorithm for Timeloop's inputs (" +
                    "expected " + spec::name_list(known) + ")" + (near.empty() ? "" : "; " + near));
}

timeloop::StrategySettings timeloop_strategy(const Components& components) {
    if (components.mapper != api::strategy_runner) {
        throw UserError(
            "--mapper " + components.mapper +
            " maps Tessera's own inputs, not Timeloop's; for those name an algorithm (" +
            spec::name_list(timeloop::algorithm_names()) + ") or a search strategy");
    }
    const auto* const runner =
        plugin::Registry<mapper::Mapper>::instance().find(api::strategy_runner);
    const auto of = [&](const std::string& component) {
        const auto found = components.knobs.find(component);
        return found == components.knobs.end() ? plugin::KnobSettings{} : found->second;
    };
    const plugin::KnobValues knobs =
        plugin::read_knobs(api::strategy_runner, runner->knobs, of(api::strategy_runner));
    timeloop::StrategySettings settings;
    settings.name = knobs.text("strategy");
    settings.knobs = of(settings.name);
    settings.batch = static_cast<std::size_t>(knobs.integer("batch"));
    settings.islands = static_cast<std::size_t>(knobs.integer("islands"));
    // Wrong knobs are told before anything runs.
    plugin::Registry<search::SearchStrategy>::instance().create(settings.name, settings.knobs);
    return settings;
}

timeloop::MapperSettings timeloop_settings(const Arguments& arguments, timeloop::Input& input) {
    timeloop::MapperSettings result =
        timeloop::read_mapper_settings(input.document, input.architecture, input.warnings);
    if (arguments.has("metric")) {
        static constexpr Kind kinds[] = {Kind::energy, Kind::delay, Kind::edp};
        result.objectives = {{kinds[arguments.choice("metric", {"energy", "latency", "edp"})], 0}};
    }
    if (result.objectives.empty()) {
        result.objectives.emplace_back();
    }
    if (const auto threads = arguments.whole("threads", 0, 4096); threads > 0) {
        result.threads = static_cast<int>(threads);
    }
    if (arguments.has("seed")) {
        result.seed = arguments.whole("seed", 0, ~0ull);
    }
    return result;
}

TimeloopMetric timeloop_metric(const timeloop::MapperSettings& settings) {
    switch (settings.objectives.front().kind) {
        case Kind::edp:
            return {"edp", "edp_j_cycles", "J cycles", 1};
        case Kind::energy:
            return {"energy", "energy_j", "J", j_per_pj};
        case Kind::delay:
            return {"latency", "cycles", "cycles", 1};
        default:
            return {"accesses", "accesses", "words", 1};
    }
}

namespace {

Position place_of(const timeloop::Input& input, const timeloop::MapperSettings& settings) {
    return settings.where.file.empty() ? input.document.root.position : settings.where;
}

}  // namespace

timeloop::MapperResult timeloop_search(const timeloop::Input& input,
                                       const timeloop::Constraints& constraints,
                                       const timeloop::MapperSettings& settings,
                                       const TimeloopSearch& search) {
    timeloop::MapperHooks hooks;
    hooks.start = search.start;
    hooks.stop = search.stop;
    hooks.model = input.model;
    hooks.budget = search.budget;
    if (hooks.budget.target) {
        *hooks.budget.target /= timeloop_metric(settings).scale;
    }
    hooks.recorder = search.recorder;
    hooks.cycle_s = 1;  // latencies are told in cycles
    return timeloop::with_place(place_of(input, settings), [&] {
        return timeloop::search_mappings(input.problem, input.architecture, constraints, settings,
                                         hooks);
    });
}

std::string timeloop_workload(const timeloop::Input& input) {
    return input.problem.name.empty() ? "problem" : input.problem.name;
}

std::string timeloop_hardware(const timeloop::Input& input) {
    return std::filesystem::path(input.document.files.back()).stem().string();
}

timeloop::Mapping timeloop_mapping(timeloop::Input& input) {
    std::optional<timeloop::Mapping> found =
        timeloop::read_mapping(input.document, input.problem, input.architecture, input.warnings);
    if (!found) {
        throw UserError(input.document.root.position,
                        "no 'mapping' is given (expected a list of directives); give it with -m");
    }
    return *found;
}

timeloop::Mapping timeloop_mapping(const std::string& path, std::vector<std::string> files,
                                   const spec::Defines& defines, timeloop::Warnings& warnings) {
    files.insert(files.begin(), path);
    timeloop::Input input = timeloop::load_input(timeloop::read_document(files, defines));
    timeloop::Mapping mapping = timeloop_mapping(input);
    for (const std::string& warning : input.warnings) {
        if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) {
            warnings.push_back(warning);
        }
    }
    return mapping;
}

std::string timeloop_fault(const timeloop::Input& input, const timeloop::Mapping& mapping) {
    const std::string fault =
        timeloop::structural_fault(input.problem, input.architecture, mapping);
    if (!fault.empty()) {
        return fault;
    }
    timeloop::Warnings told;  // with the constraints of the searches
    const std::vector<std::string> broken = timeloop::broken_constraints(input, mapping, told);
    if (!broken.empty()) {
        return broken.front();
    }
    const timeloop::Fit fit =
        timeloop::evaluate(input.problem, input.architecture, mapping, input.model).fit;
    return fit.ok() ? "" : timeloop::describe(fit, input.problem, input.architecture);
}

timeloop::Mapping timeloop_start(const std::string& path, const std::vector<std::string>& files,
                                 const spec::Defines& defines, timeloop::Input& input,
                                 const timeloop::Constraints& constraints,
                                 const timeloop::MapperSettings& settings) {
    timeloop::Mapping mapping = timeloop_mapping(path, files, defines, input.warnings);
    const std::string name = "--start " + base::one_line(path) + ": ";
    if (const std::string fault = timeloop_fault(input, mapping); !fault.empty()) {
        throw UserError(name + fault);
    }
    const timeloop::MapSpace space(input.problem, input.architecture, constraints,
                                   settings.factors);
    if (const auto faults = space.audit(mapping); !faults.empty()) {
        throw UserError(name + "not in the mapspace that is searched: " + faults.front());
    }
    return mapping;
}

void print_timeloop_stats(std::ostream& out, const timeloop::Input& input,
                          const timeloop::Stats& stats) {
    out << "  energy       " << base::quantity(stats.energy_pj * j_per_pj, "J") << "\n"
        << "  latency      " << stats.cycles << " cycles\n"
        << "  EDP          " << stats.edp() << " J cycles\n"
        << "  utilization  " << base::percent(stats.utilization) << "\n"
        << "  bottleneck   " << timeloop::bottleneck(input.architecture, stats) << "\n";
    std::vector<std::vector<std::string>> rows = {
        {"  level", "energies from", "energy", "accesses", "cycles"}};
    const timeloop::ArithmeticLevel& arithmetic = input.architecture.arithmetic;
    rows.push_back({"  " + arithmetic.name, arithmetic.energy_source,
                    base::quantity(stats.arithmetic.energy_pj * j_per_pj, "J"),
                    std::to_string(stats.arithmetic.computes),
                    std::to_string(stats.arithmetic.cycles)});
    for (std::size_t i = 0; i < stats.levels.size(); ++i) {
        const timeloop::StorageLevel& level = input.architecture.storage[i];
        rows.push_back({"  " + level.name, level.energy.source,
                        base::quantity(stats.levels[i].energy_pj * j_per_pj, "J"),
                        std::to_string(stats.levels[i].accesses),
                        std::to_string(stats.levels[i].cycles)});
    }
    print_table(out, rows, 2);
}

}  // namespace tessera::cli
