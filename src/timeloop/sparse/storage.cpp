// Storage levels of a sparse design: capacities, vector accesses, energies, bandwidths.
#include <algorithm>
#include <cmath>
#include <map>

#include "state.hpp"
#include "timeloop/model/counters.hpp"

namespace tessera::timeloop::sparse {

namespace {

using Op = StorageOperation;

/// Up to how many vectors a compressed tile is cut into them exactly, by block size and density
/// (0.1, 0.2, ...): a table of Sparseloop's.
const std::map<std::int64_t, std::vector<std::uint64_t>>& vector_limits() {
    static const std::map<std::int64_t, std::vector<std::uint64_t>> table = {
        {2, {251, 125, 84, 63, 51, 42, 36, 32, 28, 1}},
        {4, {375, 188, 125, 94, 75, 63, 54, 47, 42, 1}},
        {8, {438, 219, 146, 110, 88, 73, 63, 55, 49, 1}},
        {16, {469, 235, 157, 118, 94, 79, 67, 59, 52, 1}},
        {32, {485, 243, 162, 122, 97, 81, 70, 61, 52, 1}}};
    return table;
}

std::uint64_t bits_of(const std::vector<Words>& words) {
    double bits = 0;
    for (const Words& rank : words) {
        bits += rank.metadata * rank.metadata_bits + rank.payload * rank.payload_bits;
    }
    return counter(std::ceil(bits));
}

/// By the order of names, in which Timeloop's tables keep the operations of formats.
constexpr bool is_format(int op) {
    return op >= at(Op::random_metadata_read) && op <= at(Op::skipped_metadata_update);
}

class StorageLevels {
public:
    StorageLevels(State& state, const ModelOptions& options, std::uint64_t cycles, Stats& stats)
        : state_(state), options_(options), cycles_(cycles), stats_(stats) {}

    void run() {
        for (int i = 0; i < state_.levels; ++i) {
            level(i);
        }
        if (options_.dialect == Dialect::master) {
            leak();
        }
    }

private:
    const StorageLevel& storage(int i) const {
        return state_.architecture.storage[static_cast<std::size_t>(i)];
    }
    LevelStats& of(int i) const {
        return stats_.levels[static_cast<std::size_t>(i)];
    }
    DataSpaceStats& of(int i, int space) const {
        return of(i).data_spaces[static_cast<std::size_t>(space)];
    }
    SparseSpaceStats& sparse(int i, int space) const {
        return of(i).sparse[static_cast<std::size_t>(space)];
    }

    void level(int i) {
        of(i).sparse.assign(static_cast<std::size_t>(state_.spaces), {});
        of(i).energy_pj = 0;
        of(i).accesses = 0;
        for (int s = 0; s < state_.spaces; ++s) {
            counts(i, s);
            capacity(i, s);
        }
        check(i);
        for (int s = 0; s < state_.spaces; ++s) {
            energy(i, s);
        }
        bandwidths(i);
    }

    void counts(int i, int space) const {
        const Held& held = state_.of(i, space);
        DataSpaceStats& stats = of(i, space);
        SparseSpaceStats& sparse_stats = sparse(i, space);
        sparse_stats.accesses = held.accesses;
        sparse_stats.format_accesses = held.format_accesses;
        sparse_stats.max_instances = held.max_x * held.max_y;
        sparse_stats.tile_points = held.points;
        stats.utilized_instances = held.average_instances;
        const auto clusters =
            static_cast<std::uint64_t>(storage(i).instances / storage(i).cluster_size);
        stats.utilized_clusters = std::min(sparse_stats.max_instances, clusters);
        stats.temporal_reductions = counter(held.temporal_reductions);
        const auto& n = held.accesses;
        const std::uint64_t fills = n[at(Op::random_fill)] + n[at(Op::gated_fill)];
        stats.address_generations =
            fills + (state_.writes(space) ? n[at(Op::random_update)] + n[at(Op::gated_update)]
                                          : n[at(Op::random_read)] + n[at(Op::gated_read)]);
    }

