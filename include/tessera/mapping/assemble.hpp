// Builds one LoopTree from one pmapping per Einsum: the inverse of split().
#pragma once

#include <string>
#include <vector>

#include "tessera/mapping/pmapping.hpp"

namespace tessera::mapping {

/// One Einsum with known tile shapes (no symbols); reservations are ignored.
struct Branch {
    const arch::Path* path = nullptr;
    Pmapping nodes;
};

/// The pmapping without loops that run once (tile shape equal to the enclosing one) and
/// reservations.
Pmapping without_null_loops(const arch::Path& path, const Pmapping& nodes);

/// `branches`: in execution order. `shared_loops[i]`: how many leading loops, null ones not
/// counted, Einsums i and i+1 run together; the k-th loop of all Einsums that share it has the same
/// kind and the same dimension, while variable and tile shape may differ from Einsum to Einsum.
///
/// Every Einsum keeps exactly its own holders, in its own order: split() of the result gives the
/// pmappings back, null loops dropped. \throws Bug if the loops do not fit together or an
/// intermediate's common backing holder would end up in two branches.
Mapping assemble(const std::vector<Branch>& branches, const std::vector<int>& shared_loops);

/// Makes the branches of these Einsums, which stand next to each other below one !Sequential and
/// run one Einsum each, a !Pipeline. \throws Bug if they do not.
void run_at_once(Mapping& mapping, const std::vector<std::string>& einsums);

/// The mapping as AccelForge reads it. Its files cannot say that a loop drives different variables
/// of several Einsums or that a holder serves only some of them; but it evaluates Einsum by Einsum
/// and finds out by itself what is fused. So where the tree needs such nodes, each Einsum is
/// written as a branch of its own from the root. `PmappingNode::lower` cannot be expressed and is
/// left out. \throws what split() throws.
std::string to_accelforge_yaml(const Mapping& mapping, const workload::Workload& workload,
                               const arch::Architecture& architecture);

}  // namespace tessera::mapping
