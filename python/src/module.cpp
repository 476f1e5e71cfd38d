#include "bindings.hpp"
#include "tessera/base/version.hpp"
#include "tessera/plugin/registry.hpp"

PYBIND11_MODULE(_tessera, module) {
    using namespace tessera::python;
    tessera::plugin::register_builtins();
    module.attr("__version__") = TESSERA_VERSION;
    bind_errors(module);
    bind_problem(module);
    bind_mapping(module);
    bind_search(module);
    bind_space(module);
    bind_batch(module);
    bind_strategy(module);
    bind_model(module);
    bind_testing(module);
}
