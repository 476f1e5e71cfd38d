// The Python module tessera.native._tessera: one file for each concept. It gives the library's
// objects and functions as they are; what users see is in python/tessera, in Python.
#pragma once

#include <pybind11/pybind11.h>

namespace tessera::python {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_problem(py::module_& module);
void bind_mapping(py::module_& module);
void bind_search(py::module_& module);
void bind_space(py::module_& module);
void bind_batch(py::module_& module);
void bind_strategy(py::module_& module);
void bind_model(py::module_& module);
void bind_testing(py::module_& module);

}  // namespace tessera::python
