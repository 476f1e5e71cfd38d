#include "map_report.hpp"

#include <ostream>

#include "base/memory_reserve.hpp"
#include "base/printable.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "io/looptree_svg.hpp"
#include "io/pipelines.hpp"
#include "io/units.hpp"
#include "map_options.hpp"
#include "tessera/mapping/assemble.hpp"

namespace tessera::cli {

namespace {

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
    search["all_einsum_orders"] = statistics.all_orders;
    search["all_loop_orders"] = statistics.loop_orders;
    search["templates"] = statistics.templates;
    search["evaluated"] = statistics.evaluated;
    search["pareto"] = statistics.pareto;
    if (statistics.table_rows > 0) {
        search["table_rows"] = statistics.table_rows;
        search["charged"] = statistics.charged;
    }
    search["threads"] = statistics.threads;
    search["seed"] = settings.seed;
    search["stopped_by"] =
        result.stopped_by.empty() ? io::Json(nullptr) : io::Json(result.stopped_by);
    search["phases"] = io::Json::object();
    for (const auto& [phase, seconds] : statistics.phases) {
        io::put(search["phases"], phase, seconds);
    }
    return search;
}

/// Why a search ended without a proof: "--max-time stopped the search".
std::string ending(const std::string& reason) {
    if (reason.empty()) {
        return "the search ended without a proof";
    }
    if (reason == "stop") {
        return "an interrupt stopped the search";
    }
    if (reason == "strategy") {
        return "the strategy had nothing more to propose";
    }
    if (reason == base::out_of_memory) {
        return "the system had no more memory";
    }
    return reason == "gap" || reason == "target" ? "--" + reason + " was reached"
                                                 : "--" + reason + " stopped the search";
}

/// A gap of all of the value says nothing.
std::string bound_text(const io::Json& gap) {
    const std::optional<double> share = gap.number();
    return !share        ? ""
           : *share >= 1 ? "; no bound yet"
                         : "; no mapping is better by more than " + io::percent(*share);
}

std::string optimality(const mapper::Result& result, const mapper::Options& settings,
                       const std::string& mapper, const arch::Architecture& architecture) {
    const mapspace::MapSpaceOptions& space = settings.mapspace;
    const auto limit = [](int value) {
        return value < 0 ? std::string("unlimited") : std::to_string(value);
    };
    std::string where = std::string("mapspace ") + preset_name(space) + ", fused loops " +
                        limit(space.max_fused_loops) + ", " +
                        limit(space.max_fused_loops_per_rank_variable) + " per rank variable";
    where += !space.all_einsum_orders ? ", Einsums in file order"
             : result.statistics.all_orders
                 ? ", all Einsum orders"
                 : ", Einsums in file order, other orders were not searched";
    where += !result.statistics.loop_orders
                 ? ", loops below a network in one order where their orders are too many"
                 : "";
    where += space.unfused ? ", unfused" : "";
    if (mapper == timeloop_name) {
        where = "mapspace timeloop, Einsum by Einsum";
    }
    where += space.imperfect_temporal ? ", imperfect temporal" : "";
    where += space.imperfect_spatial ? ", imperfect spatial" : "";
    if (result.status == mapper::Status::optimal) {
        return (settings.metrics.size() == 1 ? "Proven optimal for " : "Complete Pareto set for ") +
               metric_names(settings.metrics) + later_text(result.later, architecture) + " (" +
               where + ").";
    }
    return "Not proven optimal: " + ending(result.stopped_by) +
           bound_text(gap_json(result, settings.metrics)) + " (" + where + ").";
}

void print_pareto_set(std::ostream& out, const arch::Architecture& architecture,
                      const mapper::Result& result, bool traffic) {
    std::vector<std::vector<std::string>> rows = {{"  mapping", "energy", "latency", "EDP"}};
    if (traffic) {
        rows.front().emplace_back("traffic");
    }
    for (std::size_t i = 0; i < result.solutions.size(); ++i) {
        const model::Report& report = result.solutions[i].report;
        rows.push_back({"  " + std::to_string(i + 1),
                        io::quantity(report.energy_j(), unit(architecture, "J")),
                        io::quantity(report.latency_s(), unit(architecture, "s")),
                        io::plain(report.edp_js(), unit(architecture, "J s"))});
        if (traffic) {
            rows.back().push_back(io::plain(report.traffic_words().value_or(0), "words"));
        }
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

}  // namespace

std::string later_text(const std::optional<mapper::LaterMetric>& later,
                       const arch::Architecture& architecture) {
    if (!later) {
        return "";
    }
    const mapper::MetricFacts& metric = mapper::facts(later->metric);
    if (later->proven) {
        return std::string(", and among those mappings for ") + metric.name;
    }
    return std::string("; ") + metric.name + " among those mappings is not proven" +
           (later->bound > 0
                ? ": at least " + io::quantity(later->bound, unit(architecture, metric.unit))
                : "");
}

const char* preset_name(const mapspace::MapSpaceOptions& space) {
    return space.preset == mapspace::MapSpaceOptions::Preset::full ? "full" : "accelforge";
}

std::vector<io::Description> descriptions(const model::Problem& problem,
                                          const mapper::Result& result) {
    std::vector<io::Description> described;
    for (const mapper::Solution& solution : result.solutions) {
        described.push_back(io::describe(problem, solution.mapping, solution.report));
    }
    return described;
}

io::Json document(const mapper::Result& result, const std::vector<io::Description>& described,
                  const mapper::Options& settings, double wall_s) {
    io::Json root;
    root["schema_version"] = io::schema_version;
    const bool nothing = result.solutions.empty() && result.status == mapper::Status::feasible;
    root["status"] = nothing ? "unknown" : status_name(result.status);
    root["metric"] = metric_names(settings.metrics);
    root["mappings"] = io::Json::array();
    for (std::size_t i = 0; i < described.size(); ++i) {
        const mapper::Solution& solution = result.solutions[i];
        root["mappings"].push_back(io::solution_json(solution.mapping, solution.report, described[i]));
    }
    root["bound"] = io::Json::object();
    if (settings.metrics.size() == 1 && result.bound) {
        io::put(root["bound"], mapper::facts(settings.metrics.front()).key, *result.bound);
    }
    if (result.later) {
        root["later"]["metric"] = mapper::facts(result.later->metric).name;
        root["later"]["proven"] = result.later->proven;
        root["later"]["bound"] = io::Json::object();
        io::put(root["later"]["bound"], mapper::facts(result.later->metric).key,
                result.later->bound);
    }
    root["gap"] = result.solutions.empty() ? io::Json(nullptr) : gap_json(result, settings.metrics);
    if (!result.reasons.empty()) {
        root["reasons"] = result.reasons;
    }
    root["search"] = search_json(result, settings, wall_s);
    return root;
}

io::Json stored_document(io::Json document) {
    io::Json& search = document["search"];
    for (const char* key :
         {"wall_s", "cpu_s", "peak_rss_bytes", "evaluated", "pareto", "threads", "phases"}) {
        search.erase(key);
    }
    return document;
}

void print(std::ostream& out, const model::Problem& problem, const mapper::Result& result,
           const io::Description& best, const Asked& asked) {
    const mapper::Solution& solution = result.solutions.front();
    const arch::Architecture& architecture = *problem.architecture;
    const bool traffic = asks_for_traffic(asked.settings.metrics);
    out << "Mapping of " << problem.workload->name << " on " << architecture.name() << "\n";
    if (result.solutions.size() > 1) {
        print_pareto_set(out, architecture, result, traffic);
    } else {
        print_totals(out, architecture, solution.report);
    }
    print_summary(out, architecture, best);
    print_summary_tables(out, architecture, best.summary, asked.tables);
    print_fused_groups(out, best.fused_groups);
    print_tree(out, solution.mapping, best.notes);
    print_pipelines(out, solution.report);
    out << optimality(result, asked.settings, asked.mapper, architecture) << "\n";
    if (!result.reasons.empty()) {
        out << "Why:\n";
    }
    for (const std::string& reason : result.reasons) {
        out << "  " << base::one_line(reason) << "\n";
    }
    const Usage used = usage();
    out << "Search: " << io::quantity(asked.wall_s, "s") << " wall, "
        << io::quantity(used.cpu_s, "s") << " CPU, "
        << io::counted(result.statistics.threads, "thread") << ", "
        << io::memory(used.peak_rss_bytes) << " memory, "
        << io::counted(result.statistics.evaluated, "pmapping") << " evaluated";
    if (!result.statistics.mapspace_size.empty()) {
        out << " of " << rounded(result.statistics.mapspace_size);
    }
    if (result.statistics.table_rows > 0) {
        out << ", charged " << io::plain(result.statistics.charged, "") << " times the tables of "
            << io::counted(result.statistics.table_rows, "row");
    }
    out << "\n";
}

std::map<std::string, std::string> run_files(const model::Problem& problem,
                                             const mapper::Result& result,
                                             const io::Description& best) {
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
    const mapper::Solution& solution = result.solutions.front();
    files["looptree.svg"] = io::looptree_svg(problem, solution.mapping, best.notes, best.summary);
    for (std::size_t i = 0; i < solution.report.pipelines.size(); ++i) {
        files["pipeline-" + std::to_string(i + 1) + ".svg"] = io::pipeline_svg(solution.report, i);
    }
    return files;
}

int explain_nothing(const mapper::Result& result, bool interrupted, std::ostream& err) {
    if (result.stopped_by == base::out_of_memory) {
        err << "tessera: no mapping was found yet: " << out_of_memory_text;
        return ExitCode::limit_before_result;
    }
    if (result.status != mapper::Status::infeasible) {
        const std::string& limit = result.stopped_by;
        err << (interrupted           ? "tessera: interrupted before any mapping was found\n"
                : limit == "strategy" ? "tessera: the strategy ended before any mapping was found\n"
                : limit.empty()
                    ? "tessera: a limit was hit before any mapping was found; raise "
                      "--max-time or the limit that was set\n"
                    : "tessera: a limit was hit before any mapping was found; raise --" + limit +
                          "\n");
        return interrupted ? ExitCode::interrupted : ExitCode::limit_before_result;
    }
    err << "tessera: no legal mapping\n";
    for (const std::string& reason : result.reasons) {
        err << "  " << reason << "\n";
    }
    return ExitCode::no_legal_mapping;
}

}  // namespace tessera::cli
