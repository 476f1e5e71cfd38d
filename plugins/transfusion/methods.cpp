#include "methods.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "plans.hpp"
#include "tessera/base/divisors.hpp"
#include "tessera/base/error.hpp"

namespace tessera::transfusion {

namespace {

using Names = std::vector<std::string>;

/// Sizes worth trying: a divisor for every doubling, the largest first.
std::vector<std::int64_t> tile_sizes(std::int64_t n, std::int64_t most) {
    std::vector<std::int64_t> found;
    const std::vector<std::int64_t> all = base::divisors(n);
    for (auto d = all.rbegin(); d != all.rend(); ++d) {
        if (*d <= most && (found.empty() || 2 * *d <= found.back())) {
            found.push_back(*d);
        }
    }
    return found;
}

class Planner {
public:
    Planner(Method method, Groups& groups, const Tiles& given)
        : method_(method),
          groups_(groups),
          layer_(groups.layer()),
          given_(given),
          fixed_(layer_.known() ? fixed_binding(layer_, method) : nullptr) {}

    Found run() {
        if (!layer_.known()) {
            found_.notes.emplace_back(
                "no layer of problem-shapes/transfusion-*: every Einsum is mapped by itself");
            singles(layer_.all());
            return std::move(found_);
        }
        check_cascade(layer_, method_);
        switch (method_) {
            case Method::unfused:
                singles(layer_.all());
                break;
            case Method::flat:
            case Method::fusemax:
                singles({"BK", "BV", "Q"});
                fused_attention();
                singles(layer_.norm());
                singles(layer_.feed_forward());
                break;
            default:
                keys_and_values();
                fused_layer();
        }
        return std::move(found_);
    }

private:
    using Sizes = std::vector<std::int64_t>;

    /// Whether what was found has to do.
    bool enough(bool found) const {
        return found && groups_.over();
    }
    bool transfusion() const {
        return method_ == Method::transfusion;
    }
    /// By the metric, and where that is the same to nine digits by energy.
    bool better(std::span<const Group> a, std::span<const Group> b) const {
        const Total x = total(a), y = total(b);
        return std::abs(x.value - y.value) <= 1e-9 * y.value ? x.energy_j < y.energy_j
                                                             : x.value < y.value;
    }
    bool better(const Group& a, const Group& b) const {
        return better(std::span(&a, 1), std::span(&b, 1));
    }
    struct Total {
        double value = 0, energy_j = 0;
    };
    Total total(std::span<const Group> groups) const {
        double energy_j = 0;
        for (const Group& group : groups) {
            energy_j += group.energy_j;
        }
        return {value_of(groups, groups_.metric()), energy_j};
    }

    void add(Group group, int shared_before) {
        if (!found_.groups.empty()) {
            found_.shared.push_back(shared_before);
        }
        found_.groups.push_back(std::move(group));
    }

    /// An Einsum that is fused with nothing, on the better array: a loop over sequences, before,
    /// between or after loops over two more variables; each tensor stays in the buffer where the
    /// loops below do not index it.
    Group single(const std::string& einsum) {
        std::optional<Group> best;
        const workload::EinsumView& view = layer_.places(einsum).front().path->einsum;
        if (view.state_variables() != 0) {
            throw UserError("Einsum " + einsum +
                            " accesses a running state and cannot be mapped by itself; this mapper "
                            "fuses such Einsums in the layers problem-shapes/transfusion-* only");
        }
        const auto try_loops = [&](const std::vector<LoopPlan>& loops) {
            if (enough(best.has_value())) {
                return;
            }
            GroupPlan plan;
            plan.einsums = {einsum};
            plan.shared = loops;
            plan.resident = true;
            auto made = groups_.best(plan);
            if (made && (!best || better(*made, *best))) {
                best = std::move(made);
            }
        };
        Names variables;
        for (const workload::LocalRankVariable& v : view.rank_variables) {
            if (v.name != "b" && v.bound > 1) {
                variables.push_back(v.name);
            }
        }
        std::vector<Sizes> sizes;
        for (const std::string& variable : variables) {
            sizes.push_back(coarse_sizes(variable));
        }
        for (std::size_t x = 0; x < variables.size(); ++x) {
            for (std::size_t y = 0; y < variables.size(); ++y) {
                for (const std::int64_t a : sizes[x]) {
                    for (const std::int64_t c : x == y ? Sizes{1} : sizes[y]) {
                        std::vector<LoopPlan> loops = {{variables[x], a}, {variables[y], c}};
                        loops.resize(x == y ? 1 : 2);
                        for (std::size_t at = 0; at <= loops.size(); ++at) {
                            std::vector<LoopPlan> all = loops;
                            all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), {"b", 1});
                            try_loops(all);
                        }
                    }
                }
            }
        }
        need(best.has_value(), "Einsum " + einsum);
        return *best;
    }

