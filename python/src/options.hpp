// Options of searches as Python hands them over.
#pragma once

#include "bindings.hpp"
#include "tessera/tessera.hpp"

namespace tessera::python {

/// Of tessera.MapSpace as a dictionary.
mapspace::MapSpaceOptions mapspace_of(const py::dict& given);

}  // namespace tessera::python
