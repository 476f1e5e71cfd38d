#include "mapping_view.hpp"

#include <sstream>

#include "io/description.hpp"
#include "io/pipelines.hpp"
#include "spec/reader.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::cli {

namespace {

/// A snapshot goes over a socket four times a second.
constexpr std::size_t most_lines = 2000;

}  // namespace

mapping::Mapping mapping_in(const std::string& yaml, const std::string& file) {
    spec::Node root = spec::read_text(yaml, file);
    spec::assign_paths(root);
    const spec::Node* const section = root.find("mapping");
    if (section == nullptr) {
        spec::fail(root, {.what = "the file has no mapping", .expected = "the key 'mapping'"});
    }
    return mapping::read_mapping(*section);
}

telemetry::MappingView text_view(const std::string& text) {
    telemetry::MappingView view;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (view.lines.size() == most_lines) {
            view.lines.emplace_back("and more");
            break;
        }
        view.lines.push_back(std::move(line));
    }
    return view;
}

std::function<telemetry::MappingView(const std::string&)> mapping_view(
    const model::Problem& problem, const model::CostModel& model) {
    return [problem, &model](const std::string& yaml) {
        const mapping::Mapping mapping = mapping_in(yaml, "the best mapping");
        const model::Report report = model.evaluate(problem, mapping);
        const io::Description description = io::describe(problem, mapping, report);
        telemetry::MappingView view =
            text_view(io::pipelines_text(report) + io::to_text(mapping, description.notes));
        const io::Summary& summary = description.summary;
        view.energy_j = summary.energy_j;
        view.latency_s = summary.latency_s;
        view.compute_use = summary.compute_use;
        for (const io::ComponentSummary& one : summary.components) {
            view.components.push_back({one.name, one.energy_j, one.limits_s, one.occupancy});
        }
        for (const io::EinsumSummary& one : summary.einsums) {
            view.einsums.push_back(
                {one.name, one.energy_j, one.latency_s, one.limit, one.compute_use});
        }
        return view;
    };
}

}  // namespace tessera::cli
