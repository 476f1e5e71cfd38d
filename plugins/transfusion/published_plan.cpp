// The mapping that the published evaluation has in mind: outer tiles by closed form or TileSeek,
// computes as the method or DPipe binds them. Nothing is asked of a cost model.
#include <algorithm>

#include "plans.hpp"
#include "published_plan.hpp"

namespace tessera::transfusion {

namespace {

SharedBinding binding_of(const Layer& layer, const Cost& cost) {
    std::map<std::string, std::string> binding;
    for (const PhaseCost& phase : cost.phases) {
        for (const EinsumCost& one : phase.einsums) {
            binding[one.name] =
                one.unit == Unit::array_2d ? layer.units().front() : layer.units().back();
        }
    }
    return std::make_shared<const std::map<std::string, std::string>>(std::move(binding));
}

class PublishedPlanner {
public:
    PublishedPlanner(Method method, const Layer& layer, const OuterTiles& tiles, const Cost& cost)
        : method_(method), layer_(layer), tiles_(tiles), binding_(binding_of(layer, cost)) {}

    Found run() {
        if (method_ == Method::transfusion || method_ == Method::fusemax_layerfuse) {
            fused_layer();
            return std::move(found_);
        }
        for (const char* einsum : {"BK", "BV", "Q"}) {
            single(einsum);
        }
        if (method_ == Method::unfused) {
            singles(layer_.attention());
        } else {
            add(attention_plan(layer_, {{"b", 1}, {"p", tile("p", tiles_.p)}}, 1, true), 0,
                method_ != Method::flat);
        }
        singles(layer_.norm());
        singles(layer_.feed_forward());
        return std::move(found_);
    }

private:
    std::int64_t tile(const std::string& variable, std::int64_t tiles) const {
        return layer_.bound(variable) / tiles;
    }

    void add(GroupPlan plan, int shared_before, bool at_once) {
        Group group;
        plan.overlap = at_once ? Overlap::pipelined : Overlap::none;
        plan.binding = binding_;
        for (const std::string& einsum : plan.einsums) {
            const Place& place = layer_.place(einsum, binding_->at(einsum));
            auto made = std::make_shared<Costed>();
            made->place = &place;
            made->nodes = chain(*place.path, chain_plan(plan, einsum));
            group.chains.push_back(std::move(made));
        }
        group.plan = std::move(plan);
        if (!found_.groups.empty()) {
            found_.shared.push_back(shared_before);
        }
        found_.groups.push_back(std::move(group));
    }

    /// All loops at the outermost memory, down to a tile of the array.
    void single(const std::string& einsum) {
        const auto edge = [&](const std::string& variable) {
            return std::min(layer_.bound("n"), layer_.bound(variable));
        };
        GroupPlan plan;
        plan.einsums = {einsum};
        plan.shared = {{"b", 1}, {"h", 1},         {"p", edge("p")},
                       {"m", 1}, {"s", edge("s")}, {"d", edge("d")}};
        add(std::move(plan), 0, false);
    }
    void singles(const std::vector<std::string>& einsums) {
        for (const std::string& einsum : einsums) {
            single(einsum);
        }
    }

    void fused_layer() {
        const bool at_once = method_ == Method::transfusion;
        const std::vector<LoopPlan> width = {{"d", tile("d", tiles_.d)}};
        const std::vector<LoopPlan> outer = {{"b", at_once ? tile("b", tiles_.b) : 1},
                                             {"p", tile("p", tiles_.p)}};
        const int around = common_loops(layer_, outer, outer.size());
        add(keys_and_values_plan(layer_, at_once ? tile("m", tiles_.m) : 1, width), 0, at_once);
        add(query_plan(outer, width), 0, false);
        GroupPlan attention = attention_plan(layer_, outer, layer_.bound("h"), false);
        if (at_once && tiles_.m == 1) {
            // All keys and values of a tile of sequences stay, for all its queries.
            attention.held = {{"BK", 1}, {"BV", 1}};
        }
        add(std::move(attention), around, true);
        add(norm_plan(layer_, outer), around, at_once);
        add(feed_forward_plan(
                layer_, outer,
                at_once ? tile("s", tiles_.s) : std::min(layer_.bound("n"), layer_.bound("s"))),
            around, at_once);
    }

    Method method_;
    const Layer& layer_;
    OuterTiles tiles_;
    SharedBinding binding_;
    Found found_;
};

std::string text(const OuterTiles& tiles) {
    return "outer tiles: b " + std::to_string(tiles.b) + ", d " + std::to_string(tiles.d) + ", m " +
           std::to_string(tiles.m) + ", p " + std::to_string(tiles.p) + ", s " +
           std::to_string(tiles.s);
}

}  // namespace

Found plan_published(Method method, const Layer& layer, const OuterTiles& tiles,
                     const PublishedProblem& published) {
    check_cascade(layer, method);
    const Cost cost = evaluate(published.problem, method, tiles, published.settings);
    Found found = PublishedPlanner(method, layer, tiles, cost).run();
    found.notes.push_back(text(tiles));
    return found;
}

}  // namespace tessera::transfusion
