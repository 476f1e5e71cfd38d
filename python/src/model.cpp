// Cost models that are written in Python.
#include <pybind11/stl.h>

#include "interruptible.hpp"
#include "tessera/describe.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::python {

namespace {

/// By Einsum: name, J, s.
using Costs = std::vector<std::tuple<std::string, double, double>>;

/// Judges mappings that `looptree` finds legal; that model's report is handed over, for its counts.
/// Every call holds the GIL.
class PythonModel : public model::CostModel {
public:
    PythonModel(std::string name, py::object self)
        : name_(std::move(name)),
          self_(std::move(self)),
          counts_(plugin::Registry<model::CostModel>::instance().create("looptree")),
          search_(Interruptible::current()) {}

    ~PythonModel() override {
        const py::gil_scoped_acquire held;
        self_.release().dec_ref();
    }
    std::string name() const override {
        return name_;
    }
    model::Report evaluate(const model::Problem& problem,
                           const mapping::Mapping& mapping) const override {
        model::Report report = counts_->evaluate(problem, mapping);
        const Costs costs = asked(mapping, report);
        if (costs.size() != report.einsums.size()) {
            throw PluginError("cost model '" + name_ + "' gave costs of " +
                              std::to_string(costs.size()) + " Einsums of " +
                              std::to_string(report.einsums.size()));
        }
        report.pipelines.clear();
        for (std::size_t e = 0; e < costs.size(); ++e) {
            model::EinsumReport& einsum = report.einsums[e];
            einsum.components.clear();
            einsum.leak_energy_j = 0;
            std::tie(einsum.einsum, einsum.dynamic_energy_j, einsum.latency_s) = costs[e];
        }
        return report;
    }
    model::EinsumReport evaluate(const model::Problem&, const arch::Path&,
                                 std::span<const mapping::PmappingNode>) const override {
        throw UserError("cost model '" + name_ + "' evaluates whole mappings only");
    }

private:
    Costs asked(const mapping::Mapping& mapping, const model::Report& report) const {
        const py::gil_scoped_acquire held;
        try {
            return self_.attr("_evaluate")(mapping, report).cast<Costs>();
        } catch (py::error_already_set& error) {
            if (error.matches(py::module_::import("tessera._errors").attr("IllegalMapping"))) {
                throw IllegalMapping(py::str(error.value()).cast<std::string>());
            }
            fail_search(search_, error);
        } catch (const py::cast_error& error) {
            fail_search(search_, error);
        }
    }

    const std::string name_;
    py::object self_;
    const plugin::Owned<model::CostModel> counts_;
    Interruptible* const search_;
};

void register_model(const std::string& name, const std::string& summary, const std::string& file,
                    const py::object& make) {
    plugin::Entry<model::CostModel> entry;
    entry.name = name;
    entry.summary = summary;
    entry.library = "python";
    entry.file = file;
    py::object* const kept = new py::object(make);
    entry.create = [kept, name](const plugin::KnobValues&) {
        const py::gil_scoped_acquire held;
        return plugin::Owned<model::CostModel>(new PythonModel(name, (*kept)()),
                                               [](model::CostModel* made) { delete made; });
    };
    plugin::Registry<model::CostModel>::instance().add(std::move(entry));
}

}  // namespace

void bind_model(py::module_& module) {
    py::class_<model::Report>(module, "Report")
        .def("to_json", static_cast<std::string (*)(const model::Report&)>(&to_json));
    module.def("register_model", &register_model);
}

}  // namespace tessera::python