    void capacity(int i, int space) const {
        const Held& held = state_.of(i, space);
        DataSpaceStats& stats = of(i, space);
        SparseSpaceStats& sparse_stats = sparse(i, space);
        sparse_stats.density = density_name(space);
        sparse_stats.format = "none";
        stats.utilized_capacity = held.points;
        if (held.format == nullptr) {
            return;
        }
        stats.utilized_capacity = state_.density(space).most_values(held.tile);
        const std::vector<Words> words = words_given(state_, i, space, stats.utilized_capacity);
        sparse_stats.format.clear();
        for (std::size_t r = words.size(); r-- > 0;) {
            sparse_stats.format += name_of(held.format->ranks[r].format) + " ";
        }
        for (const Words& rank : words) {
            sparse_stats.capacity.push_back(
                {counter(std::ceil(rank.metadata)), counter(std::ceil(rank.payload))});
        }
        sparse_stats.capacity_bits = bits_of(words);
    }

    std::string density_name(int space) const {
        const sparsity::DensitySpec& spec =
            state_.problem.data_spaces[static_cast<std::size_t>(space)].density;
        switch (spec.distribution) {
            case sparsity::Distribution::hypergeometric:
                return "hypergeometric";
            case sparsity::Distribution::banded:
                return "banded-" + std::to_string(spec.band_width);
            default:
                return options_.dialect == Dialect::master ? "fixed_structured"
                                                           : "fixed-structured";
        }
    }

    void check(int i) const {
        std::uint64_t used = 0, format_bits = 0, x = 0, y = 0;
        double instances = 0;
        for (int s = 0; s < state_.spaces; ++s) {
            used += of(i, s).utilized_capacity;
            format_bits += sparse(i, s).capacity_bits;
            instances = std::max(instances, of(i, s).utilized_instances);
            x = std::max(x, state_.of(i, s).max_x);
            y = std::max(y, state_.of(i, s).max_y);
        }
        const StorageLevel& level = storage(i);
        if (level.size) {
            const auto size = static_cast<double>(level.effective_size());
            const double metadata = std::floor(static_cast<double>(level.metadata.size_bits()) /
                                               level.multiple_buffering);
            if (real(used) > size) {
                misfit(Fit::Kind::capacity, i, used, size);
            }
            if (real(format_bits) > metadata) {
                misfit(Fit::Kind::metadata, i, format_bits, metadata);
            }
            if (real(used) < size * level.min_utilization) {
                misfit(Fit::Kind::min_utilization, i, used, size * level.min_utilization);
            }
        }
        if (instances > static_cast<double>(level.instances) ||
            x > static_cast<std::uint64_t>(level.mesh_x) ||
            y > static_cast<std::uint64_t>(level.mesh_y)) {
            misfit(Fit::Kind::instances, i, x * y, static_cast<double>(level.instances));
        }
    }

    /// Vectors of a compressed tile per vector of its mean number of values.
    double vector_ratio(int i, int space) const {
        const Held& held = state_.of(i, space);
        const std::int64_t block = storage(i).block_size;
        const double density = held.expected_density;
        if (!held.compressed() || block <= 1 || !(density < 1)) {
            return 1;
        }
        const auto limits = vector_limits().find(block);
        if (limits == vector_limits().end()) {
            misfit(Fit::Kind::block_size, i, static_cast<std::uint64_t>(block));
        }
        const double column = density >= 0.1 ? std::floor(density / 0.1) - 1 : 0;
        const auto width = static_cast<std::uint64_t>(block);
        if (limits->second.at(static_cast<std::size_t>(column)) <= held.points / width) {
            return 1;
        }
        double total = 0;
        const std::vector<double> shares =
            state_.density(space).probabilities(held.tile, 1, held.points);
        for (std::size_t v = 0; v < shares.size(); ++v) {
            total += std::ceil(static_cast<double>(v + 1) / static_cast<double>(block)) * shares[v];
        }
        return total / (static_cast<double>(held.points) * density / static_cast<double>(block));
    }

