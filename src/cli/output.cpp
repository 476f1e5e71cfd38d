#include "cli/output.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>

#include "api/search.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "cli/table.hpp"
#include "io/pipelines.hpp"
#include "io/run_files.hpp"

namespace tessera::cli {

Usage usage() {
    rusage self{};
    ::getrusage(RUSAGE_SELF, &self);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return {seconds(self.ru_utime) + seconds(self.ru_stime),
            static_cast<double>(self.ru_maxrss) * 1024};
}

std::string unit(const arch::Architecture& architecture, const std::string& name) {
    return architecture.arbitrary_units() ? "" : name;
}

std::string metric_unit(const arch::Architecture& architecture, mapper::Metric metric) {
    const char* const own = mapper::facts(metric).unit;
    return metric == mapper::Metric::traffic ? own : unit(architecture, own);
}

std::string metric_name(mapper::Metric metric) {
    return api::metric_name(metric);
}

std::string metric_names(const std::vector<mapper::Metric>& metrics) {
    std::string result;
    for (const mapper::Metric metric : metrics) {
        result += (result.empty() ? "" : ",") + metric_name(metric);
    }
    return result;
}

io::Json gap_json(const mapper::Result& result, const std::vector<mapper::Metric>& metrics) {
    const std::optional<double> gap = api::gap(result, metrics);
    return gap ? io::Json(*gap) : io::Json(nullptr);
}

void print_totals(std::ostream& out, const arch::Architecture& architecture,
                  const model::Report& report) {
    out << "  energy   " << base::quantity(report.energy_j(), unit(architecture, "J")) << "\n"
        << "  latency  " << base::quantity(report.latency_s(), unit(architecture, "s")) << "\n"
        << "  EDP      " << base::quantity(report.edp_js(), unit(architecture, "J s")) << "\n";
}

void print_fused_groups(std::ostream& out, const std::vector<std::vector<std::string>>& groups) {
    out << "Fused Einsums:" << (groups.empty() ? " none" : "") << "\n";
    for (const std::vector<std::string>& group : groups) {
        std::string line;
        for (const std::string& einsum : group) {
            line += (&einsum == &group.front() ? "  " : " + ") + base::one_line(einsum);
        }
        print_line(out, line, 4);
    }
}

void print_pipelines(std::ostream& out, const model::Report& report) {
    if (!report.pipelines.empty()) {
        out << "Pipelines:\n";
        print_indented(out, io::pipelines_text(report));
    }
}

void print_tree(std::ostream& out, const mapping::Mapping& mapping,
                const std::vector<io::NodeNote>& notes) {
    out << "LoopTree:\n";
    print_indented(out, io::to_text(mapping, notes));
}

void print_place(std::ostream& out, const io::RunDirectory& folder) {
    const std::filesystem::path place = folder.folder().place();
    out << "Written to " << place.string()
        << (place == folder.path() ? "\n" : ", where " + folder.path().string() + " was moved\n");
}

void explain_unwritten(std::ostream& err, const io::RunDirectory& folder,
                       const std::vector<io::RunDirectory::Unwritten>& unwritten,
                       const std::map<std::string, std::string>& files, const std::string& remedy) {
    for (const auto& [name, reason] : unwritten) {
        err << "tessera: " << reason << "\n";
    }
    const bool removed = folder.folder().place().empty();
    err << "tessera: the result is on stdout; "
        << (removed ? "its folder was removed while the search ran" : remedy) << "\n";
    for (const auto& [name, reason] : unwritten) {
        if (io::is_mapping(name) || name.ends_with(".mapping.yaml") ||
            name.ends_with(".map.yaml")) {
            err << "tessera: " << name << " would hold:\n" << files.at(name);
        }
    }
    err.flush();
}

}  // namespace tessera::cli
