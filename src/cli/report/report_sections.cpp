// One run: result, mapping, inputs. Its costs are in report_costs.cpp, its memories in
// report_memories.cpp, its search in report_search.cpp.
#include "report_sections.hpp"

#include <algorithm>

#include "base/units.hpp"
#include "cli/answer/proof.hpp"
#include "cli/run/stored_run.hpp"
#include "io/equation.hpp"
#include "io/looptree_svg.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {

namespace {

using io::PageCell;
using io::PageSection;
using io::PageTable;

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

/// What is optimal, or how far from it this can be.
std::string standing(const ReportRun& run) {
    if (run.status == "optimal") {
        return "Proven optimal for " + run.metric +
               later_text(run.later, *run.inputs->architecture) + " in its mapspace.";
    }
    const std::string ended = run.stopped_by.empty() ? "" : " (" + run.stopped_by + " ended it)";
    if (run.gap && *run.gap < 1) {
        return "Not proven optimal" + ended + ": a mapping that is better by up to " +
               base::percent(*run.gap) + " in " + run.metric + " may exist.";
    }
    return run.status.empty() ? "" : "Not proven optimal, and no bound is known" + ended + ".";
}

std::string limits(const ReportRun& run) {
    std::vector<io::ComponentSummary> parts = run.description.summary.components;
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.limits_s > b.limits_s; });
    std::string text;
    for (const io::ComponentSummary& c : parts) {
        if (c.limits_s > 0 && text.size() < 200) {
            text += (text.empty() ? "" : ", ") + c.name + (c.computes ? " (compute)" : "") + " " +
                    base::percent(share(c.limits_s, run.description.summary.latency_s));
        }
    }
    return text.empty() ? "" : "What limits the time: " + text + " of it.";
}

void result(io::Page& page, const ReportRun& run, int level, const std::string& prefix) {
    PageSection section{"Result", level, {}, {}, {}, "", ""};
    for (const std::string& text : {standing(run), limits(run)}) {
        if (!text.empty()) {
            section.texts.push_back(text);
        }
    }
    section.texts.insert(section.texts.end(), run.remarks.begin(), run.remarks.end());
    const io::Summary& s = run.description.summary;
    PageTable table{prefix + "totals", "Totals", {"quantity", "value"}, {}, 1, false};
    const auto add = [&](const std::string& name, PageCell cell) {
        table.rows.push_back({io::page_text(name), std::move(cell)});
    };
    add("energy", io::page_quantity(s.energy_j, run.unit("J")));
    add("latency", io::page_quantity(s.latency_s, run.unit("s")));
    add("energy-delay product", io::page_quantity(s.energy_j * s.latency_s, run.unit("J s")));
    add("computes", io::page_plain(s.computes));
    add("computes in use", io::page_percent(s.compute_use));
    add("energy per compute", io::page_quantity(share(s.energy_j, s.computes), run.unit("J")));
    if (s.traffic_words) {
        add("words moved at " + s.outermost, io::page_plain(*s.traffic_words));
        add("least words of the workload", io::page_plain(s.least_traffic_words));
    }
    if (run.description.fusion.words > 0) {
        add("words that fusion keeps from it, at least",
            io::page_plain(run.description.fusion.words));
        add("energy of these words there",
            io::page_quantity(run.description.fusion.energy_j, run.unit("J")));
    }
    section.tables.push_back(std::move(table));
    for (const std::vector<std::string>& group : run.description.fused_groups) {
        std::string text = "Fused: ";
        for (const std::string& einsum : group) {
            text += (&einsum == &group.front() ? "" : " + ") + einsum;
        }
        section.texts.push_back(text);
    }
    page.sections.push_back(std::move(section));
}

void drawn_mapping(io::Page& page, const ReportRun& run, int level, const std::string& prefix) {
    PageSection section{"Mapping", level, {}, {}, {}, "", "The same as text"};
    section.texts.emplace_back(
        "A row is a node of the LoopTree; what stands below and to the right of a loop or branch "
        "is "
        "inside it. A loop divides a size into tiles; sizes of tensors are what one instance of "
        "the "
        "memory sets aside. Bars: energy of a memory's accesses there, or all that an Einsum "
        "spends.");
    const mapping::Mapping& best = run.solutions.front().mapping;
    section.drawings.push_back(
        {prefix + "mapping",
         io::looptree_svg(run.problem(), best, run.description.notes, run.description.summary)});
    section.code = io::to_text(best, run.description.notes);
    const workload::Workload& workload = *run.inputs->workload;
    PageTable table{
        prefix + "equations",        "Equations", {"Einsum", "equation", "computes"}, {}, 2,
        workload.einsums.size() > 12};
    for (const io::EinsumSummary& einsum : run.description.summary.einsums) {
        const int index = workload.find_einsum(einsum.name);
        table.rows.push_back({io::page_text(einsum.name),
                              io::page_text(index < 0 ? "" : io::equation(workload, index)),
                              io::page_plain(einsum.computes)});
    }
    section.tables.push_back(std::move(table));
    page.sections.push_back(std::move(section));
}

void provenance(io::Page& page, const ReportRun& run, int level, const std::string& prefix) {
    PageSection section{provenance_title, level, {}, {}, {}, "", "Command"};
    section.texts.push_back("Command: " + command_line(run.command));
    section.texts.push_back("Started in " + run.directory + " on " + run.host + " at " +
                            run.started + " with tessera " + run.version + ", seed " +
                            std::to_string(run.seed) + ", cost model " + run.model_name +
                            ". Again, and compared: tessera rerun " + shell_word(run.name));
    section.tables.push_back(input_table(prefix, run.inputs->files));
    if (!run.defines.empty()) {
        PageTable table{prefix + "variables", "Variables (-D)", {"name", "value"}, {}, 2, false};
        for (const auto& [name, value] : run.defines) {
            table.rows.push_back({io::page_text(name), io::page_text(value)});
        }
        section.tables.push_back(std::move(table));
    }
    page.sections.push_back(std::move(section));
}

}  // namespace

std::string command_line(const std::vector<std::string>& words) {
    std::string command;
    for (const std::string& word : words) {
        command += (command.empty() ? "" : " ") + shell_word(word);
    }
    return command;
}

io::PageTable input_table(const std::string& prefix, const std::vector<InputFile>& files) {
    PageTable table{prefix + "inputs", "Input files", {"role", "path", "SHA-256"}, {}, 3, false};
    for (const InputFile& file : files) {
        table.rows.push_back(
            {io::page_text(file.role), io::page_text(file.path), io::page_text(file.sha256)});
    }
    return table;
}

void add_run(io::Page& page, const ReportRun& run, bool several, const std::string& prefix) {
    const int level = several ? 3 : 2;
    if (several) {
        page.sections.push_back({run.label, 2, {}, {}, {}, "", ""});
    }
    result(page, run, level, prefix);
    drawn_mapping(page, run, level, prefix);
    add_energy(page, run, level, prefix);
    add_time(page, run, level, prefix);
    add_roofline(page, run, level, prefix);
    add_memories(page, run, level, prefix);
    PageSection search{"Search", level, {}, {}, {}, "", ""};
    add_convergence(search, {&run}, prefix);
    add_front(search, {&run}, prefix);
    if (run.snapshot) {
        add_funnel(search, run.snapshot->funnel, prefix);
    }
    if (!search.drawings.empty()) {
        page.sections.push_back(std::move(search));
    }
    provenance(page, run, level, prefix);
}

}  // namespace tessera::cli
