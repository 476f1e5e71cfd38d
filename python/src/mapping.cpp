#include <pybind11/stl.h>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "tessera/describe.hpp"
#include "tessera/tessera.hpp"

namespace tessera::python {

namespace {

std::vector<py::dict> explained(const Problem& problem, const mapping::Mapping& mapping,
                                const std::string& model) {
    std::vector<mapspace::Violation> found;
    Interruptible(py::none()).run([&] { found = explain(problem, mapping, model); });
    static constexpr const char* severities[] = {"physical", "constraint", "warning"};
    std::vector<py::dict> result;
    for (const mapspace::Violation& v : found) {
        using namespace py::literals;
        result.push_back(py::dict(
            "code"_a = v.code, "severity"_a = severities[static_cast<std::size_t>(v.severity)],
            "message"_a = v.message, "einsum"_a = v.einsum, "tensor"_a = v.tensor,
            "level"_a = v.level, "found"_a = v.found, "limit"_a = v.limit,
            "constraint"_a = v.where.text(), "node"_a = v.mapping_where.text()));
    }
    return result;
}

}  // namespace

void bind_mapping(py::module_& module) {
    using Call = py::call_guard<py::gil_scoped_release>;
    py::class_<mapping::Mapping>(module, "Mapping")
        .def_static("parse", &parse_mapping, Call())
        .def("to_yaml", &mapping::to_yaml, Call())
        .def("to_text", static_cast<std::string (*)(const mapping::Mapping&)>(&mapping::to_text),
             Call())
        .def("to_svg", &mapping::to_svg, Call());
    py::class_<mapper::Solution>(module, "Solution")
        .def_property_readonly("energy",
                               [](const mapper::Solution& s) { return s.report.energy_j(); })
        .def_property_readonly("latency",
                               [](const mapper::Solution& s) { return s.report.latency_s(); })
        .def_property_readonly("edp", [](const mapper::Solution& s) { return s.report.edp_js(); })
        .def_property_readonly("traffic",
                               [](const mapper::Solution& s) { return s.report.traffic_words(); })
        .def_property_readonly("warnings",
                               [](const mapper::Solution& s) { return s.report.warnings; })
        .def_property_readonly("mapping", [](const mapper::Solution& s) { return s.mapping; });
    module.def("evaluate", [](const Problem& problem, const mapping::Mapping& mapping,
                              const std::string& model) {
        mapper::Solution result{mapping, {}};
        Interruptible(py::none()).run([&] {
            result.mapping = as_run(problem, mapping);
            result.report = evaluate(problem, result.mapping, model);
        });
        return result;
    });
    module.def("explain", &explained);
    module.def(
        "to_json",
        [](const Problem& problem, const mapper::Solution& s) { return to_json(problem, s); },
        Call());
    module.def(
        "to_text",
        [](const Problem& problem, const mapper::Solution& s) { return to_text(problem, s); },
        Call());
    module.def(
        "to_svg",
        [](const Problem& problem, const mapper::Solution& s) { return to_svg(problem, s); },
        Call());
    module.def("to_accelforge_yaml", &to_accelforge_yaml, Call());
}

}  // namespace tessera::python
