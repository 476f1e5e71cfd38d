// Mapper `fusecu`: tile shapes of matrix products in closed form, after FuseCU.
//
// Idea     words moved between one buffer and the memory above it are a formula of the tile shapes
//          (Eq. 1 to 4): the least is found without search, product by product, and for fused pairs
//          of products; which pairs are fused is a matching. What is minimised is traffic, whatever
//          metric is asked for.
// Stops    in O(sqrt of the ranks).
// Parallel no.
#include <algorithm>
#include <cmath>
#include <memory>

#include "plan.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/solutions.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/mapper.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapper {

namespace {

using namespace fusecu_mapper;
using mapping::NodeKind;
using mapping::PmappingNode;

/// Where the tensors are: the outermost memory and the buffer, as levels of the path.
struct Place {
    arch::Path path;
    int outer = -1, buffer = -1;
    std::int64_t buffer_words = 0;
};

Place place_of(const model::Problem& problem, int einsum) {
    const arch::Architecture& hardware = *problem.architecture;
    Place place;
    for (const std::string& compute : hardware.compute_names()) {
        place.path = hardware.path(*problem.workload, einsum, compute, problem.compat);
        if (place.path.levels.back().enabled) {
            break;
        }
    }
    std::string names;
    int n = 0;
    for (std::size_t l = 0; l < place.path.levels.size(); ++l) {
        const arch::PathLevel& level = place.path.levels[l];
        if (!level.holds_tensors() || !level.enabled) {
            continue;
        }
        names += (names.empty() ? "" : ", ") + level.name;
        ++n;
        (place.outer < 0 ? place.outer : place.buffer) = static_cast<int>(l);
    }
    if (n != 2 || place.path.levels[place.outer].kind != arch::LevelKind::memory ||
        place.path.levels[place.buffer].kind != arch::LevelKind::memory) {
        throw UserError("mapper fusecu maps onto one buffer below one memory, and '" +
                        hardware.name() + "' has " + names +
                        "; choose such an architecture (one-buffer), or another mapper (ffm)");
    }
    const arch::PathLevel& buffer = place.path.levels[place.buffer];
    if (buffer.bank_bits > 0) {
        throw UserError("mapper fusecu fills a buffer that all tensors share, and '" + buffer.name +
                        "' of '" + hardware.name() +
                        "' has banks; leave banks out, or choose another mapper (ffm)");
    }
    const double bits =
        *std::max_element(buffer.bits_per_value.begin(), buffer.bits_per_value.end());
    const double words = std::floor(buffer.size_bits / bits);
    constexpr double most = 1e15;
    place.buffer_words = static_cast<std::int64_t>(std::min(words, most));
    return place;
}

/// Writes the pmapping of one Einsum.
class Writer {
public:
    Writer(const Place& place, const Product& product)
        : place_(place), open_(product.einsum.bounds()) {}