    double vectors(int i, int space, int op, double ratio) const {
        const Held& held = state_.of(i, space);
        if (is_format(op)) {
            SparseSpaceStats& stats = sparse(i, space);
            const auto width = static_cast<std::uint64_t>(storage(i).metadata.width_bits);
            std::uint64_t& bits = stats.format_bits[static_cast<std::size_t>(op)];
            const TileAccesses& ranks = held.format_accesses[static_cast<std::size_t>(op)];
            for (std::size_t r = 0; width != 0 && r < ranks.size(); ++r) {
                const Words& words = held.expected_words[r];
                bits +=
                    words.metadata_bits * ranks[r].metadata + words.payload_bits * ranks[r].payload;
            }
            return width == 0 ? 0 : real(counter(std::ceil(real(bits) / real(width))));
        }
        const std::uint64_t count = held.accesses[static_cast<std::size_t>(op)];
        if (op >= at(Op::decompression) || count == 0 || held.points == 0) {
            return real(count);
        }
        const auto block = static_cast<std::uint64_t>(storage(i).block_size);
        return real(count / block + (count % block != 0)) * ratio;
    }

    void energy(int i, int space) const {
        const StorageLevel& level = storage(i);
        DataSpaceStats& stats = of(i, space);
        SparseSpaceStats& sparse_stats = sparse(i, space);
        const double ratio = vector_ratio(i, space);
        double cluster = 0;
        for (int op = 0; op < storage_operations; ++op) {
            cluster += vectors(i, space, op, ratio) * level.energy.of(static_cast<Op>(op));
        }
        const double utilization = real(sparse_stats.max_instances) / real(stats.utilized_clusters);
        const std::uint64_t algorithmic = stats.reads + stats.updates + stats.fills;
        const auto& n = sparse_stats.accesses;
        const std::uint64_t actual =
            n[at(Op::random_read)] + n[at(Op::random_fill)] + n[at(Op::random_update)];
        const bool used = stats.utilized_instances > 0;
        stats.energy_pj = used ? cluster / utilization : 0;
        stats.energy_per_access_pj = used ? stats.energy_pj / real(actual) : 0;
        sparse_stats.energy_per_algorithmic_access_pj =
            used ? stats.energy_pj / real(algorithmic) : 0;
        stats.temporal_reduction_energy_pj = 0;
        stats.addr_gen_energy_pj =
            real(stats.address_generations) * std::max(0.0, level.addr_gen_energy_pj);
        of(i).energy_pj += stats.energy_pj * stats.utilized_instances +
                           stats.addr_gen_energy_pj * real(stats.utilized_clusters);
        of(i).accesses += counter(stats.utilized_instances * real(algorithmic));
    }

