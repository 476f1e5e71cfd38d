// timeloop-mapper: the best mapping of a problem.
//
//   load               the input, its constraints and settings; Timeloop's progress lines
//   Frontier           the rows of oaves.csv while the search runs
//   explain_failure    what to say when nothing was found
#include <functional>
#include <ostream>
#include <sstream>
#include <thread>

#include "cli/cli.hpp"
#include "cli/plugins/components.hpp"
#include "cli/view/interrupt.hpp"
#include "tessera/base/error.hpp"
#include "timeloop.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/mapspace.hpp"
#include "timeloop_search.hpp"

namespace tessera::cli {

namespace {

using timeloop::Dialect;
using timeloop::Format;

struct Loaded {
    timeloop::Input input;
    timeloop::Constraints constraints;
    timeloop::MapperSettings settings;
    std::string prefix;
};

timeloop::StrategySettings strategy_of(std::vector<std::string> words, std::ostream& err) {
    load_plugins(words, err);
    options::Description known;
    add_components(known, true);
    words.insert(words.end(), {"--model", "timeloop"});
    const Arguments arguments("timeloop-mapper", words, known);
    if (!arguments.has("strategy")) {
        throw UserError(words.front() + " needs a search strategy; name one with --strategy");
    }
    return timeloop_strategy(Components(arguments, true));
}

Loaded load(const TimeloopArguments& arguments, std::ostream& out, std::ostream& err) {
    timeloop::Document document = timeloop::read_document(arguments.files);
    const spec::Node* mapper = timeloop::find_key(document.root, "mapper");
    if (mapper == nullptr) {
        throw UserError(document.root.position,
                        "the input lacks the key 'mapper'; add 'mapper: {}' for the defaults");
    }
    const bool master = document.dialect == Dialect::master;
    const spec::Node* prefix = timeloop::find_key(*mapper, "out_prefix");
    const bool named = !master && prefix != nullptr && prefix->is_scalar() && !prefix->text.empty();
    Loaded loaded;
    loaded.prefix = arguments.folder + "/" + (named ? prefix->text : "timeloop-mapper");
    loaded.input = timeloop::load_input(std::move(document), loaded.prefix);
    timeloop::Input& input = loaded.input;
    report_progress(out, input);
    loaded.settings =
        timeloop::read_mapper_settings(input.document, input.architecture, input.warnings);
    const int threads = loaded.settings.threads;
    out << (threads > 0 ? "Using threads = " : "Using all available hardware threads = ")
        << (threads > 0 ? static_cast<unsigned>(threads) : std::thread::hardware_concurrency())
        << "\nMapper configuration complete.\n";
    if (!arguments.strategy.empty()) {
        loaded.settings.strategy = strategy_of(arguments.strategy, err);
    }
    loaded.constraints = timeloop::read_constraints(input.document, input.problem,
                                                    input.architecture, input.warnings);
    print_warnings(err, input.warnings);
    return loaded;
}

void print_mapspace(std::ostream& out, const Loaded& loaded) {
    const timeloop::MapSpace space(loaded.input.problem, loaded.input.architecture,
                                   loaded.constraints, loaded.settings.factors);
    out << "Initializing Index Factorization subspace.\n";
    for (std::size_t d = 0; d < space.factors().size(); ++d) {
        out << "  Factorization options along problem dimension "
            << loaded.input.problem.dimensions[d].name << " = " << space.factors()[d].count << "\n";
    }
    const auto size = [&](const char* name, timeloop::Wide count) {
        const bool more = count == ~timeloop::Wide{0};
        out << "Mapspace Dimension [" << name
            << "] Size: " << (more ? "more than 2^128" : timeloop::decimal(count)) << "\n";
    };
    size("IndexFactorization", space.factor_count());
    size("LoopPermutation", space.permutation_count());
    size("Spatial", space.split_count());
    size("DatatypeBypass", space.bypass_count());
    out << "Mapspace construction complete.\nSearch configuration complete.\n";
    out.flush();
}

/// Every mapping that a thread reports for the frontier becomes a row, and a file if asked for.
class Frontier {
public:
    Frontier(const Loaded& loaded, TimeloopFiles& files, const char* ending)
        : loaded_(loaded), files_(files), ending_(ending) {}

