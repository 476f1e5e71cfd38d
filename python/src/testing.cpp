// The contract kits.
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "tessera/testing/cost_model.hpp"
#include "tessera/testing/search_strategy.hpp"

namespace tessera::python {

namespace {

using Checked = std::vector<std::tuple<std::string, std::string, std::vector<std::string>>>;

/// Name, text and findings of each check.
Checked checked(const std::vector<testing::Check>& checks) {
    Checked result;
    for (const testing::Check& check : checks) {
        result.emplace_back(check.name, check.text, testing::findings_of(check));
    }
    return result;
}

}  // namespace

void bind_testing(py::module_& module) {
    using Call = py::call_guard<py::gil_scoped_release>;
    module.def(
        "check_strategy",
        [](const std::string& name, std::uint64_t seed) {
            return checked(testing::search_strategy_checks(name, {seed}));
        },
        Call());
    module.def(
        "check_model",
        [](const std::string& name, std::uint64_t seed) {
            return checked(testing::cost_model_checks(name, {seed}));
        },
        Call());
}

}  // namespace tessera::python