    /// The given one, or all that are worth trying.
    Sizes sizes(const std::string& variable, std::int64_t most) const {
        const auto given = given_.find(variable);
        return given == given_.end() ? tile_sizes(layer_.bound(variable), most)
                                     : Sizes{given->second};
    }

    /// Loops of a projection: this one, below one over the width if its tiles are given.
    std::vector<LoopPlan> within(const LoopPlan& loop) const {
        const auto width = given_.find("d");
        return width == given_.end() ? std::vector<LoopPlan>{loop}
                                     : std::vector<LoopPlan>{{"d", width->second}, loop};
    }

    /// A divisor for every factor of eight.
    Sizes coarse_sizes(const std::string& variable) const {
        Sizes found;
        for (const std::int64_t size : tile_sizes(layer_.bound(variable), 4096)) {
            if (found.empty() || 8 * size <= found.back()) {
                found.push_back(size);
            }
        }
        return found;
    }

    void singles(const Names& einsums) {
        for (const std::string& einsum : einsums) {
            add(single(einsum), 0);
        }
    }

    GroupPlan arranged(GroupPlan plan, bool overlaps) const {
        plan.overlap = overlaps ? Overlap::pipelined : Overlap::none;
        if (!transfusion()) {
            plan.binding = fixed_;
        }
        return plan;
    }

    // --- Attention ---------------------------------------------------------------------------

    GroupPlan attention(std::vector<LoopPlan> outer, std::int64_t heads, bool alone) const {
        return arranged(attention_plan(layer_, std::move(outer), heads, alone), layer_.one_pass());
    }

    /// Attention by itself: one head at a time.
    void fused_attention() {
        std::optional<Group> best;
        std::int64_t chosen = 0;
        for (const std::int64_t p : tile_sizes(layer_.bound("p"), layer_.bound("p"))) {
            if (enough(best.has_value())) {
                break;
            }
            auto made = groups_.best(attention({{"b", 1}, {"p", p}}, 1, true));
            if (made && groups_.fits(*made) && (!best || better(*made, *best))) {
                best = std::move(made);
                chosen = p;
            }
        }
        if (!best && method_ == Method::flat) {
            found_.notes.emplace_back("attention: a row of scores does not fit, nothing is fused");
            singles(layer_.attention());
            return;
        }
        need(best.has_value(), "attention");
        found_.notes.push_back("attention: tiles of " + std::to_string(chosen) + " queries");
        add(std::move(*best), 0);
    }

    // --- The whole layer, fused per tile of queries --------------------------------------------

    /// Keys and values are made first; with DPipe both at once, if that pays.
    void keys_and_values() {
        Ways ways;
        const std::int64_t heads = layer_.bound("h");
        for (const std::int64_t m : sizes("m", layer_.bound("m"))) {
            for (const std::int64_t h : tile_sizes(heads, heads)) {
                add_ways(arranged(keys_and_values_plan(layer_, m, within({"h", h})), transfusion()),
                         ways);
            }
        }
        sort(ways);
        if (!given_.empty()) {
            need(!ways.empty(), "keys and values");
            add(std::move(ways.front()), 0);
            return;
        }
        std::vector<Group> apart = {single("BK"), single("BV")};
        if (!ways.empty() && better(std::span(ways).first(1), apart)) {
            add(std::move(ways.front()), 0);
            return;
        }
        for (Group& one : apart) {
            add(std::move(one), 0);
        }
    }

    /// Ways to run one phase that fit by themselves.
    using Ways = std::vector<Group>;

    void add_way(const GroupPlan& plan, Ways& ways) {
        if (enough(!ways.empty())) {
            return;
        }
        auto made = groups_.best(plan);
        if (made && groups_.fits(*made)) {
            ways.push_back(std::move(*made));
        }
    }

    /// The plan as it is. With DPipe also what leaves no component idle, and what needs fewer
    /// copies: computes as FuseMax binds them, and one Einsum after the other.
    void add_ways(GroupPlan plan, Ways& ways) {
        add_way(plan, ways);
        if (!transfusion() || plan.overlap == Overlap::none) {
            return;
        }
        plan.overlap = Overlap::spread;
        add_way(plan, ways);
        plan.overlap = Overlap::pipelined;
        plan.binding = fixed_;
        add_way(plan, ways);
        plan.binding = nullptr;
        plan.overlap = Overlap::none;
        add_way(plan, ways);
    }
    void sort(Ways& ways) const {
        std::stable_sort(ways.begin(), ways.end(),
                         [&](const Group& a, const Group& b) { return better(a, b); });
    }

