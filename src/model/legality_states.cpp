// Running states of iterative ranks: read and made in sequence, one at a time.

#include "model/legality.hpp"
#include "tessera/base/error.hpp"

namespace tessera::model {

namespace {

using mapping::NodeKind;

/// The only loop over the variable, or why there is none.
int loop_over(const EinsumAnalysis& einsum, int variable, std::string& why) {
    int loop = -1, count = 0;
    for (int i = 0; i < static_cast<int>(einsum.nodes.size()); ++i) {
        if (einsum.nodes[i].is_loop() && einsum.nodes[i].rank_variable == variable &&
            einsum.trips(i) > 1) {
            loop = i;
            ++count;
        }
    }
    if (count != 1) {
        why = "the loop over it is split in " + std::to_string(count);
    } else if (einsum.nodes[loop].kind == NodeKind::spatial) {
        why = "the loop over it is spatial, so all states would be made at once";
    } else if (einsum.nodes[loop].tile != 1) {
        why = "an iteration of the loop over it makes " + std::to_string(einsum.nodes[loop].tile) +
              " states";
    }
    return loop;
}

/// What stands between the outermost holder of a state and its loop, or "".
std::string between(const EinsumAnalysis& einsum, int tensor, int loop) {
    const workload::EinsumView& view = einsum.einsum();
    int holder = 0;
    while (einsum.nodes[holder].tensor != tensor) {
        ++holder;
    }
    if (holder > loop) {
        return "its outermost holder stands inside the loop, which would lose the state at the end "
               "of an iteration";
    }
    if (!einsum.nodes[holder].line_buffer) {
        return "its outermost holder is no line buffer (line_buffer: True)";
    }
    for (int i = holder + 1; i < loop; ++i) {
        const mapping::PmappingNode& node = einsum.nodes[i];
        if (node.is_loop() && einsum.trips(i) > 1) {
            return "the loop over '" + view.rank_variables[node.rank_variable].name +
                   "' stands between its outermost holder and the loop, so states would be read "
                   "out of order";
        }
        if (!node.is_loop() && !node.backing && view.tensors[node.tensor].state_variable >= 0) {
            return "another holder of '" + view.tensors[node.tensor].name +
                   "' stands above the loop, where other Einsums do not see the newest state";
        }
    }
    return "";
}

}  // namespace

void check_states(const EinsumAnalysis& einsum) {
    const workload::EinsumView& view = einsum.einsum();
    const workload::RankVariableMask states = view.state_variables();
    for (int t = 0; states != 0 && t < static_cast<int>(view.tensors.size()); ++t) {
        const int v = view.tensors[t].state_variable;
        if (v < 0 || !(states >> v & 1)) {
            continue;
        }
        std::string why;
        const int loop = loop_over(einsum, v, why);
        why = why.empty() ? between(einsum, t, loop) : why;
        if (!why.empty()) {
            throw IllegalMapping("Einsum '" + view.name + "' accesses running state '" +
                                 view.tensors[t].name + "' of the iterative variable '" +
                                 view.rank_variables[v].name + "', but " + why +
                                 "; keep the state in a line buffer right above one temporal loop "
                                 "of tile shape 1 over '" +
                                 view.rank_variables[v].name + "'");
        }
    }
}

}  // namespace tessera::model
