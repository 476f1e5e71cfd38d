// What the memories of one run hold, and when.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.hpp"
#include "io/row_chart.hpp"
#include "report_sections.hpp"
#include "tessera/mapping/pmapping.hpp"

namespace tessera::cli {

namespace {

using io::PageCell;
using io::PageSection;
using io::PageTable;

constexpr std::size_t most_bars = 32;

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

void occupancy(const ReportRun& run, const std::string& prefix, PageSection& section) {
    io::RowChart chart{"Highest use of each memory", "", {""}, {}, 1, true};
    PageTable table{prefix + "memories",
                    "Memories",
                    {"memory", "size of one", "highest use", "of the size", "busy", "energy"},
                    {},
                    1,
                    false};
    for (const io::ComponentSummary& c : run.description.summary.components) {
        if (!c.size_bits) {
            continue;
        }
        const bool limited = std::isfinite(*c.size_bits) && c.occupancy;
        const double used = limited ? *c.occupancy * *c.size_bits : 0;
        if (limited) {
            chart.rows.push_back({c.name, io::stacked({*c.occupancy}, {base::size(used)}),
                                  base::size(used) + " of " + base::size(*c.size_bits)});
        }
        table.rows.push_back(
            {io::page_text(c.name),
             {base::size(*c.size_bits), io::page_plain(*c.size_bits / 8).raw},
             limited ? PageCell{base::size(used), io::page_plain(used / 8).raw} : PageCell{"-", ""},
             limited ? io::page_percent(*c.occupancy) : PageCell{"-", ""},
             io::page_percent(share(c.busy_s, run.description.summary.latency_s)),
             io::page_quantity(c.energy_j, run.unit("J"))});
    }
    if (!chart.rows.empty()) {
        section.drawings.push_back({prefix + "memories", io::row_chart_svg(chart)});
    }
    section.tables.push_back(std::move(table));
}

/// One holder of one tensor, from the first Einsum that uses it to the last.
struct Life {
    std::string memory, tensor;
    std::size_t first = 0, last = 0;
    double bits = 0;
    std::size_t origin = 0;
};

std::vector<Life> lives(const ReportRun& run) {
    std::vector<Life> result;
    std::map<std::pair<int, std::string>, std::size_t> known;
    const model::Problem problem = run.problem();
    const auto einsums = mapping::split(run.solutions.front().mapping, *problem.workload,
                                        *problem.architecture, problem.compat);
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        const arch::Path& path = einsums[e].path;
        for (const mapping::PmappingNode& node : einsums[e].nodes) {
            if (node.kind != mapping::NodeKind::storage || node.origin < 0) {
                continue;
            }
            const std::string& tensor =
                path.einsum.tensors[static_cast<std::size_t>(node.tensor)].name;
            const auto [place, added] = known.try_emplace({node.origin, tensor}, result.size());
            if (added) {
                const auto origin = static_cast<std::size_t>(node.origin);
                result.push_back({path.levels[static_cast<std::size_t>(node.level)].name, tensor, e,
                                  e, 0, origin});
                for (const io::TileNote& tile : run.description.notes[origin].tiles) {
                    result.back().bits = tile.tensor == tensor ? tile.bits : result.back().bits;
                }
            }
            result[place->second].last = e;
        }
    }
    return result;
}

/// The Einsums one after the other, and which tensors each memory holds meanwhile.
void schedule(const ReportRun& run, const std::string& prefix, PageSection& section) {
    std::vector<double> ends;
    double end_s = 0;
    for (const model::EinsumReport& einsum : run.report().einsums) {
        ends.push_back(end_s += einsum.latency_s);
    }
    std::vector<Life> all = lives(run);
    const auto begin = [&](std::size_t e) { return e == 0 ? 0 : ends[e - 1]; };
    const auto length = [&](const Life& l) { return ends[l.last] - begin(l.first); };
    std::stable_sort(all.begin(), all.end(), [&](const Life& a, const Life& b) {
        return a.bits * length(a) > b.bits * length(b);
    });
    PageTable table{prefix + "lifetimes",
                    "Lifetimes of tensors",
                    {"memory", "tensor", "size", "first Einsum", "last Einsum", "from", "to"},
                    {},
                    2,
                    true};
    std::vector<std::string> memories;
    for (const io::ComponentSummary& c : run.description.summary.components) {
        if (c.size_bits && std::isfinite(*c.size_bits)) {
            memories.push_back(c.name);
        }
    }
    io::RowChart chart{"Einsums in order, and what the memories hold meanwhile",
                       run.unit("s"),
                       {"Einsum runs"},
                       {},
                       0,
                       false};
    chart.legend.insert(chart.legend.end(), memories.begin(), memories.end());
    for (std::size_t e = 0; e < std::min(most_bars, ends.size()); ++e) {
        const std::string& name = run.report().einsums[e].einsum;
        chart.rows.push_back({name, {{begin(e), ends[e], 0, name}}, ""});
    }
    const auto memory_of = [&](const Life& life) {
        return static_cast<std::size_t>(std::find(memories.begin(), memories.end(), life.memory) -
                                        memories.begin());
    };
    std::vector<Life> drawn;
    std::size_t shown = 0;
    for (const Life& life : all) {
        if (memory_of(life) < memories.size() && ++shown <= most_bars) {
            drawn.push_back(life);
        }
        const std::vector<model::EinsumReport>& einsums = run.report().einsums;
        table.rows.push_back({io::page_text(life.memory),
                              io::page_text(life.tensor),
                              {base::size(life.bits), io::page_plain(life.bits / 8).raw},
                              io::page_text(einsums[life.first].einsum),
                              io::page_text(einsums[life.last].einsum),
                              io::page_quantity(begin(life.first), run.unit("s")),
                              io::page_quantity(ends[life.last], run.unit("s"))});
    }
    std::stable_sort(drawn.begin(), drawn.end(), [&](const Life& a, const Life& b) {
        return std::pair(memory_of(a), a.first) < std::pair(memory_of(b), b.first);
    });
    for (const Life& life : drawn) {
        chart.rows.push_back(
            {life.tensor,
             {{begin(life.first), ends[life.last], memory_of(life) + 1, life.memory}},
             base::size(life.bits)});
    }
    section.texts.emplace_back(
        "The order of the Einsums; those that share a loop take turns inside it, and are drawn "
        "with "
        "all their time at once. A tensor is drawn from the first Einsum that uses its holder to "
        "the "
        "last; what belongs to one Einsum only lasts as long as that.");
    if (ends.size() > most_bars || shown > most_bars) {
        section.texts.push_back("At most " + std::to_string(most_bars) +
                                " Einsums and holders are drawn; the table has all.");
    }
    section.drawings.push_back({prefix + "lifetimes", io::row_chart_svg(chart)});
    section.tables.push_back(std::move(table));
}

}  // namespace

void add_memories(io::Page& page, const ReportRun& run, int level, const std::string& prefix) {
    PageSection section{"Memories and schedule", level, {}, {}, {}, "", ""};
    occupancy(run, prefix, section);
    schedule(run, prefix, section);
    page.sections.push_back(std::move(section));
}

}  // namespace tessera::cli
