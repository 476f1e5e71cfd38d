// What can follow a partial mapping of the first Einsums, remembered per thread.
//
// What is remembered are facts that depend on the space alone. So a draw depends on its seed, not
// on what was drawn before it.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "search/join/link.hpp"
#include "search/space/tile_walk.hpp"
#include "tessera/base/hash.hpp"

namespace tessera::search {

/// The legal tile shapes of one template whose running fused loops, and the trip counts of those
/// that are shared, are given.
struct TileShapes {
    enum class Kind : std::uint8_t { none, listed, many } kind = Kind::none;
    std::uint32_t count = 0;          ///< listed
    std::vector<std::int64_t> tiles;  ///< listed: one row after the other, in symbol order
};

/// What later Einsums see of a partial mapping, and which of their options have tile shapes.
struct Compatibility : Followed {
    int einsum = 0;                         ///< the next one: its place in the order
    std::vector<const TileShapes*> shapes;  ///< by option of the state, null: not looked at yet
    bool scanned = false;
    std::vector<std::uint32_t> live;  ///< when scanned
    std::vector<char> no_fit;  ///< by option: whether a search for tile shapes near others ended
                               ///< without any
};

/// What is known of the tile shapes of Einsums, whatever order they run in.
class TileStore {
public:
    explicit TileStore(const OpenSpace::Data& space);

    TileWalk& walk(int einsum, std::uint32_t tmpl);
    /// Tile shapes of a pattern with these trip counts by fused loop. `einsum`: of the workload.
    const TileShapes& shapes(int einsum, std::uint32_t tmpl, std::uint32_t running,
                             const std::vector<std::int64_t>& trips);

    /// Numbers that somebody remembers beside these.
    void remember(std::size_t numbers) {
        remembered_ += numbers;
    }
    /// Forgets all tile shapes if much is remembered.
    void trim();
    /// How often all was forgotten: what was handed out before is invalid.
    std::uint64_t times_forgotten() const {
        return times_forgotten_;
    }

private:
    void list(int einsum, std::uint32_t tmpl, std::uint32_t running,
              const std::vector<std::int64_t>& trips, TileShapes& out);

    const OpenSpace::Data& space_;  // in the order of the workload
    mapspace::DivisorCache divisors_;
    model::FormulaWorkspace workspace_;
    std::vector<std::vector<std::unique_ptr<TileWalk>>> walks_;  // by Einsum and template
    std::unordered_map<std::vector<std::int64_t>, std::unique_ptr<TileShapes>, base::HashOfRow>
        shapes_;
    std::vector<std::int64_t> key_;
    std::size_t remembered_ = 0, times_forgotten_ = 0;
};

class Followers {
public:
    Followers(const OpenSpace::Data& space, Joiner& joiner, TileStore& tiles)
        : space_(space), joiner_(joiner), tiles_(tiles) {}

    /// Forgets what was remembered if it has become much. What was handed out is invalid then.
    void trim();

    /// Of the next Einsum after what was followed.
    Compatibility& after(int einsum, const Followed& followed);

    /// Ways to go on: templates with their patterns and ways to join, all of them alike.
    const std::vector<Joiner::Option>& options(const Compatibility& at) {
        return joiner_.all_options(at.state);
    }
    const TileShapes& shapes(Compatibility& at, std::size_t option);
    /// Options that have tile shapes, or too many choices to tell.
    const std::vector<std::uint32_t>& live(Compatibility& at);

    /// Trip counts by fused loop that an option must have, 0: free.
    const std::vector<std::int64_t>& wanted(const Compatibility& at, const Joiner::Option& option);
    TileWalk& walk(std::size_t einsum, std::uint32_t tmpl) {
        return tiles_.walk(space_.order[einsum], tmpl);
    }

private:
    const OpenSpace::Data& space_;
    Joiner& joiner_;
    TileStore& tiles_;
    std::uint64_t seen_forgotten_ = 0;
    std::unordered_map<std::vector<std::int64_t>, std::unique_ptr<Compatibility>, base::HashOfRow>
        compatibilities_;
    std::vector<std::int64_t> key_, wanted_;
};

}  // namespace tessera::search