    void hold(int level, int tensor, bool backing) {
        PmappingNode node;
        node.kind = NodeKind::storage;
        node.level = static_cast<std::int8_t>(level);
        node.tensor = static_cast<std::int8_t>(tensor);
        node.backing = backing;
        nodes_.push_back(node);
    }
    void keep(int tensor, bool backing = false) {
        if (tensor >= 0) {
            hold(place_.buffer, tensor, backing);
        }
    }
    /// \returns how many loops there are now: those that run once are none
    int loop(const Group& group, const std::vector<std::int64_t>& shape) {
        for (std::size_t v = 0; v < group.variables.size(); ++v) {
            const int variable = group.variables[v];
            if (shape[v] == open_[variable]) {
                continue;
            }
            PmappingNode node;
            node.kind = NodeKind::temporal;
            node.rank_variable = static_cast<std::int8_t>(variable);
            node.tile = shape[v];
            node.imperfect = open_[variable] % shape[v] != 0;
            open_[variable] = shape[v];
            nodes_.push_back(node);
            ++loops_;
        }
        return loops_;
    }
    int step(const Group& group) {
        return loop(group, std::vector<std::int64_t>(group.variables.size(), 1));
    }
    mapping::Branch finish() {
        for (std::size_t v = 0; v < open_.size(); ++v) {
            step({{static_cast<int>(v)}, {open_[v]}});
        }
        PmappingNode compute;
        compute.level = static_cast<std::int8_t>(place_.path.levels.size() - 1);
        nodes_.push_back(compute);
        return {&place_.path, std::move(nodes_)};
    }

private:
    const Place& place_;
    std::vector<std::int64_t> open_;  ///< per variable: the tile inside the loops so far
    mapping::Pmapping nodes_;
    int loops_ = 0;
};

mapping::Branch single_branch(const Place& place, const Product& product, const Tiling& tiling) {
    Writer writer(place, product);
    for (const int tensor : {product.a, product.b, product.c}) {
        if (tensor >= 0) {
            writer.hold(place.outer, tensor, true);
        }
    }
    writer.step(product.batch);
    const std::size_t c = tiling.innermost;
    for (std::size_t r = 0; r < 3; ++r) {
        if (r != c) {
            writer.loop(product.ranks[r], tiling.tile[r].shape);
        }
    }
    writer.keep(product.tensor(c));
    writer.step(product.ranks[c]);
    for (const std::size_t r : {(c + 1) % 3, (c + 2) % 3}) {
        writer.keep(product.tensor(r));
    }
    return writer.finish();
}

/// The common loops of a pair. \returns their number
int common_loops(Writer& writer, const FusedTiling& t, const Group& batch, const Group& m,
                 const Group& l, int early) {
    writer.step(batch);
    const Group& outer = t.m_outer ? m : l;
    writer.loop(outer, t.m_outer ? t.m.shape : t.l.shape);
    writer.keep(early);
    return writer.loop(t.m_outer ? l : m, t.m_outer ? t.l.shape : t.m.shape);
}

std::array<mapping::Branch, 2> pair_branches(const std::array<const Place*, 2>& places,
                                             const Product& first, const Product& second,
                                             const Pair& p, const FusedTiling& t, int& shared) {
    Writer one(*places[0], first), two(*places[1], second);
    one.hold(places[0]->outer, p.a, true);
    one.hold(places[0]->outer, p.b, true);
    const int stays_k = t.retains_k ? (t.m_outer ? p.a : p.b) : -1;
    const int stays_n = t.retains_n ? (t.m_outer ? p.e : p.d) : -1;
    shared = common_loops(one, t, p.batch, p.m, p.l, stays_k);
    one.keep(p.c, true);
    one.step(p.k);
    one.keep(stays_k == p.a ? -1 : p.a);
    one.keep(stays_k == p.b ? -1 : p.b);
    two.hold(places[1]->outer, p.d, true);
    two.hold(places[1]->outer, p.e, true);
    common_loops(two, t, p.batch_second, p.m_second, p.l_second, stays_n);
    two.keep(p.c_second, true);
    two.step(p.n);
    two.keep(stays_n == p.d ? -1 : p.d);
    two.keep(stays_n == p.e ? -1 : p.e);
    return {one.finish(), two.finish()};
}

mapping::Mapping write(const std::vector<Place>& places, const std::vector<Product>& products,
                       const Plan& plan) {
    std::vector<mapping::Branch> branches;
    std::vector<int> shared;
    for (const Step& step : plan.steps) {
        if (!branches.empty()) {
            shared.push_back(0);
        }
        if (step.single) {
            branches.push_back(
                single_branch(places[step.first], products[step.first], *step.single));
            continue;
        }
        const Pair& pair = *step.pair;
        int common = 0;
        auto both = pair_branches({&places[pair.first], &places[pair.second]}, products[pair.first],
                                  products[pair.second], pair, *step.fused, common);
        branches.push_back(std::move(both[0]));
        branches.push_back(std::move(both[1]));
        shared.push_back(common);
    }
    return mapping::assemble(branches, shared);
}

std::string illegal(const model::Problem& problem, const mapping::Mapping& mapping,
                    const mapspace::MapSpaceOptions& space) {
    for (const mapspace::Violation& v : mapspace::check(problem, mapping, &space)) {
        if (v.severity != mapspace::Severity::warning) {
            return mapspace::to_text(v);
        }
    }
    return "";
}

}  // namespace

