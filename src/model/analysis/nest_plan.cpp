// Rules: AccelForge's per-tensor nests and lowered reservations, as docs/model.md states them.
#include "nest_plan.hpp"

#include <algorithm>
#include <string>

#include "tessera/base/error.hpp"

namespace tessera::model {

using mapping::NodeKind;
using mapping::PmappingNode;
using workload::Relevancy;

namespace {

Relevancy relevancy(const TensorFacts& tensor, int variable) {
    if (tensor.relevant >> variable & 1) {
        return Relevancy::relevant;
    }
    return tensor.partial >> variable & 1 ? Relevancy::partially_relevant : Relevancy::irrelevant;
}

}  // namespace

void NestPlan::build(const PathTables& tables, Nodes nodes) {
    first_ignored_ = static_cast<int>(nodes.size());
    if (tables.copy) {
        cut_copy(tables, nodes);
    }
    place_reservations(tables, nodes);
    spatials_.clear();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].kind == NodeKind::spatial) {
            spatials_.push_back(static_cast<std::int16_t>(i));
        }
    }
    steps_.clear();
    begin_.clear();
    for (int t = 0; t < tables.n_tensors; ++t) {
        begin_.push_back(static_cast<int>(steps_.size()));
        order_tensor(tables, nodes, t);
        begin_.push_back(static_cast<int>(steps_.size()));
        if (!spatials_.empty()) {
            check_order(tables, nodes, t);
        }
        begin_.pop_back();
    }
    begin_.push_back(static_cast<int>(steps_.size()));
}

// A copy moves data between backing holders only.
void NestPlan::cut_copy(const PathTables& tables, Nodes nodes) {
    int last_backing = -1;
    copy_source_ = {};
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
        if (!nodes[i].is_holder() || !nodes[i].backing) {
            continue;
        }
        last_backing = i;
        if (nodes[i].tensor == tables.copy_source) {
            copy_source_.level = nodes[i].level;
            copy_source_.live = tables.tensors[tables.copy_source].fusable && !nodes[i].persistent;
        }
    }
    for (const PmappingNode& node : nodes) {
        copy_source_.read |=
            node.is_holder() && node.backing &&
            (node.level != copy_source_.level || copy_source_.apart(node.level, node.persistent));
    }
    first_ignored_ = last_backing + 1;
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
        bool loop_between = false;
        for (int j = i + 1; nodes[i].is_holder() && j < static_cast<int>(nodes.size()); ++j) {
            loop_between |= nodes[j].is_loop();
            if (loop_between && nodes[j].is_holder() && nodes[j].level == nodes[i].level) {
                throw IllegalMapping(
                    "a copy Einsum has a loop between two holders of one memory (nodes " +
                    std::to_string(i) + " and " + std::to_string(j) +
                    " of its branch); put the holders next to each other");
            }
        }
    }
}

// A line buffer keeps what the loop below it reaches in one iteration, from one to the next. Any
// other holder's reservation sinks through relevant temporal loops, through one partially relevant
// loop, and through spatial loops of its own component; anything else stops it. Where a template
// leaves open which partially relevant loop that is, it stands above them (Analysis::hold_open).
// Backing holders and holders of copies stay where they are.
void NestPlan::place_reservations(const PathTables& tables, Nodes nodes) {
    const int n = static_cast<int>(nodes.size());
    reservation_.assign(nodes.size(), -1);
    for (int i = 0; i < n; ++i) {
        if (!nodes[i].is_holder()) {
            continue;
        }
        int stop = i + 1;
        if (nodes[i].line_buffer) {
            while (stop < n && !nodes[stop].is_loop()) {
                ++stop;
            }
            reservation_[i] = static_cast<std::int16_t>(stop + 1);
            continue;
        }
        const bool sinks = !nodes[i].backing && nodes[i].lower && !tables.copy;
        for (bool moving = sinks; moving && stop < n;) {
            const PmappingNode& below = nodes[stop];
            if (below.kind == NodeKind::reservation) {
                ++stop;
            } else if (below.kind == NodeKind::temporal) {
                const Relevancy kind =
                    relevancy(tables.tensors[nodes[i].tensor], below.rank_variable);
                moving = kind == Relevancy::relevant;
                stop += moving || (kind == Relevancy::partially_relevant && !nodes[i].open_order);
            } else {
                moving = below.kind == NodeKind::spatial && below.level == nodes[i].level;
                stop += moving;
            }
        }
        reservation_[i] = static_cast<std::int16_t>(stop);
    }
}

