// Entry point of a plugin of this repository when it is a shared object of its own.
#include "tessera/plugin/component.hpp"

TESSERA_PLUGIN_LIBRARY(TESSERA_BUILTIN, TESSERA_VERSION, "tessera", "", "part of tessera");
