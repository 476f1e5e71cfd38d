// Cost model `transfusion`: model looptree, and !Pipeline nodes whose branches run at once on
// several computes (TransFusion Sec. 4).
#include <algorithm>

#include "pipelines.hpp"
#include "tessera/plugin/cost_model.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::transfusion {

class Model : public model::CostModel {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::choice(
            "schedule", "modulo", {"modulo", "paper"},
            "rounds of a pipeline: the shortest with any number of stages, or with two stages at "
            "most, as DPipe finds it")};
    }
    explicit Model(const plugin::KnobValues& knobs)
        : mode_(knobs.text("schedule") == "paper" ? schedule::Mode::paper : schedule::Mode::modulo),
          looptree_(plugin::Registry<model::CostModel>::instance().create("looptree")) {}

    std::string name() const override {
        return "transfusion";
    }
    /// Without formulas: templates have no pipelines.
    model::EinsumReport evaluate(const model::Problem& problem, const arch::Path& path,
                                 std::span<const mapping::PmappingNode> nodes) const override {
        return looptree_->evaluate(problem, path, nodes);
    }

    /// Each pipeline as model looptree times it, or in DPipe's order where that is shorter, or fits
    /// with fewer stages.
    model::Report evaluate(const model::Problem& problem,
                           const mapping::Mapping& mapping) const override {
        const model::Unpipelined plain(mapping);
        model::Report report = looptree_->evaluate(problem, plain.mapping());
        if (plain.ranges().empty()) {
            return report;
        }
        const std::vector<mapping::EinsumMapping> chains = mapping::split(
            plain.mapping(), *problem.workload, *problem.architecture, problem.compat);
        const std::vector<Part> parts = model::parts_of(chains, report);
        const std::vector<int> shared = model::shared_loops(parts);
        for (const Range& range : plain.ranges()) {
            model::PipelineRun run = shortest(*problem.workload, parts, shared, range, mode_);
            for (const auto& [memory, share] : run.shares) {
                double& peak = report.peak_occupancy[memory];
                peak = std::max(peak, share);
            }
            report.pipelines.push_back(std::move(run.pipeline));
        }
        return report;
    }

private:
    schedule::Mode mode_;
    plugin::Owned<model::CostModel> looptree_;
};

TESSERA_PLUGIN(model::CostModel, Model, "transfusion",
               "model looptree with pipelines over several computes", "TransFusion");

}  // namespace tessera::transfusion
