#include "cli/summary.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>

#include "base/printable.hpp"
#include "base/units.hpp"
#include "cli/output.hpp"
#include "cli/table.hpp"
#include "io/summary.hpp"

namespace tessera::cli {

namespace {

constexpr std::size_t most_named = 3;

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

/// "48.1 %": lines of a summary stay below 80 columns.
std::string short_percent(double fraction) {
    std::ostringstream text;
    text.precision(1);
    text << std::fixed << 100 * fraction << " %";
    return text.str();
}

/// "MainMemory 48 %, GlobalBuffer 20 %, others 32 %", the largest first.
std::string shares(std::vector<std::pair<std::string, double>> parts, double whole) {
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    double rest = whole;
    for (std::size_t i = 0; i < parts.size() && parts[i].second > 0; ++i) {
        if (i == most_named && parts.size() > most_named + 1) {
            return text + ", others " + short_percent(share(rest, whole));
        }
        text += (i > 0 ? ", " : "") + base::one_line(parts[i].first) + " " +
                short_percent(share(parts[i].second, whole));
        rest -= parts[i].second;
    }
    return text;
}

template <class Row, class Value>
std::vector<Row> largest(std::vector<Row> rows, std::size_t top, Value value) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const Row& a, const Row& b) { return value(a) > value(b); });
    if (top > 0 && rows.size() > top) {
        rows.resize(top);
    }
    return rows;
}

class Tables {
public:
    Tables(std::ostream& out, const arch::Architecture& architecture, const io::Summary& summary,
           std::size_t top)
        : out_(out), architecture_(architecture), s_(summary), top_(top) {}

    void component() {
        std::vector<std::vector<std::string>> rows = {
            {"  component", "energy", "share", "leakage", "busy", "limits", "share", "peak use"}};
        for (const auto& c :
             largest(s_.components, top_, [](const auto& x) { return x.energy_j; })) {
            rows.push_back({"  " + c.name, joule(c.energy_j), part(c.energy_j), joule(c.leak_j),
                            second(c.busy_s), second(c.limits_s),
                            base::percent(share(c.limits_s, s_.latency_s)),
                            c.occupancy ? base::percent(*c.occupancy) : "-"});
        }
        print("Components", s_.components.size(), rows);
    }

    void einsum() {
        std::vector<std::vector<std::string>> rows = {
            {"  Einsum", "limited by", "energy", "share", "latency", "share", "compute use"}};
        for (const auto& e : largest(s_.einsums, top_, [](const auto& x) { return x.latency_s; })) {
            rows.push_back({"  " + e.name, e.limit.empty() ? "-" : e.limit, joule(e.energy_j),
                            part(e.energy_j), second(e.latency_s),
                            base::percent(share(e.latency_s, s_.latency_s)),
                            base::percent(e.compute_use)});
        }
        print("Einsums", s_.einsums.size(), rows, 2);
    }

    void memory() {
        std::vector<std::vector<std::string>> rows = {
            {"  memory", "size", "peak use", "of the size", "reads", "writes", "energy"}};
        std::size_t all = 0;
        for (const auto& c : largest(s_.components, 0, [](const auto& x) { return x.energy_j; })) {
            if (!c.size_bits || (++all > top_ && top_ > 0)) {
                continue;
            }
            double reads = 0, writes = 0;
            for (const auto& t : s_.traffic) {
                reads += t.component == c.name ? t.reads : 0;
                writes += t.component == c.name ? t.writes : 0;
            }
            const bool limited = std::isfinite(*c.size_bits) && c.occupancy;
            rows.push_back({"  " + c.name, base::size(*c.size_bits),
                            limited ? base::size(*c.size_bits * *c.occupancy) : "-",
                            limited ? base::percent(*c.occupancy) : "-", base::amount(reads),
                            base::amount(writes), joule(c.energy_j)});
        }
        print("Memories", all, rows);
    }

    void traffic() {
        std::vector<std::vector<std::string>> rows = {
            {"  component", "tensor", "reads", "writes", "hops", "energy", "share"}};
        for (const auto& t : largest(s_.traffic, top_, [](const auto& x) { return x.energy_j; })) {
            rows.push_back({"  " + t.component, t.tensor, base::amount(t.reads),
                            base::amount(t.writes), base::amount(t.hops), joule(t.energy_j),
                            part(t.energy_j)});
        }
        print("Traffic", s_.traffic.size(), rows, 2);
    }

    void spatial() {
        std::vector<std::vector<std::string>> rows = {{"  dimension", "instances", "in use"}};
        std::size_t all = 0;
        for (const auto& c : s_.components) {
            for (const auto& dim : c.dims) {
                if (++all <= top_ || top_ == 0) {
                    rows.push_back({"  " + c.name + "." + dim.name, base::amount(dim.fanout),
                                    base::percent(dim.use)});
                }
            }
        }
        print("Spatial dimensions", all, rows);
    }

