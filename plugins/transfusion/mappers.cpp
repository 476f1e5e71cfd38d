// Mappers `transfusion`, `fusemax-layerfuse`, `fusemax`, `flat` and `unfused`: the methods of
// TransFusion's evaluation with free tiles, on whatever the architecture and the model say.
#include <algorithm>
#include <cmath>

#include "methods.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/mapper.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::transfusion {

namespace {

std::string percent(double share) {
    return spec::number_text(std::round(1000 * share) / 10) + " %";
}

/// "attention ...: what limits it".
std::string limit_text(const model::Report& report, const model::Pipeline& pipeline) {
    std::map<std::string, double> busy;
    std::map<std::string, double> memories;
    std::string first, last;
    int from = static_cast<int>(report.einsums.size()), to = -1;
    for (const model::PipelineSlot& slot : pipeline.slots) {
        busy[slot.unit] += slot.end_s - slot.start_s;
        from = std::min(from, slot.einsum);
        to = std::max(to, slot.einsum);
        for (const model::ComponentReport& one :
             report.einsums[static_cast<std::size_t>(slot.einsum)].components) {
            memories[one.component] += one.has_latency ? one.latency_s : 0;
        }
    }
    std::string text = report.einsums[static_cast<std::size_t>(from)].einsum + " to " +
                       report.einsums[static_cast<std::size_t>(to)].einsum + " at once, " +
                       spec::number_text(pipeline.latency_s) + " s:";
    for (const auto& [unit, seconds] : busy) {
        text += " " + unit + " busy " + percent(seconds / pipeline.latency_s) + ",";
        memories.erase(unit);
    }
    for (const auto& [memory, seconds] : memories) {
        if (seconds > 0) {
            text += " " + memory + " " + percent(seconds / pipeline.latency_s) + ",";
        }
    }
    text.pop_back();
    return text;
}

std::vector<std::string> reasons_of(const Found& found, const model::Report& report,
                                    bool pipelines) {
    std::vector<std::string> reasons = found.notes;
    const bool wanted = std::any_of(found.groups.begin(), found.groups.end(), [](const Group& g) {
        return g.plan.overlap == Overlap::pipelined;
    });
    if (wanted && !pipelines) {
        reasons.emplace_back(
            "nothing runs at once: the model knows no pipelines (--model transfusion does)");
    }
    for (const model::Pipeline& pipeline : report.pipelines) {
        reasons.push_back(limit_text(report, pipeline));
    }
    return reasons;
}

}  // namespace

class MethodMapper : public mapper::Mapper {
public:
    explicit MethodMapper(Method method, schedule::Mode mode = schedule::Mode::modulo)
        : method_(method), mode_(mode) {}

    std::string name() const override {
        return transfusion::name(method_);
    }

    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        const bool pipelines = model.name() == "transfusion";
        const Layer layer(problem);
        Groups groups(layer, model, options.metrics.front(), mode_, pipelines);
        const Found found = plan_method(method_, groups);
        mapper::Result result;
        result.status = mapper::Status::feasible;
        result.statistics.evaluated = groups.evaluated();
        if (options.recorder != nullptr) {
            options.recorder->worker(0, name()).evaluated(groups.evaluated());
        }
        mapper::Solution solution{tree(found.groups, found.shared, pipelines), {}};
        solution.report = model.evaluate(problem, solution.mapping);
        result.reasons = reasons_of(found, solution.report, pipelines);
        tell(options, solution);
        result.solutions.push_back(std::move(solution));
        return result;
    }

private:
    void tell(const mapper::Options& options, const mapper::Solution& solution) const {
        if (options.recorder == nullptr) {
            return;
        }
        telemetry::Incumbent incumbent;
        incumbent.value = mapper::metric_value(options.metrics.front(), solution.report);
        incumbent.energy_j = solution.report.energy_j();
        incumbent.latency_s = solution.report.latency_s();
        incumbent.found_by = name();
        const auto kept = std::make_shared<mapping::Mapping>(solution.mapping);
        incumbent.mapping = [kept] { return mapping::to_yaml(*kept); };
        options.recorder->incumbent(std::move(incumbent));
    }

    Method method_;
    schedule::Mode mode_;
};

class Transfusion : public MethodMapper {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::choice("schedule", "modulo", {"modulo", "paper"},
                                     "which computes DPipe chooses: for rounds of any number of "
                                     "stages, or of two at most, as published")};
    }
    explicit Transfusion(const plugin::KnobValues& knobs)
        : MethodMapper(Method::transfusion, knobs.text("schedule") == "paper"
                                                ? schedule::Mode::paper
                                                : schedule::Mode::modulo) {}
};

class FuseMaxLayerFuse : public MethodMapper {
public:
    FuseMaxLayerFuse() : MethodMapper(Method::fusemax_layerfuse) {}
};

class FuseMax : public MethodMapper {
public:
    FuseMax() : MethodMapper(Method::fusemax) {}
};

class Flat : public MethodMapper {
public:
    Flat() : MethodMapper(Method::flat) {}
};

class Unfused : public MethodMapper {
public:
    Unfused() : MethodMapper(Method::unfused) {}
};

TESSERA_PLUGIN(mapper::Mapper, Transfusion, "transfusion",
               "a transformer layer fused per tile of queries, pipelined by DPipe", "TransFusion");
TESSERA_PLUGIN(mapper::Mapper, FuseMaxLayerFuse, "fusemax-layerfuse",
               "a transformer layer fused per tile of queries, bound as FuseMax binds it",
               "TransFusion, FuseMax");
TESSERA_PLUGIN(mapper::Mapper, FuseMax, "fusemax",
               "attention of a transformer layer fused in one pass, on two arrays at once",
               "FuseMax");
TESSERA_PLUGIN(mapper::Mapper, Flat, "flat",
               "attention of a transformer layer fused row by row, in three passes", "FLAT");
TESSERA_PLUGIN(mapper::Mapper, Unfused, "unfused", "every Einsum of a transformer layer by itself",
               "");

}  // namespace tessera::transfusion
