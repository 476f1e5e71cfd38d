// Tessera as a library: load a problem, map it, read the result. docs/embedding.md is the guide.
//
//     #include <tessera/tessera.hpp>
//
//     const auto problem = tessera::Problem::load("tpu-v4i", "gpt3-6.7b", {{"TOKENS", "2048"}});
//     const tessera::Result result = tessera::map(problem);
//     result.best().report.edp_js();
//
// Errors are exceptions (base/error.hpp): UserError for what the caller can mend, PluginError for
// plugins, std::bad_alloc without memory. Units are SI: J, s, bit.
// Thread rule: every function here may be called from several threads at once; load_plugin() and
// registrations of components come before the first search.
#pragma once

#include "tessera/library.hpp"            // IWYU pragma: export
#include "tessera/workload/workload.hpp"  // IWYU pragma: export