    /// Words of data and of formats that pass at once.
    void bandwidths(int i) const {
        const StorageLevel& level = storage(i);
        const auto word = static_cast<std::uint64_t>(level.word_bits);
        const double cycles = real(cycles_);
        double reads = 0, writes = 0;
        for (int s = 0; s < state_.spaces; ++s) {
            DataSpaceStats& stats = of(i, s);
            SparseSpaceStats& one = sparse(i, s);
            const auto n = [&](Op op) { return one.accesses[static_cast<std::size_t>(at(op))]; };
            const auto b = [&](Op op) { return one.format_bits[static_cast<std::size_t>(at(op))]; };
            const std::uint64_t format_read =
                b(Op::random_metadata_read) + b(Op::gated_metadata_read);
            const std::uint64_t format_write =
                b(Op::random_metadata_fill) + b(Op::gated_metadata_fill) +
                b(Op::random_metadata_update) + b(Op::gated_metadata_update);
            std::uint64_t read = n(Op::random_read) + n(Op::gated_read) + format_read / word;
            std::uint64_t write = n(Op::random_fill) + n(Op::gated_fill) + n(Op::random_update) +
                                  n(Op::gated_update) + format_write / word;
            const auto share = [](std::uint64_t part, std::uint64_t whole) {
                return whole == 0 ? 0.0 : real(part) / real(whole);
            };
            one.shared_format_share = share((format_read + format_write) / word, read + write);
            one.read_format_share = share(format_read / word, read);
            one.write_format_share = share(format_write / word, write);
            const double idle = real(state_.of(i, s).max_x) * real(state_.of(i, s).max_y) /
                                stats.utilized_instances;
            read = counter(std::ceil(real(read) / idle));
            write = counter(std::ceil(real(write) / idle));
            const double scale =
                level.scale_of(state_.problem.data_spaces[static_cast<std::size_t>(s)].name);
            stats.read_bandwidth = real(read) / cycles * scale;
            stats.write_bandwidth = real(write) / cycles * scale;
            reads += stats.read_bandwidth;
            writes += stats.write_bandwidth;
        }
        double& slowdown = of(i).slowdown;
        slowdown = 1;
        const auto limit = [&](const std::optional<double>& bandwidth, double demand) {
            if (bandwidth && *bandwidth < demand) {
                slowdown = std::min(slowdown, *bandwidth / demand);
            }
        };
        limit(level.read_bandwidth, reads);
        limit(level.write_bandwidth, writes);
        limit(level.shared_bandwidth, writes + reads);
        for (int s = 0; s < state_.spaces; ++s) {
            DataSpaceStats& stats = of(i, s);
            stats.shared_bandwidth = slowdown * (stats.read_bandwidth + stats.write_bandwidth);
            stats.read_bandwidth *= slowdown;
            stats.write_bandwidth *= slowdown;
        }
        const double slowed = std::ceil(cycles / slowdown);
        of(i).cycles = counter(slowed);
        stats_.wrapped = stats_.wrapped || !(slowed < two63);
    }

    double most_instances(int i) const {
        double most = 1;
        for (int s = 0; s < state_.spaces; ++s) {
            most = std::max(most, of(i, s).utilized_instances);
        }
        return most;
    }

    void leak() const {
        std::uint64_t cycles = cycles_;
        for (int i = 0; i < state_.levels; ++i) {
            cycles = std::max(cycles, of(i).cycles);
        }
        for (int i = 0; i < state_.levels; ++i) {
            const StorageLevel& level = storage(i);
            const int gate =
                level.power_gated_at ? state_.architecture.find_level(*level.power_gated_at) : i;
            const double sharing =
                static_cast<double>(level.instances) / static_cast<double>(storage(gate).instances);
            const double own = most_instances(i);
            const double leaks = sharing > 1 ? sharing * most_instances(gate) : own;
            LevelStats& stats = of(i);
            stats.leak_pj = level.energy.leak_pj;
            stats.instances_sharing_power_gating = sharing > 1 ? sharing : 1;
            stats.non_gated_utilization = sharing > 1 ? own / leaks : 1;
            stats.leakage_energy_pj = level.energy.leak_pj * real(cycles) * leaks;
            stats.energy_pj = 0;
            for (int s = 0; s < state_.spaces; ++s) {
                const DataSpaceStats& space = of(i, s);
                stats.energy_pj += space.energy_pj * space.utilized_instances +
                                   space.addr_gen_energy_pj * real(space.utilized_clusters) +
                                   stats.leakage_energy_pj / static_cast<double>(state_.spaces);
            }
        }
    }

    State& state_;
    const ModelOptions& options_;
    std::uint64_t cycles_;
    Stats& stats_;
};

}  // namespace

void finish_levels(State& state, const ModelOptions& options, std::uint64_t cycles, Stats& stats) {
    StorageLevels(state, options, cycles, stats).run();
}

}  // namespace tessera::timeloop::sparse