    void tensor() {
        std::vector<std::vector<std::string>> rows = {{"  tensor", "energy", "share"}};
        for (const auto& t : largest(s_.tensors, top_, [](const auto& x) { return x.energy_j; })) {
            rows.push_back({"  " + t.name, joule(t.energy_j), part(t.energy_j)});
        }
        print("Tensors", s_.tensors.size(), rows);
    }

private:
    std::string joule(double value) const {
        return base::quantity(value, unit(architecture_, "J"));
    }
    std::string second(double value) const {
        return base::quantity(value, unit(architecture_, "s"));
    }
    std::string part(double energy_j) const {
        return base::percent(share(energy_j, s_.energy_j));
    }
    void print(const char* title, std::size_t all,
               const std::vector<std::vector<std::string>>& rows, std::size_t text_columns = 1) {
        const std::size_t shown = rows.size() - 1;
        out_ << title;
        if (shown < all) {
            out_ << " (" << shown << " of " << all << ")";
        }
        out_ << ":\n";
        print_table(out_, rows, text_columns);
    }

    std::ostream& out_;
    const arch::Architecture& architecture_;
    const io::Summary& s_;
    std::size_t top_;
};

/// Computes per byte at the outermost memory.
void print_reuse(std::ostream& out, const io::Summary& s) {
    double bits = 0;
    for (const io::EinsumSummary& einsum : s.einsums) {
        bits += einsum.traffic_bits.value_or(0);
    }
    if (bits > 0) {
        print_line(out,
                   "  reuse    " + base::amount(8 * s.computes / bits) + " computes per byte of " +
                       base::one_line(s.outermost),
                   11);
    }
}

/// The fullest memories, "GlobalBuffer 97.5 % of 16 MiB".
void print_memories(std::ostream& out, const io::Summary& s) {
    std::vector<io::ComponentSummary> memories;
    for (const io::ComponentSummary& c : s.components) {
        if (c.size_bits && std::isfinite(*c.size_bits) && c.occupancy) {
            memories.push_back(c);
        }
    }
    memories = largest(memories, 2, [](const auto& c) { return *c.occupancy; });
    std::string line = "  memory   ";
    for (const io::ComponentSummary& c : memories) {
        line += (&c == &memories.front() ? "" : ", ") + base::one_line(c.name) + " " +
                short_percent(*c.occupancy) + " of " + base::size(*c.size_bits);
    }
    if (!memories.empty()) {
        print_line(out, line, 11);
    }
}

}  // namespace

void add_summary_options(options::Description& description) {
    description.add_options()  //
        ("by", options::text().by_default("").named("LIST"),
         "also print tables: component, einsum, tensor (energy, time, limits), memory (sizes), "
         "traffic (actions per tensor and level), spatial (dimensions); several as "
         "component,einsum")  //
        ("top", options::text().by_default("0").named("N"),
         "only the N largest rows of these tables; 0: all")  //
        ("tree,v", options::flag(), "also print the LoopTree, before all else");
}

SummaryTables summary_tables(const Arguments& arguments) {
    static const std::vector<std::string> names = {"component", "einsum",  "tensor",
                                                   "memory",    "traffic", "spatial"};
    SummaryTables tables;
    std::istringstream list(arguments.text("by"));
    for (std::string name; std::getline(list, name, ',');) {
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            arguments.refuse("by",
                             "component, einsum, tensor, memory, traffic, spatial, or "
                             "several as component,einsum");
        }
        (name == names[0]   ? tables.component
         : name == names[1] ? tables.einsum
         : name == names[2] ? tables.tensor
         : name == names[3] ? tables.memory
         : name == names[4] ? tables.traffic
                            : tables.spatial) = true;
    }
    tables.top = arguments.whole("top", 0, 1000000);
    return tables;
}

void print_summary(std::ostream& out, const arch::Architecture& architecture,
                   const io::Description& description) {
    const io::Summary& s = description.summary;
    std::vector<std::pair<std::string, double>> limits, energy;
    for (const io::ComponentSummary& component : s.components) {
        limits.emplace_back(component.name + (component.computes ? " (compute)" : ""),
                            component.limits_s);
        energy.emplace_back(component.name, component.energy_j);
    }
    const auto line = [&](const std::string& text) { print_line(out, text, 11); };
    if (s.latency_s > 0) {
        line("  limits   " + shares(limits, s.latency_s));
        line("  computes " + short_percent(s.compute_use) + " in use");
    }
    if (s.energy_j > 0) {
        line("  spent in " + shares(energy, s.energy_j));
        line("  that is  " + base::quantity(s.energy_j / s.computes, unit(architecture, "J")) +
             " for each compute");
    }
    if (s.traffic_words && s.least_traffic_words > 0) {
        line("  traffic  " + base::amount(*s.traffic_words, "words") + ", " +
             base::number(*s.traffic_words / s.least_traffic_words) +
             " times the least (each input and result once)");
    }
    print_reuse(out, s);
    print_memories(out, s);
    const io::FusionSummary& fusion = description.fusion;
    if (fusion.words > 0) {
        line("  fusion   keeps " + base::amount(fusion.words, "words") + " or more from " +
             base::one_line(s.outermost) + " (" +
             base::quantity(fusion.energy_j, unit(architecture, "J")) + ")");
    }
}

void print_summary_tables(std::ostream& out, const arch::Architecture& architecture,
                          const io::Summary& summary, const SummaryTables& tables) {
    Tables print(out, architecture, summary, tables.top);
    if (tables.component) {
        print.component();
    }
    if (tables.einsum) {
        print.einsum();
    }
    if (tables.tensor) {
        print.tensor();
    }
    if (tables.memory) {
        print.memory();
    }
    if (tables.traffic) {
        print.traffic();
    }
    if (tables.spatial) {
        print.spatial();
    }
}

}  // namespace tessera::cli
