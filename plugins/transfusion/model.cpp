// Cost model `transfusion`: model looptree, and !Pipeline nodes whose branches run at once on
// several computes (TransFusion Sec. 4).
#include <algorithm>

#include "pipelines.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/cost_model.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/value.hpp"

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

    model::Report evaluate(const model::Problem& problem,
                           const mapping::Mapping& mapping) const override {
        const Unpipelined plain(mapping);
        model::Report report = looptree_->evaluate(problem, plain.mapping());
        if (plain.ranges().empty()) {
            return report;
        }
        const std::vector<mapping::EinsumMapping> chains = mapping::split(
            plain.mapping(), *problem.workload, *problem.architecture, problem.compat);
        std::vector<Part> parts;
        for (std::size_t i = 0; i < chains.size(); ++i) {
            parts.push_back(
                {&chains[i].path.einsum, &chains[i].path, &chains[i].nodes, &report.einsums[i]});
        }
        const std::vector<int> shared = shared_loops(parts);
        for (const Range& range : plain.ranges()) {
            report.pipelines.push_back(pipeline(problem, parts, shared, range));
        }
        return report;
    }

private:
    model::Pipeline pipeline(const model::Problem& problem, const std::vector<Part>& parts,
                             const std::vector<int>& shared, const Range& range) const {
        int around =
            range.end - range.begin > 1 ? shared[static_cast<std::size_t>(range.begin)] : 0;
        for (int i = range.begin; i + 1 < range.end; ++i) {
            around = std::min(around, shared[static_cast<std::size_t>(i)]);
        }
        const double rounds = rounds_of(parts[static_cast<std::size_t>(range.begin)], around);
        PipelineCost cost = pipeline_cost(*problem.workload, parts, range, rounds, mode_);
        const Fullest full = fullest(parts, shared, range, cost.schedule.overlap.stage);
        if (full.share > 1) {
            throw IllegalMapping(
                "the Einsums from '" + parts[static_cast<std::size_t>(range.begin)].einsum->name +
                "' to '" + parts[static_cast<std::size_t>(range.end) - 1].einsum->name +
                "' run at once and together fill memory '" + full.memory + "' to " +
                spec::number_text(100 * full.share) +
                " %; use smaller tile shapes, or !Sequential");
        }
        return std::move(cost.pipeline);
    }

    schedule::Mode mode_;
    plugin::Owned<model::CostModel> looptree_;
};

TESSERA_PLUGIN(model::CostModel, Model, "transfusion",
               "model looptree with pipelines over several computes", "TransFusion");

}  // namespace tessera::transfusion
