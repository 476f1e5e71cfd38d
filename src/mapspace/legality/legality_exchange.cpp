// Tensors that pass between Einsums: who writes, who reads, and when.
#include <algorithm>

#include "legality_internal.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace::legality {

namespace {

struct Use {
    const Leaf* leaf = nullptr;
    int position = 0;  ///< in execution order
    int tensor = -1;   ///< local
    const workload::LocalTensor& local() const {
        return leaf->view().tensors[tensor];
    }
};

class Exchange {
public:
    explicit Exchange(Checker& checker)
        : checker_(checker), uses_(checker.workload().tensors.size()) {
        for (std::size_t l = 0; l < checker_.leaves.size(); ++l) {
            const Leaf& leaf = *checker_.leaves[l];
            for (std::size_t t = 0; t < leaf.view().tensors.size(); ++t) {
                const int local = static_cast<int>(t);
                if (leaf.first_holder(local) >= 0) {
                    uses_[leaf.view().tensors[t].tensor].push_back(
                        {&leaf, static_cast<int>(l), local});
                }
            }
        }
    }

    void tensor(int global) {
        const std::vector<Use>& uses = uses_[global];
        for (const Use& use : uses) {
            if (uses.size() > 1) {
                same_place(uses.front(), use);
                private_loops(uses, use);
                same_rank(uses, use);
                line_buffer(uses, use);
            }
            for (const Use& producer : uses) {
                if (producer.local().output && !use.local().output && producer.leaf != use.leaf) {
                    finished(producer, use);
                }
            }
        }
    }

private:
    // All Einsums find the tensor in one memory.
    void same_place(const Use& one, const Use& other) {
        const Node& a = one.leaf->nodes[one.leaf->first_holder(one.tensor)];
        const Node& b = other.leaf->nodes[other.leaf->first_holder(other.tensor)];
        const std::string& memory = one.leaf->level(a).name;
        if (memory != other.leaf->level(b).name) {
            checker_.add("backing_mismatch", Severity::physical,
                         "tensor " + in_quotes(one.local().name) +
                             " passes between Einsums through " + in_quotes(memory) + " in " +
                             in_quotes(one.leaf->view().name) + ", but through " +
                             in_quotes(other.leaf->level(b).name) + " in " +
                             in_quotes(other.leaf->view().name),
                         other.leaf, &b);
        }
    }

    // A loop above the shared holder that only some of its Einsums run inside would replace the
    // tile that the others expect.
    void private_loops(const std::vector<Use>& uses, const Use& use) {
        const int first = use.leaf->first_holder(use.tensor);
        for (int i : use.leaf->loops_around(first)) {
            const Node& loop = use.leaf->nodes[i];
            if (loop.trips == 1 || i > first) {
                continue;
            }
            for (const Use& other : uses) {
                if (other.leaf->node_of(loop.tree) >= 0) {
                    continue;
                }
                checker_.add("backing_mismatch", Severity::physical,
                             "Einsum " + in_quotes(use.leaf->view().name) + " holds tensor " +
                                 in_quotes(use.local().name) + " in " +
                                 in_quotes(use.leaf->level(use.leaf->nodes[first]).name) +
                                 " inside the " + loop_text(*use.leaf, loop) + ", which Einsum " +
                                 in_quotes(other.leaf->view().name) + " does not run inside",
                             use.leaf, &use.leaf->nodes[first]);
                return;
            }
        }
    }

