// Cost model `launch`: looptree, and every Einsum takes `overhead` seconds more to be started. Such
// a fixed cost makes many small Einsums dearer than a few large ones.
//   c++ launch.cpp $(pkg-config --cflags --libs tessera-plugin) -o tessera-launch.so
#include <tessera/plugin/cost_model.hpp>
#include <tessera/plugin/registry.hpp>

using namespace tessera;

namespace {

class Launch : public model::CostModel {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::number("overhead", 1e-6, 0, 1, "s", "time to start an Einsum")};
    }

    explicit Launch(const plugin::KnobValues& knobs) : overhead_s_(knobs.number("overhead")) {}

    std::string name() const override {
        return "launch";
    }

    model::Report evaluate(const model::Problem& problem,
                           const mapping::Mapping& mapping) const override {
        model::Report report = base_->evaluate(problem, mapping);
        for (model::EinsumReport& einsum : report.einsums) {
            einsum.latency_s += overhead_s_;
        }
        return report;
    }

    model::EinsumReport evaluate(const model::Problem& problem, const arch::Path& path,
                                 std::span<const mapping::PmappingNode> nodes) const override {
        model::EinsumReport report = base_->evaluate(problem, path, nodes);
        report.latency_s += overhead_s_;
        return report;
    }

    bool has_formulas() const override {
        return true;
    }

    model::TemplateFormulas formulate(const model::Problem& problem, const arch::Path& path,
                                      const mapping::Template& tmpl) const override {
        model::TemplateFormulas formulas = base_->formulate(problem, path, tmpl);
        formulas.latency_s = formulas.latency_s + model::Formula(overhead_s_);
        return formulas;
    }

private:
    double overhead_s_;
    plugin::Owned<model::CostModel> base_ =
        plugin::Registry<model::CostModel>::instance().create("looptree");
};

TESSERA_PLUGIN(model::CostModel, Launch, "launch", "looptree with a fixed time per Einsum", "");
TESSERA_PLUGIN_LIBRARY("launch", "0.1", "", "", "example of a cost model");

}  // namespace
