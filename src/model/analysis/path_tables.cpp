#include "path_tables.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::model {

namespace {

int find_action(const arch::PathLevel& level, const char* name) {
    for (std::size_t i = 0; i < level.actions.size(); ++i) {
        if (level.actions[i].name == name) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

double actions_per_value(const arch::PathLevel& level, int action, int tensor) {
    if (action < 0) {
        return 0;
    }
    const std::vector<double>& values = level.actions[action].values_per_action;
    return tensor < static_cast<int>(values.size()) ? 1 / values[tensor] : 1;
}

}  // namespace

PathTables::PathTables(const arch::Path& path, arch::Compat compat)
    : convention(arch::Convention::of(compat)), path_(&path) {
    const workload::EinsumView& einsum = path.einsum;
    n_tensors = static_cast<int>(einsum.tensors.size());
    n_variables = static_cast<int>(einsum.rank_variables.size());
    n_levels = static_cast<int>(path.levels.size());
    n_instances = einsum.n_instances;
    copy = einsum.is_copy_operation;
    for (int v = 0; v < n_variables; ++v) {
        bounds.push_back(static_cast<double>(einsum.rank_variables[v].bound));
        simple |= std::uint64_t{einsum.rank_variables[v].simple} << v;
        only_last |= std::uint64_t{einsum.rank_variables[v].only_last} << v;
    }
    read_tensors();
    read_levels();
}

void PathTables::read_tensors() {
    for (const workload::LocalTensor& tensor : path_->einsum.tensors) {
        TensorFacts facts;
        facts.relevant = tensor.relevant;
        facts.partial = tensor.partially_relevant;
        if (tensor.state == workload::StateAccess::update) {
            facts.updates = std::uint64_t{1} << tensor.state_variable;
        }
        facts.output = tensor.output;
        facts.fusable = tensor.fusable;
        if (!tensor.output) {
            copy_source = static_cast<int>(tensors.size());
        }
        facts.begin = static_cast<int>(ranks.size());
        for (const workload::RankAccess& access : tensor.ranks) {
            TensorFacts::Rank rank;
            rank.begin = static_cast<int>(terms.size());
            for (const workload::AffineTerm& term : access.terms) {
                const double coefficient = static_cast<double>(term.coefficient);
                terms.push_back({term.rank_variable, convention.extent_ignores_offset
                                                         ? std::fabs(coefficient)
                                                         : coefficient});
            }
            rank.end = static_cast<int>(terms.size());
            rank.offset =
                convention.extent_ignores_offset ? 0 : static_cast<double>(access.constant);
            rank.plain = rank.end - rank.begin == 1 && terms[rank.begin].coefficient == 1 &&
                         rank.offset == 0;
            rank.variable = rank.plain ? terms[rank.begin].variable : 0;
            ranks.push_back(rank);
        }
        facts.end = static_cast<int>(ranks.size());
        tensors.push_back(facts);
    }
}

void PathTables::read_levels() {
    for (int l = 0; l < n_levels; ++l) {
        const arch::PathLevel& level = path_->levels[l];
        LevelFacts facts;
        facts.kind = level.kind;
        if (outermost_memory < 0 && level.kind == arch::LevelKind::memory) {
            outermost_memory = l;
        }
        // Data only passes through a toll: it hands on what its child skips.
        facts.skip_initial = level.kind == arch::LevelKind::toll || level.skip_initial_output_write;
        facts.distributed = level.distributed();
        facts.bank_bits = level.bank_bits;
        facts.first_dim = static_cast<int>(dims.size());
        facts.n_dims = static_cast<int>(level.spatial.size());
        facts.read = find_action(level, "read");
        facts.write = find_action(level, "write");
        facts.all_to_all = level.topology == arch::Topology::all_to_all;
        has_networks |= level.kind == arch::LevelKind::network;
        has_distributed |= facts.distributed;
        for (int d = 0; d < facts.n_dims; ++d) {
            const arch::PathDim& dim = level.spatial[d];
            const auto known = std::find(dim_names.begin(), dim_names.end(), dim.name);
            const int name = static_cast<int>(known - dim_names.begin());
            if (known == dim_names.end()) {
                dim_names.push_back(dim.name);
            }
            dims.push_back(
                {l, d, static_cast<double>(dim.fanout), dim.usage_scale, dim.may_reuse, name});
        }
        for (int above = l - 1; above >= 0 && facts.n_dims > 0; --above) {
            if (levels[above].next_spatial < 0) {
                levels[above].next_spatial = l;
            }
        }
        levels.push_back(facts);
        read_holders(level);
    }
    n_dim_names = static_cast<int>(dim_names.size());
}

void PathTables::read_holders(const arch::PathLevel& level) {
    const LevelFacts& facts = levels.back();
    const bool toll = level.kind == arch::LevelKind::toll;
    for (int t = 0; t < n_tensors; ++t) {
        HolderFacts holder;
        if (level.holds_tensors()) {
            holder.bits_per_value = level.bits_per_value[t];
            holder.reads_per_value = actions_per_value(level, facts.read, t);
            holder.writes_per_value = toll ? 0 : actions_per_value(level, facts.write, t);
            if (toll && t < static_cast<int>(level.direction.size())) {
                holder.up = level.direction[t] != arch::Direction::down;
                holder.down = level.direction[t] != arch::Direction::up;
            }
        }
        if (level.kind == arch::LevelKind::network) {
            holder.hops_per_value = level.actions_per_value[t];
        }
        holders_.push_back(holder);
    }
}

int PathTables::network_between(int upper, int lower) const {
    for (int l = upper + 1; l < lower; ++l) {
        if (levels[l].kind == arch::LevelKind::network) {
            return l;
        }
    }
    return -1;
}

const arch::PhysicalDim* PathTables::physical(int level, int dim_name) const {
    for (const arch::PhysicalDim& physical : path_->levels[level].physical) {
        if (physical.name == dim_names[dim_name]) {
            return &physical;
        }
    }
    return nullptr;
}

}  // namespace tessera::model
