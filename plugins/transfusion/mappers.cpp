// Mapper `transfusion` and its baselines `transfusion:fusemax-layerfuse`, `transfusion:fusemax`,
// `transfusion:flat` and `transfusion:unfused`: the methods of
// TransFusion's evaluation with free tiles, on whatever the architecture and the model say.
#include <algorithm>
#include <limits>

#include "effort.hpp"
#include "plans.hpp"
#include "published_plan.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/solutions.hpp"
#include "tessera/model/latency_parts.hpp"
#include "tessera/plugin/mapper.hpp"
#include "tessera/transfusion/tileseek.hpp"

namespace tessera::transfusion {

namespace {

std::vector<std::string> reasons_of(const Found& found, const model::Report& report,
                                    bool pipelines) {
    std::vector<std::string> reasons = found.notes;
    const bool wanted = std::any_of(found.groups.begin(), found.groups.end(),
                                    [](const Group& g) { return g.plan.overlap != Overlap::none; });
    if (wanted && !pipelines) {
        reasons.emplace_back("nothing runs at once: it does under --model transfusion alone");
    }
    for (const model::LatencyPart& part : model::latency_parts(report)) {
        if (part.einsums.size() > 1) {
            reasons.push_back(model::latency_text(report, part));
        }
    }
    return reasons;
}

/// On-chip tile sizes of these counts.
Tiles tiles_of(const Layer& layer, const OuterTiles& outer) {
    const auto tile = [&](const char* variable, std::int64_t count) {
        return layer.bound(variable) / count;
    };
    return {{"b", tile("b", outer.b)},
            {"d", tile("d", outer.d)},
            {"m", tile("m", outer.m)},
            {"p", tile("p", outer.p)},
            {"s", tile("s", outer.s)}};
}

std::string text(const TileSeekResult& found) {
    return "outer tiles number " + std::to_string(found.best_at) + " of " +
           std::to_string(found.evaluations) + " that were evaluated" +
           (found.exhausted ? ", which are all legal ones" : "");
}

}  // namespace

/// How the tiles of a fused layer are found.
struct TileSearch {
    bool tileseek = false;
    TileSeekOptions options;
};

class MethodMapper : public mapper::Mapper {
public:
    explicit MethodMapper(Method method) : method_(method) {}

    std::string name() const override {
        const std::string own = transfusion::name(method_);
        return method_ == Method::transfusion ? own : "transfusion:" + own;
    }

    /// What it begins with is kept as it is.
    bool overlaps() const override {
        return true;
    }

    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        const bool published = model.name() == tf_paper;
        const bool pipelines = published || model.name() == "transfusion";
        const Layer layer(problem);
        Effort effort(options, name());
        const Found found = published ? find_published(layer, options, effort)
                                      : find(layer, model, options, pipelines, effort);
        mapper::Result result;
        result.status = mapper::Status::feasible;
        result.stopped_by = effort.ended_by();
        result.statistics.evaluated = effort.evaluated_count();
        mapper::Solution solution{tree(found.groups, found.shared, pipelines), {}};
        solution.report = model.evaluate(problem, solution.mapping);
        result.reasons = reasons_of(found, solution.report, pipelines);
        tell(options, solution);
        result.solutions.push_back(std::move(solution));
        mapper::keep_starts(result, options);
        return result;
    }

protected:
    MethodMapper(Method method, const plugin::KnobValues& knobs) : method_(method) {
        const std::string& schedule = knobs.text("schedule");
        if (schedule != "auto") {
            common_mode_ = published_mode_ =
                schedule == "paper" ? schedule::Mode::paper : schedule::Mode::modulo;
        }
        tiles_.tileseek = knobs.text("tiles") == "tileseek";
        tiles_.options.evaluations = static_cast<int>(knobs.integer("evaluations"));
        tiles_.options.exploration = knobs.number("exploration");
    }

private:
    TileSeekOptions tileseek_options(const mapper::Options& options, const Effort& effort) const {
        TileSeekOptions found = tiles_.options;
        found.seed = options.seed;
        found.stop = effort.stop();
        return found;
    }

