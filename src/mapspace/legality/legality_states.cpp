// Running states of iterative ranks (docs/mapspace.md, I1 and I2).
#include "legality_internal.hpp"

namespace tessera::mapspace::legality {

namespace {

/// The loops over the variable that make more than one iteration.
std::vector<int> loops_over(const Leaf& leaf, int variable) {
    std::vector<int> loops;
    for (std::size_t i = 0; i < leaf.nodes.size(); ++i) {
        if (leaf.nodes[i].loop() && leaf.nodes[i].variable == variable && leaf.nodes[i].trips > 1) {
            loops.push_back(static_cast<int>(i));
        }
    }
    return loops;
}

/// Why states of the variable are not made one after the other; empty: they are.
std::string out_of_sequence(const Leaf& leaf, int variable) {
    const std::vector<int> loops = loops_over(leaf, variable);
    const std::string& name = leaf.view().rank_variables[variable].name;
    if (loops.size() != 1) {
        return std::to_string(loops.size()) + " loops run over " + in_quotes(name) + ", allowed 1";
    }
    const Node& loop = leaf.nodes[loops[0]];
    if (loop.kind == Kind::spatial) {
        return "the " + loop_text(leaf, loop) + " makes all states at once";
    }
    return loop.tile == 1 ? ""
                          : "an iteration of the " + loop_text(leaf, loop) + " makes " +
                                std::to_string(loop.tile) + " states, allowed 1";
}

/// Why the outermost holder of the state at `holder` does not keep it from one iteration of `loop`
/// to the next for all Einsums; empty: it does.
std::string not_kept(const Leaf& leaf, int holder, int loop) {
    if (holder > loop) {
        return "its outermost holder stands inside the " + loop_text(leaf, leaf.nodes[loop]) +
               " and is lost at the end of an iteration";
    }
    const int own = leaf.line_buffer_loop(holder);
    if (own < 0) {
        return "its outermost holder is no line buffer";
    }
    if (own != loop) {
        return "the " + loop_text(leaf, leaf.nodes[own]) +
               " stands between its outermost holder and the " + loop_text(leaf, leaf.nodes[loop]) +
               ": the state would be read out of order";
    }
    for (int i = holder + 1; i < loop; ++i) {
        const Node& node = leaf.nodes[i];
        if (node.holder() && !node.first && leaf.tensor(node).state_variable >= 0) {
            return "a further holder of " + in_quotes(leaf.tensor(node).name) +
                   " above the loop keeps the newest state from other Einsums";
        }
    }
    return "";
}

}  // namespace

void Checker::check_states(const Leaf& leaf) {
    const workload::RankVariableMask states = leaf.view().state_variables();
    for (std::size_t t = 0; states != 0 && t < leaf.view().tensors.size(); ++t) {
        const workload::LocalTensor& tensor = leaf.view().tensors[t];
        const int holder = leaf.first_holder(static_cast<int>(t));
        if (tensor.state_variable < 0 || !(states >> tensor.state_variable & 1) || holder < 0) {
            continue;
        }
        std::string why = out_of_sequence(leaf, tensor.state_variable);
        if (why.empty()) {
            why = not_kept(leaf, holder, loops_over(leaf, tensor.state_variable)[0]);
        }
        if (!why.empty()) {
            add("running_state", Severity::physical,
                "Einsum " + in_quotes(leaf.view().name) + " accesses running state " +
                    in_quotes(tensor.name) + " of the iterative variable " +
                    in_quotes(leaf.view().rank_variables[tensor.state_variable].name) + ", but " +
                    why,
                &leaf, &leaf.nodes[holder]);
        }
    }
}

}  // namespace tessera::mapspace::legality
