// Pipelines of a mapping: what its !Pipeline nodes run at once, how long that takes, and whether
// what they hold fits. The rules and their proofs are in docs/pipelines.md.
//   Unpipelined       the tree in turn, and which Einsums each !Pipeline runs at once
//   Rounds            how often the loops around turn, and how long each component works meanwhile
//   stages_of()       how many rounds each branch lags behind
//   run_pipeline()    all rounds, those that fill and drain it included
//   shares_held()     how full the memories are meanwhile
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/mapping/pmapping.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::model {

/// One Einsum of a mapping with its figures. Pointers outlive the call.
struct Part {
    const workload::EinsumView* einsum = nullptr;
    const arch::Path* path = nullptr;
    const mapping::Pmapping* nodes = nullptr;
    const EinsumReport* report = nullptr;
};

/// The Einsums of a mapping and of its report, in the same order. Both outlive the parts.
std::vector<Part> parts_of(const std::vector<mapping::EinsumMapping>& chains, const Report& report);

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

/// Loops of more than one iteration that part i and part i + 1 have in common; from nodes' origins.
std::vector<int> shared_loops(const std::vector<Part>& parts);

/// Loops of more than one iteration, by their places from the outermost on.
struct LoopsAround {
    int outside = 0;  ///< shared with Einsums beside the pipeline, which drains in each iteration
    int all = 0;      ///< around all its branches
};
LoopsAround loops_around(const std::vector<int>& shared, const Range& range);

/// Iterations of the temporal ones among loops [from, to) of the part. Instances of a spatial loop
/// have their rounds at the same time.
double iterations(const Part& part, int from, int to);

/// What the branches of a pipeline do in all rounds together.
struct Rounds {
    double count = 1;  ///< from filling to draining
    /// Per branch, seconds for which it keeps each component busy, n_instances included.
    std::vector<std::map<std::string, double>> busy_s;
};

/// \throws UserError if the parts have different instance counts
Rounds rounds_of(const std::vector<Part>& parts, const std::vector<int>& shared,
                 const Range& range);

/// The loop over the iterative variable of a running state turns from filling to draining: the
/// branches are at different states. `tensor`: of the workload.
bool states_in_flight(const Part& part, int tensor, const LoopsAround& loops);

/// Which branches follow which, by branch.
struct Stages {
    /// Rounds by which it lags behind.
    std::vector<int> stage;
    /// Branches that make a running state from its older state together, each waiting for another:
    /// the first of them. Others: themselves.
    std::vector<int> circle;
};

/// As early as the data flow allows. Who reads what another branch writes is a stage later or more.
/// Who reads the older state that another branch replaces is no earlier; if no newer one is in
/// flight, a stage earlier or more. A circle has one stage.
Stages stages_of(const workload::Workload& workload, const std::vector<Part>& parts,
                 const Range& range, const LoopsAround& loops);

/// A circle as one branch, its first, which goes through its Einsums one after the other, each at a
/// steady pace; the others do nothing besides.
Rounds with_circles(Rounds rounds, const std::vector<int>& circle);

/// Seconds of all rounds: each takes as long as its fullest component works for the branches that
/// take part. Branch b takes part in rounds stage .. stage + count - 1.
double latency_of(const Rounds& rounds, const std::vector<int>& stages);

/// The seconds for which the fullest component works for all branches together: what all rounds
/// would take if every branch took part in all of them.
double fullest_s(const Rounds& rounds);

/// Of each memory, the share of its size that is in use while the range runs: all that its Einsums
/// hold, a tensor that goes from stage to stage as often as tiles of it are in flight, and what
/// others keep meanwhile. `stages`: per part of the range.
std::map<std::string, double> shares_held(const workload::Workload& workload,
                                          const std::vector<Part>& parts,
                                          const std::vector<int>& shared, const Range& range,
                                          const std::vector<int>& stages);

bool fits(const std::map<std::string, double>& shares);

/// \throws IllegalMapping naming the memory that is too small for these shares
void check_held(const std::map<std::string, double>& shares, const std::vector<Part>& parts,
                const Range& range);

/// A pipeline and how full the memories are while it runs.
struct PipelineRun {
    Pipeline pipeline;
    std::map<std::string, double> shares;
};

/// \throws what rounds_of() and check_held() throw
PipelineRun run_pipeline(const workload::Workload& workload, const std::vector<Part>& parts,
                         const std::vector<int>& shared, const Range& range);

}  // namespace tessera::model