    void add(const timeloop::Mapping& mapping, int thread) {
        const timeloop::Input& input = loaded_.input;
        const timeloop::Stats stats =
            timeloop::evaluate(input.problem, input.architecture, mapping, input.model).stats;
        const timeloop::Evaluated evaluated{input.problem, input.architecture, mapping, stats};
        const std::string compact = timeloop::compact_text(input.problem, mapping);
        std::string file = "None";
        if (loaded_.settings.log_oaves_mappings) {
            std::ostringstream ending;
            ending << ending_ << "." << utilized(stats) << "_" << thread << "_" << std::hex
                   << std::hash<std::string>()(compact) << ".yaml";
            std::ostringstream text;
            timeloop::write_map_yaml(text, input.problem, input.architecture, mapping);
            files_.add(ending.str(), text.str());
            file = files_.prefix() + ending.str();
        }
        timeloop::write_frontier_row(rows_, evaluated, input.document.dialect, compact, file);
    }
    std::string text() const {
        return rows_.str();
    }

private:
    std::uint64_t utilized(const timeloop::Stats& stats) const {
        std::uint64_t total = 0;
        for (const timeloop::DataSpaceStats& space : stats.levels.front().data_spaces) {
            total += space.utilized_capacity;
        }
        return total;
    }

    const Loaded& loaded_;
    TimeloopFiles& files_;
    const char* ending_;
    std::ostringstream rows_;
};

constexpr const char* nothing_found =
    "MESSAGE: no valid mappings found within search criteria. What is known:\n";

/// Adds to the reasons which level lacks how much for which data spaces: from the constraints, or
/// else from the nearest misses of a short random search.
void find_reasons(const Loaded& loaded, timeloop::MapperResult& result) {
    const timeloop::Input& input = loaded.input;
    const timeloop::MapSpace space(input.problem, input.architecture, loaded.constraints,
                                   loaded.settings.factors);
    std::vector<std::string> reasons = timeloop::unavoidable_failures(space);
    if (!reasons.empty()) {
        result.proof = timeloop::Proof::infeasible;
        result.reasons.clear();
    }
    std::vector<timeloop::FailureGroup> failures;
    if (reasons.empty() && result.failures.empty()) {
        timeloop::MapperSettings sample = loaded.settings;
        sample.algorithm = timeloop::Algorithm::random;
        sample.timeout = 20000;
        sample.threads = 1;
        sample.time_limit_s = 1;
        sample.diagnostics = true;
        timeloop::MapperHooks hooks;
        hooks.model = input.model;
        failures = timeloop::search_mappings(input.problem, input.architecture, loaded.constraints,
                                             sample, hooks)
                       .failures;
    }
    for (const timeloop::FailureGroup& group : failures) {
        reasons.push_back("the nearest miss of its kind: " + group.smallest);
    }
    result.reasons.insert(result.reasons.begin(), reasons.begin(), reasons.end());
}

void explain_failure(std::ostream& out, const Loaded& loaded,
                     const timeloop::MapperResult& result) {
    out << nothing_found;
    int number = 1;
    if (result.proof == timeloop::Proof::infeasible) {
        out << "(" << number++ << ") No mapping is valid: all " << result.mapspace_size
            << " of the mapspace are ruled out.\n";
    } else {
        std::string text = timeloop::ending(result, loaded.settings);
        text.front() = 'T';
        out << "(" << number++ << ") " << text << ".\n";
    }
    for (const std::string& reason : result.reasons) {
        if (reason.starts_with("no proof: ")) {
            continue;  // (1) says so
        }
        out << "(" << number++ << ") " << reason << "\n";
    }
}

void print_diagnostics(std::ostream& out, const Loaded& loaded,
                       const timeloop::MapperResult& result) {
    const timeloop::Input& input = loaded.input;
    out << "\n===============================================\n"
           "               BEGIN DIAGNOSTICS               \n"
           "-----------------------------------------------\n";
    for (const bool fanout : {true, false}) {
        bool first = true;
        for (const timeloop::FailureGroup& group : result.failures) {
            if (group.fanout != fanout) {
                continue;
            }
            out << (first ? std::string("Fail class: ") + (fanout ? "Fanout" : "Capacity") + "\n"
                          : "");
            first = false;
            const bool level = group.level >= 0;
            out << "\n  Level: "
                << (level ? input.architecture.storage[static_cast<std::size_t>(group.level)].name
                          : "all")
                << "\n    Fail count: " << group.count
                << "\n    Sample mapping that experienced this fail class:\n";
            if (group.sample.levels.size() == input.architecture.storage.size()) {
                const timeloop::Stats stats =
                    timeloop::evaluate(input.problem, input.architecture, group.sample, input.model)
                        .stats;
                timeloop::write_map_text(out,
                                         {input.problem, input.architecture, group.sample, stats},
                                         input.document.dialect, "      ");
            }
            out << "    Fail reason: " << group.reason << "\n\n";
        }
    }
    out << "-----------------------------------------------\n"
           "                 END DIAGNOSTICS               \n"
           "===============================================\n";
}

/// What Timeloop does not say: how good the result is.
void print_proof(std::ostream& err, const Loaded& loaded, const timeloop::MapperResult& result) {
    if (result.proof == timeloop::Proof::optimal) {
        err << "MESSAGE: no mapping of the mapspace is better (proven).\n";
        return;
    }
    const std::vector<timeloop::Objective>& objectives = loaded.settings.objectives;
    const bool several = objectives.size() > 1;
    if (several && result.proven > 0) {
        err << "MESSAGE: no mapping of the mapspace is better in "
            << timeloop::names(objectives, 0, result.proven) << " (proven).\n";
    }
    if (result.proven == 0 ? result.bound : result.next_bound) {
        err << "MESSAGE: the best possible mapping is at most " << result.gap(objectives) * 100
            << " % better"
            << (several ? " in " + timeloop::names(objectives, result.proven, 1) : "") << ".\n";
    } else if (result.proven > 0) {
        err << "MESSAGE: nothing is proven of "
            << timeloop::names(objectives, result.proven, objectives.size() - result.proven)
            << ".\n";
    }
    if (result.left_out) {
        err << "MESSAGE: nothing is proven: " << timeloop::ending(result, loaded.settings) << ".\n";
    }
}

void add_best(const Loaded& loaded, const timeloop::MapperResult& result, TimeloopFiles& files,
              const timeloop::Stats& stats) {
    const timeloop::Input& input = loaded.input;
    files.add_evaluation(input, {input.problem, input.architecture, *result.best, stats});
}

int search(Loaded& loaded, const TimeloopArguments& arguments, std::ostream& out,
           std::ostream& err) {
    timeloop::Input& input = loaded.input;
    print_mapspace(out, loaded);
    const bool master = input.document.dialect == Dialect::master;
    const char* frontier_ending = master ? ".orojenesis" : ".oaves";
    TimeloopFiles files(loaded.prefix);
    Frontier frontier(loaded, files, frontier_ending);

    const Interrupt interrupt;
    timeloop::MapperHooks hooks;
    hooks.stop = interrupt.stop();
    hooks.model = input.model;
    hooks.log = [&](const std::string& line) { err << line << std::endl; };
    if (loaded.settings.log_oaves || loaded.settings.log_oaves_mappings) {
        hooks.frontier = [&](const timeloop::Mapping& mapping, int thread) {
            frontier.add(mapping, thread);
        };
    }
    timeloop::MapperResult result = timeloop::search_mappings(
        input.problem, input.architecture, loaded.constraints, loaded.settings, hooks);
    if (!result.best) {
        find_reasons(loaded, result);
    }
    if (loaded.settings.diagnostics) {
        print_diagnostics(out, loaded, result);
    }
    out << "\n";
    timeloop::Evaluation evaluation;
    if (result.best) {
        evaluation =
            timeloop::evaluate(input.problem, input.architecture, *result.best, input.model);
        const std::vector<std::string> doubts = evaluation_warnings(evaluation.stats);
        print_warnings(err, doubts);
        input.warnings.insert(input.warnings.end(), doubts.begin(), doubts.end());
        add_best(loaded, result, files, evaluation.stats);
    }
    const timeloop::Mapping* best = result.best ? &*result.best : nullptr;
    files.add(std::string(frontier_ending) + ".csv", frontier.text());
    if (master || loaded.settings.emit_whoop_nest) {
        files.add(".map.cpp", "");
    }
    if (input.document.format == Format::libconfig) {
        files.add(".map.cfg", timeloop::config_with_mapping(input, best));
    } else {
        std::ostringstream yaml;
        if (best != nullptr) {
            timeloop::write_map_yaml(yaml, input.problem, input.architecture, *best);
        }
        files.add(".map.yaml", yaml.str());
    }
    std::optional<double> gap;
    if (best != nullptr) {
        gap = result.gap(loaded.settings.objectives);
    }
    const timeloop::Stats* stats = best == nullptr ? nullptr : &evaluation.stats;
    files.add(".json", timeloop::result_json({input, best, stats, &result, gap}));
    if (best == nullptr) {
        files.write();
        explain_failure(out, loaded, result);
        return arguments.strict ? ExitCode::no_legal_mapping : ExitCode::ok;
    }
    print_proof(err, loaded, result);
    out << "\nSummary stats for best mapping found by mapper:\n  "
        << timeloop::summary_line(evaluation.stats, input.document.dialect) << std::endl;
    files.write();
    return ExitCode::ok;
}

}  // namespace

int timeloop_mapper(const TimeloopArguments& arguments, std::ostream& out, std::ostream& err) {
    Loaded loaded = load(arguments, out, err);
    return timeloop::with_place(loaded.settings.where,
                                [&] { return search(loaded, arguments, out, err); });
}

}  // namespace tessera::cli