class FuseCu : public Mapper {
public:
    static std::vector<plugin::Knob> knobs() {
        return {
            plugin::Knob::choice("rule", "exact", {"principles", "polish", "exact"},
                                 "tile shapes: principles 1 to 3 in closed form (FuseCU III-A), "
                                 "the best near them, or the minimum"),
            plugin::Knob::choice("fuse", "exact", {"p4", "exact", "none"},
                                 "which pairs of products may be fused: those of equal NRA class "
                                 "(principle 4), all, or none"),
            plugin::Knob::choice("capacity", "shared", {"shared", "coresident"},
                                 "what the buffer of a fused pair holds: the tiles of one product "
                                 "at a time, or of both (a pipeline)"),
        };
    }

    explicit FuseCu(const plugin::KnobValues& knobs) {
        const std::string rule = knobs.text("rule"), fuse = knobs.text("fuse");
        settings_.rule = rule == "principles" ? Rule::principles
                         : rule == "polish"   ? Rule::polish
                                              : Rule::exact;
        settings_.fuse = fuse == "p4"     ? fusecu::FuseRule::principle_4
                         : fuse == "none" ? fusecu::FuseRule::never
                                          : fusecu::FuseRule::exact;
        settings_.capacity = knobs.text("capacity") == "shared" ? fusecu::Capacity::shared
                                                                : fusecu::Capacity::coresident;
    }

    std::string name() const override {
        return "fusecu";
    }

    mapspace::MapSpaceOptions preferred(mapspace::MapSpaceOptions given) const override {
        given.imperfect_temporal = true;
        return given;
    }

    Result map(const model::Problem& problem, const model::CostModel& model,
               const Options& options) override {
        std::vector<Place> places;
        std::vector<Product> products;
        std::int64_t buffer_words = std::numeric_limits<std::int64_t>::max();
        for (std::size_t e = 0; e < problem.workload->einsums.size(); ++e) {
            places.push_back(place_of(problem, static_cast<int>(e)));
            products.push_back(read_product(*problem.workload, static_cast<int>(e)));
            buffer_words = std::min(buffer_words, places.back().buffer_words);
        }
        Settings settings = settings_;
        settings.partial = options.mapspace.imperfect_temporal;
        settings.fuse = options.mapspace.unfused ? fusecu::FuseRule::never : settings.fuse;
        Plan plan = best_plan(*problem.workload, products, buffer_words, settings);
        mapping::Mapping mapping = write(places, products, plan);
        std::string why = illegal(problem, mapping, options.mapspace);
        if (!why.empty() && settings.fuse != fusecu::FuseRule::never) {
            // Constraints of the architecture may forbid what is fused.
            settings.fuse = fusecu::FuseRule::never;
            plan = best_plan(*problem.workload, products, buffer_words, settings);
            mapping = write(places, products, plan);
            why = illegal(problem, mapping, options.mapspace);
        }
        if (!why.empty()) {
            throw UserError("mapper fusecu finds no mapping that is legal here: " + why);
        }
        return result_of(problem, model, options, plan, std::move(mapping));
    }

private:
    static Result result_of(const model::Problem& problem, const model::CostModel& model,
                            const Options& options, const Plan& plan, mapping::Mapping mapping) {
        Result result;
        result.status = Status::feasible;
        result.statistics.evaluated = 1;
        if (options.recorder != nullptr) {
            options.recorder->worker(0, "fusecu").evaluated();
        }
        Solution found{std::move(mapping), {}};
        found.report = model.evaluate(problem, found.mapping);
        result.reasons = plan.reasons;
        if (options.recorder != nullptr) {
            telemetry::Incumbent incumbent;
            incumbent.value = metric_value(options.metrics.front(), found.report);
            incumbent.energy_j = found.report.energy_j();
            incumbent.latency_s = found.report.latency_s();
            incumbent.found_by = "fusecu";
            const auto tree = std::make_shared<mapping::Mapping>(found.mapping);
            incumbent.mapping = [tree] { return mapping::to_yaml(*tree); };
            options.recorder->incumbent(std::move(incumbent));
        }
        result.solutions.push_back(std::move(found));
        keep_starts(result, options);
        return result;
    }

    Settings settings_;
};

TESSERA_PLUGIN(Mapper, FuseCu, "fusecu", "matrix products on one buffer, in closed form", "FuseCU");

}  // namespace tessera::mapper