    // J4: a loop around the shared holder walks along the same rank for all, in equal steps. One in
    // space around what no Einsum writes may walk along none. A spatial loop outside its memory is
    // around it wherever it is written.
    void same_rank(const std::vector<Use>& uses, const Use& use) {
        const int first = use.leaf->first_holder(use.tensor);
        const Node& holder = use.leaf->nodes[first];
        const bool written =
            std::ranges::any_of(uses, [](const Use& other) { return other.local().output; });
        const auto is_around = [&](int i, const Node& node) {
            return node.loop() && node.trips > 1 &&
                   (i < first || (node.kind == Kind::spatial && node.level <= holder.level));
        };
        for (int i = 0; i < static_cast<int>(use.leaf->nodes.size()); ++i) {
            const Node& loop = use.leaf->nodes[i];
            const bool around = checker_.options != nullptr && is_around(i, loop);
            for (std::size_t o = 0; around && o < uses.size(); ++o) {
                const int there = uses[o].leaf->node_of(loop.tree);
                const bool fits = there < 0 ? i < first  // private_loops() tells
                                            : walks_alike(use, loop, uses[o], there, written);
                if (!fits) {
                    checker_
                        .add("J4", Severity::constraint,
                             "Einsums " + in_quotes(uses[o].leaf->view().name) + " and " +
                                 in_quotes(use.leaf->view().name) + " share tensor " +
                                 in_quotes(use.local().name) + " inside the " +
                                 loop_text(*use.leaf, loop) +
                                 ", which does not walk along one rank of it in equal steps for "
                                 "both",
                             use.leaf, &loop)
                        .tensor = use.local().name;
                    return;
                }
            }
        }
    }

    static bool walks_alike(const Use& use, const Node& loop, const Use& other, int there,
                            bool written) {
        const Node& theirs = other.leaf->nodes[there];
        const int a = use.local().rank_of_variable[loop.variable];
        const int b = other.local().rank_of_variable[theirs.variable];
        if (a < 0 && b < 0) {
            return loop.kind == Kind::spatial && !written && loop.trips == theirs.trips;
        }
        return a >= 0 && b >= 0 && use.local().ranks[a].rank == other.local().ranks[b].rank &&
               loop.outer == theirs.outer && loop.tile == theirs.tile &&
               loop.prologue == theirs.prologue && loop.base == theirs.base;
    }

    // All Einsums that access what a line buffer keeps run inside its loop.
    void line_buffer(const std::vector<Use>& uses, const Use& use) {
        const int first = use.leaf->first_holder(use.tensor);
        const int slid = use.leaf->line_buffer_loop(first);
        for (const Use& other : uses) {
            if (slid >= 0 && other.leaf->node_of(use.leaf->nodes[slid].tree) < 0) {
                checker_
                    .add("backing_mismatch", Severity::physical,
                         "Einsum " + in_quotes(other.leaf->view().name) + " accesses tensor " +
                             in_quotes(use.local().name) + " outside the " +
                             loop_text(*use.leaf, use.leaf->nodes[slid]) +
                             ", with which its line buffer moves",
                         other.leaf)
                    .tensor = use.local().name;
                return;
            }
        }
    }

    // The producer runs first, and every loop that both run inside walks the tensor on both sides
    // alike: then what the consumer reads in an iteration is what the producer has finished in it.
    void finished(const Use& producer, const Use& consumer) {
        const std::string& tensor = producer.local().name;
        const bool older = consumer.local().state == workload::StateAccess::previous;
        if (older && producer.position < consumer.position) {
            checker_
                .add("running_state", Severity::physical,
                     "Einsum " + in_quotes(consumer.leaf->view().name) +
                         " reads the older state of tensor " + in_quotes(tensor) +
                         " after Einsum " + in_quotes(producer.leaf->view().name) +
                         " has replaced it",
                     consumer.leaf)
                .tensor = tensor;
            return;
        }
        if (!older && producer.position > consumer.position) {
            checker_
                .add("producer_late", Severity::physical,
                     "Einsum " + in_quotes(consumer.leaf->view().name) + " reads tensor " +
                         in_quotes(tensor) + " before Einsum " +
                         in_quotes(producer.leaf->view().name) + " writes it",
                     consumer.leaf)
                .tensor = tensor;
            return;
        }
        for (const Node& p : producer.leaf->nodes) {
            const int at = p.loop() ? consumer.leaf->node_of(p.tree) : -1;
            if (at < 0) {
                continue;
            }
            const Node& c = consumer.leaf->nodes[at];
            if (p.trips == 1 && c.trips == 1) {
                continue;
            }
            const bool slid = windows(producer, p) || windows(consumer, c);
            const std::string why =
                slid ? beyond(producer, p, consumer, c) : unfinished(producer, p, consumer, c);
            if (!why.empty()) {
                checker_
                    .add("unfinished_read", Severity::physical,
                         "Einsum " + in_quotes(consumer.leaf->view().name) + " reads tensor " +
                             in_quotes(tensor) + " inside the " + loop_text(*consumer.leaf, c) +
                             ", which it shares with the producer " +
                             in_quotes(producer.leaf->view().name) + " (there " +
                             loop_text(*producer.leaf, p) + "), but " + why,
                         consumer.leaf, &c)
                    .tensor = tensor;
            }
        }
    }

