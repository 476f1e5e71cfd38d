// Groups of Einsums that a method runs together: chains of each Einsum on each compute, what the
// group takes, and the LoopTree of several groups.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "effort.hpp"
#include "layer.hpp"
#include "tessera/mapper/mapper.hpp"

namespace tessera::transfusion {

/// A chain with its figures; not legal if it alone exceeds a memory.
struct Costed {
    const Place* place = nullptr;
    mapping::Pmapping nodes;
    model::EinsumReport report;
    bool legal = false;
};

/// How the Einsums of a group get their computes and their times.
enum class Overlap {
    none,       ///< one after the other
    pipelined,  ///< at once, in DPipe's order
    spread,     ///< at once, sharing all components a little at a time
};

/// Compute of each Einsum; many plans have one.
using SharedBinding = std::shared_ptr<const std::map<std::string, std::string>>;

struct GroupPlan {
    std::vector<std::string> einsums;
    std::vector<LoopPlan> shared;
    std::map<std::string, std::vector<LoopPlan>> own;
    std::vector<KeepPlan> kept, held;
    bool resident = false;
    Overlap overlap = Overlap::none;
    /// Of the shared loops, the first so many are around other groups too.
    std::size_t outside = 0;
    /// Compute of each Einsum; absent: DPipe (pipelined) or the metric (one after the other)
    /// chooses.
    SharedBinding binding;
};

/// The part of it that is one Einsum's.
ChainPlan chain_plan(const GroupPlan& plan, const std::string& einsum);

/// A group with chosen computes.
struct Group {
    GroupPlan plan;
    std::vector<std::shared_ptr<const Costed>> chains;
    std::vector<int> stages;
    double latency_s = 0, energy_j = 0;

    double value(mapper::Metric metric) const {
        return mapper::metric_value(metric, energy_j, latency_s);
    }
};

/// Finds the cheapest computes and schedules for plans of one layer. Chains are kept, so that plans
/// that agree on an Einsum ask the model once.
class Groups {
public:
    /// `pipelines`: the model knows them; else everything runs one after the other.
    Groups(const Layer& layer, const model::CostModel& model, mapper::Metric metric,
           schedule::Mode mode, bool pipelines, Effort& effort)
        : layer_(layer),
          model_(model),
          metric_(metric),
          mode_(mode),
          pipelines_(pipelines),
          effort_(effort) {}

    /// Nothing if some chain is illegal on every compute. \throws LimitReached, see Effort::poll()
    std::optional<Group> best(const GroupPlan& plan);
    /// The first of these groups during which a memory is too small for all that is kept, or -1.
    /// `shared`: loops between neighbouring groups.
    int misfit(std::span<const Group> groups, const std::vector<int>& shared) const;
    bool fits(const Group& group) const {
        return misfit({&group, 1}, {}) < 0;
    }

    /// True: whoever has a way of something looks for no better one.
    bool over() const {
        return effort_.over();
    }
    const Layer& layer() const {
        return layer_;
    }
    mapper::Metric metric() const {
        return metric_;
    }

private:
    std::shared_ptr<const Costed> costed(const std::string& einsum, const Place& place,
                                         const ChainPlan& plan);
    Group in_turn(const GroupPlan& plan,
                  const std::vector<std::vector<std::shared_ptr<const Costed>>>& choices) const;
    Group at_once(const GroupPlan& plan,
                  const std::vector<std::vector<std::shared_ptr<const Costed>>>& choices) const;

    const Layer& layer_;
    const model::CostModel& model_;
    mapper::Metric metric_;
    schedule::Mode mode_;
    bool pipelines_;
    Effort& effort_;
    std::unordered_map<std::string, std::shared_ptr<const Costed>> known_;     // by plan
    std::unordered_map<std::string, std::shared_ptr<const Costed>> of_nodes_;  // by nodes
};

/// Loops that two neighbouring chains of a plan share, when the first `common` loops of their plans
/// are the same.
int common_loops(const Layer& layer, const std::vector<LoopPlan>& loops, std::size_t common);

/// The tree of groups in execution order; pipelined ones become !Pipeline. `shared`: loops between
/// neighbouring groups.
mapping::Mapping tree(const std::vector<Group>& groups, const std::vector<int>& shared,
                      bool pipelines);

}  // namespace tessera::transfusion
