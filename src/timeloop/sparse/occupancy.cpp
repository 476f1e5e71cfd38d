// Expected values and words of tiles, and how often words of formats are accessed.
#include <algorithm>
#include <cmath>

#include "state.hpp"
#include "tessera/base/stop.hpp"
#include "timeloop/model/counters.hpp"

namespace tessera::timeloop::sparse {

namespace {

constexpr std::uint64_t most_occupancies = 50'000'000;  // looked at one by one

/// Of an access to the whole tile, `ratio` times.
RankAccesses times(const Words& words, double ratio) {
    return {counter(std::ceil(words.metadata * ratio)), counter(std::ceil(words.payload * ratio))};
}

void expect_accesses(Held& held) {
    const auto points = static_cast<double>(held.points);
    for (const Words& words : held.expected_words) {
        held.format_fills.push_back(times(words, real(held.fills) / points));
        held.format_reads.push_back(times(words, real(held.reads) / points));
        held.format_updates.push_back(times(words, real(held.updates) / points));
        for (int op = 0; op < storage_operations; ++op) {
            held.format_accesses[static_cast<std::size_t>(op)].emplace_back();
        }
    }
}

void add(const std::vector<Words>& words, double share, std::vector<Words>& sum) {
    for (std::size_t r = 0; r < words.size(); ++r) {
        Words scaled = words[r];
        scaled.metadata *= share;
        scaled.payload *= share;
        if (sum.size() == r) {
            sum.push_back(scaled);
        } else {
            sum[r].metadata += scaled.metadata;
            sum[r].payload += scaled.payload;
        }
    }
}

/// How probable each possible number of values is, and what it means.
void expect(State& state, int level, int space) {
    Held& held = state.of(level, space);
    const sparsity::Density& density = state.density(space);
    const std::uint64_t most = density.most_values(held.tile);
    const std::uint64_t least =
        counter(std::floor(density.least_density(held.tile) * static_cast<double>(held.points)));
    if (most >= least && most - least > most_occupancies) {
        throw sparsity::Unanswerable("a tile can hold " + std::to_string(most - least) +
                                     " different numbers of values");
    }
    std::vector<double> shares = density.probabilities(held.tile, least, most);
    const bool parent_skips = held.parent >= 0 && state.of(held.parent, space).format != nullptr;
    if (parent_skips && least == 0) {
        // Empty tiles are never sent. The first that is not impossible: Timeloop's.
        const auto first =
            std::find_if(shares.begin(), shares.end(), [](double share) { return share != 0; });
        if (first != shares.end()) {
            const double held_share = 1 - *first;
            held.average_instances *= held_share;
            for (double& share : shares) {
                share = share != 0 ? share / held_share : share;
            }
            *first = -1;  // still possible, with a share of zero
        }
    }
    double values = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (shares[i] == 0) {
            continue;
        }
        base::poll_stop();
        const double share = shares[i] < 0 ? 0 : shares[i];
        values += share * static_cast<double>(least + i);
        if (held.format != nullptr) {
            add(words_given(state, level, space, least + i), share, held.expected_words);
        }
    }
    held.expected_density = values / static_cast<double>(held.points);
    held.expected_values = values;
}

}  // namespace

std::vector<Words> words_given(const State& state, int level, int space, std::uint64_t values) {
    const Held& held = state.of(level, space);
    const sparsity::Density& density = state.density(space);
    const sparsity::Known whole{held.tile, held.points, values};
    const auto count = static_cast<int>(held.rank_count());
    std::vector<Words> result(static_cast<std::size_t>(count));
    std::uint64_t fibers = 1;
    const sparsity::Tile* tile = &held.tile;
    for (int r = count - 1; r >= 0; --r) {
        const auto rank = static_cast<std::size_t>(r);
        const sparsity::Tile& below = held.subtiles[rank];
        const std::uint64_t shape = held.fibers[rank];
        const int first = held.format->inner_to_outer ? 0 : count - 1;
        if (shape != 1 || r == first) {
            const RankSpec& spec = held.format->ranks[rank];
            const bool asks = spec.format != sparsity::Format::uncompressed_bitmask;
            const sparsity::RankWords words = sparsity::rank_words(
                spec.format, fibers, shape, asks ? density.probability(*tile, 0, &whole) : 0,
                asks && spec.format != sparsity::Format::uncompressed_offset_pairs
                    ? density.probability(below, 0, &whole)
                    : 0);
            result[rank] = {words.metadata, words.payload, spec.metadata_bits, spec.payload_bits};
        }
        fibers *= shape;
        tile = &below;
    }
    // The payload of the last rank are the values themselves.
    const auto last = std::find_if(result.begin(), result.end(),
                                   [](const Words& words) { return !words.empty(); });
    if (last != result.end()) {
        last->payload = 0;
    }
    return result;
}

void expect_occupancy(State& state) {
    for (int s = 0; s < state.spaces; ++s) {
        for (int i = 0; i < state.levels; ++i) {
            Held& held = state.of(i, s);
            if (!held.kept) {
                continue;
            }
            expect(state, i, s);
            if (held.format != nullptr) {
                expect_accesses(held);
            }
        }
    }
}

}  // namespace tessera::timeloop::sparse
