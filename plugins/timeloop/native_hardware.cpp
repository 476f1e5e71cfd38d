#include <cmath>
#include <string>

#include "model/latency.hpp"
#include "native.hpp"
#include "tessera/base/error.hpp"

namespace tessera::model {

namespace {

using arch::LevelKind;
using arch::Path;
using arch::PathAction;
using arch::PathLevel;

[[noreturn]] void refuse(const PathLevel& level, const std::string& why) {
    throw UserError(
        level.where,
        level.name + " " + why + ", which the cost model timeloop cannot express; use looptree");
}

timeloop::Problem problem_of(const workload::EinsumView& einsum) {
    if (einsum.is_copy_operation) {
        throw UserError("Einsum " + einsum.name +
                        " copies and computes nothing; the cost model timeloop has no such "
                        "operation; use looptree");
    }
    timeloop::Problem problem;
    problem.name = einsum.name;
    for (const workload::LocalRankVariable& variable : einsum.rank_variables) {
        problem.dimensions.push_back({variable.name, variable.bound});
    }
    for (const workload::LocalTensor& tensor : einsum.tensors) {
        timeloop::DataSpace space;
        space.name = tensor.name;
        space.read_write = tensor.output;
        for (const workload::RankAccess& rank : tensor.ranks) {
            space.ranks.emplace_back();
            for (const workload::AffineTerm& term : rank.terms) {
                space.ranks.back().push_back({term.rank_variable, term.coefficient, -1});
            }
        }
        problem.data_spaces.push_back(std::move(space));
    }
    return problem;
}

const PathAction& action(const PathLevel& level, const std::string& name) {
    for (const PathAction& candidate : level.actions) {
        if (candidate.name == name) {
            return candidate;
        }
    }
    refuse(level, "has no action " + name);
}

/// The one value of a list, NaN if the tensors differ.
double common(const std::vector<double>& values) {
    for (double value : values) {
        if (value != values.front()) {
            return std::nan("");
        }
    }
    return values.empty() ? 1 : values.front();
}

/// Seconds of `reads` and `writes` actions (a compute's: of `reads` computes).
double latency_s(const PathLevel& level, double reads, double writes) {
    std::vector<double> calls(level.actions.size()), stack;
    for (std::size_t a = 0; a < calls.size(); ++a) {
        calls[a] = (level.actions[a].name == "write" ? writes : reads) * level.actions_scale;
    }
    return evaluate_latency<double>(level.latency, calls, 0, 0, stack);
}

bool close(double a, double b) {
    return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

/// Bandwidths in words per cycle, from what reads and writes take alone and together.
void set_bandwidths(const PathLevel& level, double cycle_s, double actions_per_vector,
                    timeloop::StorageLevel& storage) {
    const double read = latency_s(level, 1, 0), write = latency_s(level, 0, 1);
    const double both = latency_s(level, 1, 1);
    if (!close(latency_s(level, 2, 2), 2 * both) || latency_s(level, 0, 0) != 0) {
        refuse(level, "has a total_latency that is not proportional to its actions");
    }
    const auto words = [&](double seconds) {
        return static_cast<double>(storage.block_size) * cycle_s / (seconds * actions_per_vector);
    };
    if (both == 0) {
        return;
    }
    if (close(both, std::max(read, write))) {
        if (read > 0) {
            storage.read_bandwidth = words(read);
        }
        if (write > 0) {
            storage.write_bandwidth = words(write);
        }
    } else if (close(both, read + write) && close(read, write)) {
        storage.shared_bandwidth = words(read);
    } else {
        refuse(level, "has reads and writes that share their time at different rates");
    }
}

/// Appends one memory: a vector is what one action moves, or one value that takes several.
void add_storage(const PathLevel& level, NativeCase& native) {
    if (level.distributed()) {
        refuse(level, "is a memory distributed over an array");
    }
    if (level.bank_bits > 0) {
        refuse(level, "has banks that hold one tensor each");
    }
    timeloop::StorageLevel storage;
    storage.name = level.name;
    const PathAction &read = action(level, "read"), &write = action(level, "write");
    const double bits = common(level.bits_per_value);
    if (std::isnan(bits) && std::isfinite(level.size_bits)) {
        refuse(level, "has a size and holds tensors of different widths");
    }
    storage.word_bits = std::isnan(bits) ? 16 : std::llround(bits);
    if (std::isfinite(level.size_bits)) {
        storage.size = static_cast<std::int64_t>(level.size_bits / bits);
    }
    const double block = common(read.values_per_action);
    if (!(block == common(write.values_per_action)) || !(block > 0) ||
        (block > 1 && block != std::floor(block))) {
        refuse(level, "moves no whole number of values per action, the same for all tensors");
    }
    storage.block_size = std::max<std::int64_t>(1, static_cast<std::int64_t>(block));
    const double actions = block < 1 ? 1 / block : 1;
    native.actions_per_vector.push_back(actions);
    timeloop::StorageEnergy& energy = storage.energy;
    energy.source = "user";
    energy.read_pj = read.energy_j * level.actions_scale * actions * 1e12;
    energy.fill_pj = energy.update_pj = write.energy_j * level.actions_scale * actions * 1e12;
    energy.vector_access_pj = std::max(energy.read_pj, energy.fill_pj);
    storage.reduction_supported = true;
    set_bandwidths(level, native.cycle_s, actions, storage);
    native.architecture.storage.push_back(std::move(storage));
}

void set_compute(const Path& path, NativeCase& native) {
    const PathLevel& level = path.compute();
    timeloop::ArithmeticLevel& unit = native.architecture.arithmetic;
    unit.name = level.name;
    unit.energy_pj = action(level, "compute").energy_j * level.actions_scale * 1e12;
    native.cycle_s = latency_s(level, 1, 0);
    if (!(native.cycle_s > 0) || !close(latency_s(level, 2, 0), 2 * native.cycle_s)) {
        refuse(level, "has no fixed time per compute");
    }
}

/// Checks the kinds of levels; lists the memories, innermost first.
std::vector<int> memories_of(const Path& path) {
    std::vector<int> memories;
    for (int l = static_cast<int>(path.levels.size()) - 1; l >= 0; --l) {
        const PathLevel& level = path.levels[l];
        if (level.kind == LevelKind::toll || level.kind == LevelKind::network ||
            level.kind == LevelKind::array) {
            refuse(level, "is a toll, network or array");
        }
        if (level.kind == LevelKind::memory) {
            memories.push_back(l);
        }
    }
    if (memories.empty()) {
        throw UserError("the architecture has no memory");
    }
    return memories;
}

void set_meshes(const Path& path, NativeCase& native) {
    std::int64_t x = 1, y = 1;
    const int count = static_cast<int>(native.memories.size());
    if (!gap_dims(path, -1, native.memories.back()).empty()) {
        refuse(path.levels[native.memories.back()], "is the outermost memory and has a fan-out");
    }
    for (int i = count - 1; i >= 0; --i) {
        timeloop::StorageLevel& storage = native.architecture.storage[i];
        storage.mesh_x = x;
        storage.mesh_y = y;
        storage.instances = x * y;
        const std::vector<FanoutDim> dims = fanout_below(path, native.memories, i);
        for (std::size_t d = 0; d < dims.size(); ++d) {
            (d == 0 ? x : y) *= path.levels[dims[d].level].spatial[dims[d].dim].fanout;
        }
    }
    timeloop::ArithmeticLevel& unit = native.architecture.arithmetic;
    unit.mesh_x = x;
    unit.mesh_y = y;
    unit.instances = x * y;
}

}  // namespace

std::vector<FanoutDim> gap_dims(const Path& path, int outer, int inner) {
    std::vector<FanoutDim> dims;
    for (int l = outer + 1; l <= inner; ++l) {
        for (std::size_t d = 0; d < path.levels[l].spatial.size(); ++d) {
            if (path.levels[l].spatial[d].fanout > 1) {
                dims.push_back({l, static_cast<int>(d)});
            }
        }
        if (dims.size() > 2) {
            refuse(path.levels[l], "has a third spatial dimension below one memory");
        }
    }
    return dims;
}

std::vector<FanoutDim> fanout_below(const Path& path, const std::vector<int>& memories, int i) {
    return gap_dims(path, memories[i],
                    i > 0 ? memories[i - 1] : static_cast<int>(path.levels.size()) - 1);
}

NativeCase native_hardware(const Path& path) {
    NativeCase native;
    native.problem = problem_of(path.einsum);
    native.memories = memories_of(path);
    set_compute(path, native);
    const bool elide = path.levels[native.memories[0]].skip_initial_output_write;
    native.options.first_read_elision = elide;
    for (int level : native.memories) {
        if (path.levels[level].skip_initial_output_write != elide) {
            refuse(path.levels[level], "differs from other memories in skip_initial_output_write");
        }
        add_storage(path.levels[level], native);
    }
    set_meshes(path, native);
    for (const arch::Leak& leak : path.leaks) {
        native.leaks = native.leaks || leak.leak_power_w > 0;
    }
    return native;
}

NativeCase native_case(const Path& path, std::span<const mapping::PmappingNode> nodes) {
    NativeCase native = native_hardware(path);
    native.mapping = native_mapping(path, nodes, native);
    return native;
}

}  // namespace tessera::model
