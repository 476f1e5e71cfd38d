#include "map_report.hpp"

#include <ostream>

#include "base/memory_reserve.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "cli/answer/proof.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "io/looptree_svg.hpp"
#include "io/pipelines.hpp"
#include "map_options.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/workload/workload.hpp"

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

void print_pareto_set(std::ostream& out, const arch::Architecture& architecture,
                      const mapper::Result& result, const std::vector<mapper::Metric>& metrics) {
    std::vector<mapper::Metric> others = metrics;
    std::erase_if(others, [](mapper::Metric metric) {
        return metric == mapper::Metric::energy || metric == mapper::Metric::latency;
    });
    std::vector<std::vector<std::string>> rows = {{"  mapping", "energy", "latency", "EDP"}};
    for (const mapper::Metric metric : others) {
        rows.front().push_back(metric_name(metric));
    }
    for (std::size_t i = 0; i < result.solutions.size(); ++i) {
        const model::Report& report = result.solutions[i].report;
        rows.push_back({"  " + std::to_string(i + 1),
                        base::quantity(report.energy_j(), unit(architecture, "J")),
                        base::quantity(report.latency_s(), unit(architecture, "s")),
                        base::quantity(report.edp_js(), unit(architecture, "J s"))});
        for (const mapper::Metric metric : others) {
            rows.back().push_back(base::quantity(mapper::metric_value(metric, report),
                                                 metric_unit(architecture, metric)));
        }
    }
    out << "Pareto set:\n";
    print_table(out, rows, 1);
}

/// A long decimal integer as people read it: 1.7e102.
std::string rounded(const std::string& digits) {
    if (digits.size() <= 9) {
        return digits;
    }
    return digits.substr(0, 1) + "." + digits.substr(1, 1) + "e" +
           std::to_string(digits.size() - 1);
}

void print_search(std::ostream& out, const mapper::Result& result, const Asked& asked) {
    const Usage used = usage();
    std::string line = "Search: " + base::quantity(asked.wall_s, "s") + " wall, " +
                       base::quantity(used.cpu_s, "s") + " CPU, " +
                       base::counted(result.statistics.threads, "thread") + ", " +
                       base::memory(used.peak_rss_bytes) + " memory, " +
                       base::amount(static_cast<double>(result.statistics.evaluated)) +
                       " pmappings evaluated";
    if (!result.statistics.mapspace_size.empty()) {
        line += ", the space has " + rounded(result.statistics.mapspace_size) + " choices of them";
    }
    if (result.statistics.table_rows > 0) {
        line += ", charged " + base::number(result.statistics.charged) + " times the tables of " +
                base::counted(result.statistics.table_rows, "row");
    }
    print_line(out, line, 8);
}

}  // namespace

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
        root["mappings"].push_back(
            io::solution_json(solution.mapping, solution.report, described[i]));
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
    if (asked.tree) {
        print_tree(out, solution.mapping, best.notes);
        print_pipelines(out, solution.report);
    }
    print_fused_groups(out, best.fused_groups);
    out << (result.solutions.size() > 1 ? "Mapping 1 of " : "Mapping of ") << problem.workload->name
        << " on " << architecture.name() << "\n";
    print_totals(out, architecture, solution.report);
    print_summary(out, architecture, best);
    print_summary_tables(out, architecture, best.summary, asked.tables);
    if (result.solutions.size() > 1) {
        print_pareto_set(out, architecture, result, asked.settings.metrics);
    }
    print_search(out, result, asked);
    if (!result.reasons.empty()) {
        out << "Why:\n";
    }
    for (const std::string& reason : result.reasons) {
        print_line(out, "  " + base::one_line(reason), 4);
    }
    print_proof(out, result, asked.settings, asked.measured, architecture);
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
    files["looptree.txt"] = io::to_text(solution.mapping, best.notes);
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