    Found find(const Layer& layer, const model::CostModel& model, const mapper::Options& options,
               bool pipelines, Effort& effort) const {
        const mapper::Metric metric = options.metrics.front();
        Groups groups(layer, model, metric, common_mode_, pipelines, effort);
        if (!tiles_.tileseek) {
            return plan_method(method_, groups);
        }
        check_cascade(layer, method_);
        constexpr double none = std::numeric_limits<double>::infinity();
        Found best;
        double least = none;
        const auto cost = [&](const OuterTiles& outer) {
            try {
                Found made = plan_method(method_, groups, tiles_of(layer, outer));
                const double value = value_of(made.groups, metric);
                if (value < least) {
                    least = value;
                    best = std::move(made);
                }
                return value;
            } catch (const NoLegalMapping&) {
            } catch (const LimitReached&) {  // of these tiles only: others may be known
            }
            return none;
        };
        const TileSeekResult found =
            tileseek(PublishedProblem(layer).problem, tileseek_options(options, effort), cost);
        if (!found.exhausted) {
            effort.over();
        }
        best.notes.push_back(text(found));
        return best;
    }

    /// As published: TileSeek, or all outer tiles; the baselines have theirs by closed form.
    Found find_published(const Layer& layer, const mapper::Options& options, Effort& effort) const {
        PublishedProblem published(layer);
        published.settings.pipeline = published_mode_;
        if (method_ != Method::transfusion) {
            effort.evaluated();
            return plan_published(method_, layer, baseline_tiles(published.problem, method_),
                                  published);
        }
        TileSeekOptions seek = tileseek_options(options, effort);
        seek.objective = options.metrics.front() == mapper::Metric::latency ? Objective::latency
                         : options.metrics.front() == mapper::Metric::edp   ? Objective::edp
                                                                            : Objective::energy;
        const TileSeekResult tiles =
            tiles_.tileseek ? tileseek(published.problem, seek)
                            : enumerate_tiles(published.problem, seek.objective, seek.stop);
        if (!tiles.exhausted) {
            effort.over();
        }
        effort.evaluated(static_cast<std::uint64_t>(tiles.evaluations));
        Found found = plan_published(method_, layer, tiles.tiles, published);
        found.notes.push_back(text(tiles));
        return found;
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
    schedule::Mode common_mode_ = schedule::Mode::modulo;
    schedule::Mode published_mode_ = schedule::Mode::paper;
    TileSearch tiles_;
};

class Transfusion : public MethodMapper {
public:
    static std::vector<plugin::Knob> knobs() {
        return {
            plugin::Knob::choice("schedule", "auto", {"auto", "modulo", "paper"},
                                 "which computes DPipe chooses: for rounds of any number of "
                                 "stages (modulo), or of two at most, as published (paper); "
                                 "auto: paper with model tf-paper, else modulo"),
            plugin::Knob::choice("tiles", "free", {"free", "tileseek"},
                                 "tiles of a fused layer: all in steps of two (with model tf-paper "
                                 "all of the published tree), or by TileSeek"),
            plugin::Knob::integer("evaluations", TileSeekOptions{}.evaluations, 1, 1'000'000, "",
                                  "leaves of TileSeek's tree that are evaluated"),
            plugin::Knob::number("exploration", TileSeekOptions{}.exploration, 0, 1000, "",
                                 "factor of TileSeek's upper confidence bound")};
    }
    explicit Transfusion(const plugin::KnobValues& knobs)
        : MethodMapper(Method::transfusion, knobs) {}
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
TESSERA_PLUGIN(mapper::Mapper, FuseMaxLayerFuse, "transfusion:fusemax-layerfuse",
               "a transformer layer fused per tile of queries, bound as FuseMax binds it",
               "TransFusion, FuseMax");
TESSERA_PLUGIN(mapper::Mapper, FuseMax, "transfusion:fusemax",
               "attention of a transformer layer fused in one pass, on two arrays at once",
               "FuseMax");
TESSERA_PLUGIN(mapper::Mapper, Flat, "transfusion:flat",
               "attention of a transformer layer fused row by row, in three passes", "FLAT");
TESSERA_PLUGIN(mapper::Mapper, Unfused, "transfusion:unfused",
               "every Einsum of a transformer layer by itself", "");

}  // namespace tessera::transfusion