    Ways query(const std::vector<LoopPlan>& outer) {
        Ways ways;
        const std::int64_t heads = layer_.bound("h");
        for (const std::int64_t h : tile_sizes(heads, heads)) {
            for (const bool resident : {true, false}) {
                GroupPlan plan = arranged(query_plan(outer, within({"h", h})), false);
                plan.resident = resident;
                add_ways(plan, ways);
            }
        }
        sort(ways);
        return ways;
    }

    Ways attended(const std::vector<LoopPlan>& outer) {
        Ways ways;
        for (const std::int64_t h : tile_sizes(layer_.bound("h"), layer_.bound("h"))) {
            add_ways(attention(outer, h, false), ways);
        }
        sort(ways);
        return ways;
    }

    Ways norm(const std::vector<LoopPlan>& outer) {
        Ways ways;
        add_ways(arranged(norm_plan(layer_, outer), transfusion()), ways);
        sort(ways);
        return ways;
    }

    Ways feed_forward(const std::vector<LoopPlan>& outer) {
        Ways ways;
        for (const std::int64_t s : sizes("s", layer_.bound("s"))) {
            add_ways(arranged(feed_forward_plan(layer_, outer, s), transfusion()), ways);
        }
        sort(ways);
        return ways;
    }

    struct Fused {
        std::vector<Group> groups;
        std::vector<int> shared;
    };

    /// With this way of the query: the best ways of the other phases that fit beside it. Only the
    /// query keeps anything while others run, so a phase that does not fit takes its next way.
    std::optional<Fused> beside(const Group& query, const std::vector<Ways>& others, int around,
                                const std::optional<Fused>& best) {
        Fused all{{query}, std::vector<int>(others.size(), around)};
        for (const Ways& ways : others) {
            all.groups.push_back(ways.front());
        }
        std::vector<std::size_t> chosen(others.size(), 0);
        while (!best || better(all.groups, best->groups)) {
            const int at = groups_.misfit(all.groups, all.shared);
            if (at < 0) {
                return all;
            }
            const auto phase = static_cast<std::size_t>(at - 1);
            if (at == 0 || ++chosen[phase] == others[phase].size()) {
                return std::nullopt;
            }
            all.groups[phase + 1] = others[phase][chosen[phase]];
        }
        return std::nullopt;
    }

    void fused_layer() {
        std::optional<Fused> best;
        std::string chosen;
        for (const std::int64_t b : sizes("b", 8)) {
            for (const std::int64_t p : sizes("p", 4096)) {
                if (enough(best.has_value())) {
                    break;
                }
                const std::vector<LoopPlan> outer = {{"b", b}, {"p", p}};
                const Ways queries = query(outer);
                const std::vector<Ways> others = {attended(outer), norm(outer),
                                                  feed_forward(outer)};
                if (std::any_of(others.begin(), others.end(),
                                [](const Ways& ways) { return ways.empty(); })) {
                    continue;
                }
                const int around = common_loops(layer_, outer, outer.size());
                for (const Group& query : queries) {
                    if (auto made = beside(query, others, around, best)) {
                        best = std::move(made);
                        chosen = "fused layer: tiles of " + std::to_string(b) + " sequences, " +
                                 std::to_string(p) + " queries";
                    }
                }
            }
        }
        need(best.has_value(), "the fused layer");
        found_.notes.push_back(chosen);
        for (std::size_t g = 0; g < best->groups.size(); ++g) {
            add(std::move(best->groups[g]), g == 0 ? 0 : best->shared[g - 1]);
        }
    }

    void need(bool found, const std::string& what) const {
        if (!found && groups_.over()) {  // not every way was tried
            throw LimitReached("a limit ended the search before tiles of " + what + " were found");
        }
        if (!found) {
            throw NoLegalMapping(std::string("method ") + name(method_) + ": no tiles of " + what +
                                 " fit the buffer of " + layer_.problem().architecture->name());
        }
    }

    Method method_;
    Groups& groups_;
    const Layer& layer_;
    const Tiles& given_;
    SharedBinding fixed_;
    Found found_;
};

}  // namespace

double value_of(std::span<const Group> groups, mapper::Metric metric) {
    double energy_j = 0, latency_s = 0;
    for (const Group& group : groups) {
        energy_j += group.energy_j;
        latency_s += group.latency_s;
    }
    return mapper::metric_value(metric, energy_j, latency_s);
}

Found plan_method(Method method, Groups& groups, const Tiles& given) {
    return Planner(method, groups, given).run();
}

}  // namespace tessera::transfusion