    /// The tensor's outermost holder moves with this loop.
    static bool windows(const Use& use, const Node& loop) {
        const int holder = use.leaf->first_holder(use.tensor);
        const int slid = use.leaf->line_buffer_loop(holder);
        return slid >= 0 && &use.leaf->nodes[slid] == &loop;
    }

    /// Why an iteration may read values that no iteration so far has made, or that are no longer
    /// kept: both must advance alike, and the producer have come as far as the consumer reads.
    static std::string beyond(const Use& producer, const Node& p, const Use& consumer,
                              const Node& c) {
        if (!windows(producer, p) || !windows(consumer, c)) {
            return "only one of the two moves along it";
        }
        const int rank = producer.local().rank_of_variable[p.variable];
        if (rank < 0) {
            return "the producer does not walk along a rank of the tensor";
        }
        const std::string& name = producer.local().ranks[rank].rank;
        const workload::RankAccess* read = nullptr;
        int found = 0;
        for (const workload::RankAccess& access : consumer.local().ranks) {
            for (const workload::AffineTerm& term : access.terms) {
                found += term.rank_variable == c.variable;
            }
            read = access.rank == name ? &access : read;
        }
        if (read == nullptr || found != 1 || read->constant != 0) {
            return "the consumer does not walk along rank " + in_quotes(name) + " alone";
        }
        std::int64_t factor = 0, reach = 1;
        for (const workload::AffineTerm& term : read->terms) {
            const bool own = term.rank_variable == c.variable;
            factor += own ? term.coefficient : 0;
            reach += term.coefficient *
                     (own ? c.tile + c.prologue - 1
                          : consumer.leaf->view().rank_variables[term.rank_variable].bound - 1);
            if (term.coefficient < 1) {
                return "the consumer walks against the loop";
            }
        }
        if (factor == 0 || p.trips != c.trips || p.tile != factor * c.tile) {
            return "the producer advances by " + std::to_string(p.tile) +
                   " values in an iteration and the consumer by " + std::to_string(factor * c.tile);
        }
        if (reach > p.tile + p.prologue) {
            return "an iteration reads up to " + std::to_string(reach) +
                   " values from where it begins, and the producer has made " +
                   std::to_string(p.tile + p.prologue);
        }
        return "";
    }

    static std::string unfinished(const Use& producer, const Node& p, const Use& consumer,
                                  const Node& c) {
        const auto irrelevant = workload::Relevancy::irrelevant;
        if (producer.local().relevancy[p.variable] == irrelevant) {
            return "the producer still reduces over " + in_quotes(producer.leaf->variable(p)) +
                   " there";
        }
        if (consumer.local().relevancy[c.variable] == irrelevant) {
            return "the consumer needs all of it in every iteration: " +
                   in_quotes(consumer.leaf->variable(c)) + " does not index it";
        }
        const int rank_p = producer.local().rank_of_variable[p.variable];
        const int rank_c = consumer.local().rank_of_variable[c.variable];
        if (rank_p < 0 || rank_c < 0) {
            return "the tiles of the two overlap or leave gaps (the variable is part of a sum)";
        }
        const std::string& a = producer.local().ranks[rank_p].rank;
        const std::string& b = consumer.local().ranks[rank_c].rank;
        if (a != b) {
            return "it walks rank " + in_quotes(a) + " in the producer and rank " + in_quotes(b) +
                   " in the consumer";
        }
        if (p.outer != c.outer || p.tile != c.tile || p.prologue != c.prologue ||
            p.base != c.base) {
            return "the tiles of the two differ";
        }
        return "";
    }

    Checker& checker_;
    std::vector<std::vector<Use>> uses_;  ///< by tensor
};

}  // namespace

void Checker::check_exchange() {
    Exchange exchange(*this);
    for (std::size_t t = 0; t < workload().tensors.size(); ++t) {
        exchange.tensor(static_cast<int>(t));
    }
}

}  // namespace tessera::mapspace::legality
