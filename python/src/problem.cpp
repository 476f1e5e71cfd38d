#include <pybind11/stl.h>

#include "bindings.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/tessera.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::python {

namespace {

arch::Compat compat_of(bool accelforge) {
    return accelforge ? arch::Compat::accelforge : arch::Compat::none;
}

std::vector<std::string> einsum_names(const Problem& problem) {
    std::vector<std::string> names;
    for (const workload::Einsum& einsum : problem.workload().einsums) {
        names.push_back(einsum.name);
    }
    return names;
}

}  // namespace

void bind_problem(py::module_& module) {
    using Call = py::call_guard<py::gil_scoped_release>;
    py::class_<Problem>(module, "Problem")
        .def_static(
            "load",
            [](const std::string& arch, const std::string& workload,
               const Problem::Defines& defines, bool accelforge) {
                return Problem::load(arch, workload, defines, compat_of(accelforge));
            },
            Call())
        .def_static(
            "parse",
            [](const std::string& arch, const std::string& workload,
               const Problem::Defines& defines, bool accelforge) {
                return Problem::parse(arch, workload, defines, compat_of(accelforge));
            },
            Call())
        .def("only", &Problem::only)
        .def_property_readonly("warnings", &Problem::warnings)
        .def_property_readonly("einsums", &einsum_names)
        .def_property_readonly("workload_name",
                               [](const Problem& problem) { return problem.workload().name; })
        .def_property_readonly("architecture_name",
                               [](const Problem& problem) { return problem.architecture().name(); })
        .def_property_readonly("components", [](const Problem& problem) {
            return problem.architecture().component_names();
        });
    module.def("architecture_names", &architecture_names);
    module.def("workload_names", &workload_names);
}

}  // namespace tessera::python