int NestPlan::loops_above(Nodes nodes, int i) const {
    int loops = 0;
    for (int j = 0; j < reservation_[i]; ++j) {
        loops += nodes[j].is_loop();
    }
    return loops - nodes[i].line_buffer;
}

void NestPlan::order_tensor(const PathTables& tables, Nodes nodes, int tensor) {
    const int n = static_cast<int>(nodes.size());
    placed_.assign(spatials_.size(), false);
    int holder = -1;  // the last holder whose reservation is still to come
    int done = 0;     // nodes before this one have been dealt with
    for (int i = 0; i < n; ++i) {
        const bool own = nodes[i].is_holder() && nodes[i].tensor == tensor && !ignored(i);
        if (!own && nodes[i].kind != NodeKind::compute) {
            continue;
        }
        if (holder >= 0) {
            const int reserved = reservation_[holder];
            for (; done < reserved; ++done) {
                if (nodes[done].kind == NodeKind::temporal) {
                    steps_.push_back({NestStep::Kind::temporal,
                                      relevancy(tables.tensors[tensor], nodes[done].rank_variable),
                                      static_cast<std::int16_t>(done)});
                }
            }
            steps_.push_back({NestStep::Kind::reservation, Relevancy::irrelevant,
                              static_cast<std::int16_t>(holder)});
        }
        add_loops_above(tables, nodes, tensor, done, i);
        done = i + 1;
        holder = own ? i : -1;
        steps_.push_back({own ? NestStep::Kind::holder : NestStep::Kind::compute,
                          Relevancy::irrelevant, static_cast<std::int16_t>(i)});
    }
}

// The loops right above the holder or compute at node `end`: the temporal loops from `begin` on and
// the spatial loops that fan out to it or further up, all in the pmapping's order.
void NestPlan::add_loops_above(const PathTables& tables, Nodes nodes, int tensor, int begin,
                               int end) {
    const TensorFacts& facts = tables.tensors[tensor];
    int temporal = begin;
    const auto add = [&](NestStep::Kind kind, int node) {
        steps_.push_back(
            {kind, relevancy(facts, nodes[node].rank_variable), static_cast<std::int16_t>(node)});
    };
    const auto add_temporals = [&](int stop) {
        for (; temporal < stop; ++temporal) {
            if (nodes[temporal].kind == NodeKind::temporal) {
                add(NestStep::Kind::temporal, temporal);
            }
        }
    };
    for (std::size_t s = 0; s < spatials_.size(); ++s) {
        const int node = spatials_[s];
        if (placed_[s] || nodes[node].level > nodes[end].level) {
            continue;
        }
        placed_[s] = true;
        add_temporals(std::min(node, end));
        add(NestStep::Kind::spatial, node);
    }
    add_temporals(end);
}

// Two loops over one variable that indexes the tensor cannot change places: the inner tile would be
// cut before the outer one.
void NestPlan::check_order(const PathTables& tables, Nodes nodes, int tensor) {
    last_.assign(tables.n_variables, -1);
    for (const NestStep& step : this->tensor(tensor)) {
        if (step.relevancy == Relevancy::irrelevant) {
            continue;  // no loop, or one that does not index the tensor
        }
        const int variable = nodes[step.node].rank_variable;
        if (step.node < last_[variable]) {
            const workload::EinsumView& einsum = tables.path().einsum;
            throw IllegalMapping(
                "Einsum '" + einsum.name + "': tensor '" + einsum.tensors[tensor].name +
                "' is held between a spatial and a temporal loop over '" +
                einsum.rank_variables[variable].name +
                "' by a component outside the fan-out, so its tile would not be contiguous; move "
                "the spatial loop below the holder or the temporal loop above it");
        }
        last_[variable] = step.node;
    }
}

}  // namespace tessera::model
