// Pipelines of a mapping: what its !Pipeline nodes run at once, how long a round takes, and whether
// what they keep fits.
#pragma once

#include <string>
#include <vector>

#include "tessera/mapping/pmapping.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/schedule/dpipe.hpp"

namespace tessera::transfusion {

/// One Einsum of a mapping with its figures. Pointers outlive the call.
struct Part {
    const workload::EinsumView* einsum = nullptr;
    const arch::Path* path = nullptr;
    const mapping::Pmapping* nodes = nullptr;
    const model::EinsumReport* report = nullptr;
};

/// A range [begin, end) of parts that run at once, each in every round.
struct Range {
    int begin = 0, end = 0;
};

/// A mapping with every !Pipeline run one branch after the other, and the leaves of each.
class Unpipelined {
public:
    explicit Unpipelined(const mapping::Mapping& mapping);

    const mapping::Mapping& mapping() const {
        return mapping_;
    }
    const std::vector<Range>& ranges() const {
        return ranges_;
    }

private:
    void walk(mapping::TreeNode& node);

    mapping::Mapping mapping_;
    std::vector<Range> ranges_;
    int leaves_ = 0;
};

/// What a pipeline takes beside its schedule.
struct PipelineCost {
    model::Pipeline pipeline;
    schedule::Schedule schedule;
    /// The memory whose transfers alone take longest, and how long.
    std::string busiest_memory;
    double memory_s = 0;
};

/// Tasks of a range: an Einsum on its own compute, or on any of `units` whose latency is given.
/// `latency_s`: per part of the range and unit; infinite where it cannot run.
schedule::Dag dag_of(const workload::Workload& workload, const std::vector<Part>& parts,
                     const Range& range, const std::vector<std::string>& units,
                     const std::vector<std::vector<double>>& latency_s);

/// The shortest round for the computes that the parts are on. A round can be no shorter than the
/// transfers of any one memory. `rounds`: iterations of the loops around; a pipeline of s stages
/// takes rounds + s - 1 of them. \throws UserError if the parts have different instance counts.
PipelineCost pipeline_cost(const workload::Workload& workload, const std::vector<Part>& parts,
                           const Range& range, double rounds, schedule::Mode mode);

/// Loops of more than one iteration that part i and part i + 1 have in common; from nodes' origins.
std::vector<int> shared_loops(const std::vector<Part>& parts);

/// Iterations of the first `loops` loops of the part.
double rounds_of(const Part& part, int loops);

/// The fullest memory while the range runs, as a share of its size: everything that the Einsums of
/// the range hold at once, a tensor that goes from stage i to stage j in j - i + 1 copies, and what
/// others keep meanwhile. `stages`: per part of the range.
struct Fullest {
    std::string memory;
    double share = 0;
};
Fullest fullest(const std::vector<Part>& parts, const std::vector<int>& shared, const Range& range,
                const std::vector<int>& stages);

}  // namespace tessera::transfusion
