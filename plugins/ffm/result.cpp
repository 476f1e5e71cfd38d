#include "result.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <sstream>

#include "tessera/mapspace/legality.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {

std::string number(double v) {
    std::ostringstream s;
    s << v;
    return s.str();
}

telemetry::Incumbent incumbent_of(const mapper::Solution& solution, double value,
                                  const std::string& step) {
    telemetry::Incumbent found;
    found.value = value;
    found.energy_j = solution.report.energy_j();
    found.latency_s = solution.report.latency_s();
    found.found_by = "ffm";
    found.detail = step;
    found.mapping = [tree = solution.mapping] { return mapping::to_yaml(tree); };
    return found;
}

std::vector<std::string> explain_empty(const workload::Workload& w, const EinsumSpace& space) {
    const std::string name = w.einsums[static_cast<std::size_t>(space.einsum)].name;
    if (!space.no_compute.empty()) {
        return {"Einsum " + name + ": " + space.no_compute};
    }
    std::vector<std::string> out;
    for (const mapspace::CapacityNeed& n : space.needs) {
        out.push_back("Einsum " + name + ": memory " + n.memory + " needs at least " +
                      number(n.needed_bits) + " bits, its size is " + number(n.size_bits) +
                      " bits");
    }
    if (out.empty()) {
        out.push_back("Einsum " + name + ": no tile shapes meet all constraints of any of its " +
                      std::to_string(space.templates->size()) + " templates");
    }
    return out;
}

std::string mapspace_size(const std::vector<EinsumSpace>& spaces) {
    boost::multiprecision::cpp_int size = 1;
    for (const EinsumSpace& s : spaces) {
        if (s.size.empty()) {
            return "";
        }
        size *= boost::multiprecision::cpp_int(s.size);
    }
    return size.str();
}

std::string explain_failed_join(const workload::Workload& w,
                                const std::vector<mapspace::TrackedMemory>& tracked,
                                const mapspace::JoinResult& join) {
    const std::string name = w.einsums[static_cast<std::size_t>(std::max(join.failed_at, 0))].name;
    if (!join.failed_capacity) {
        return "Einsum " + name +
               ": none of its pmappings backs the shared tensors where the Einsums before it do";
    }
    const auto memory = std::find_if(tracked.begin(), tracked.end(),
                                     [&](const auto& m) { return m.name == join.failed_memory; });
    return "up to Einsum " + name + ": memory " + join.failed_memory + " needs at least " +
           number(join.failed_needed_bits) + " bits at one time, its size is " +
           number(memory == tracked.end() ? 0 : memory->size_bits) + " bits";
}

std::string objection(const model::Problem& problem, const mapspace::MapSpaceOptions& limits,
                      const mapping::Mapping& mapping) {
    for (const mapspace::Violation& v : mapspace::check(problem, mapping, &limits)) {
        if (v.severity != mapspace::Severity::warning) {
            return mapspace::to_text(v);
        }
    }
    return "";
}

void check_legality(const model::Problem& problem, const mapspace::MapSpaceOptions& limits,
                    const mapping::Mapping& mapping) {
    if (const std::string why = objection(problem, limits, mapping); !why.empty()) {
        throw Bug("the best mapping found is not legal: " + why);
    }
}

void check_agreement(const ExploreContext& context, const mapspace::JoinedMapping& m,
                     const model::Report& report) {
    std::vector<double> again;
    if (context.want_energy) {
        again.push_back(report.energy_j());
    }
    if (context.want_latency) {
        again.push_back(report.latency_s());
    }
    for (std::size_t i = 0; i < again.size(); ++i) {
        const double a = m.objectives[i];
        if (std::abs(a - again[i]) > agreement * std::max(std::abs(a), std::abs(again[i]))) {
            throw Bug("the joined mapping's cost " + number(a) + " differs from its evaluation " +
                      number(again[i]));
        }
    }
}

}  // namespace tessera::ffm
