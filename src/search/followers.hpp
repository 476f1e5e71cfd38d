// What can follow a partial mapping of the first Einsums, remembered per thread.
//
// What is remembered are facts that depend on the space alone. So a draw depends on its seed, not
// on what was drawn before it.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "search/joiner.hpp"
#include "search/tile_walk.hpp"

namespace tessera::search {

/// The legal tile shapes of one template whose running fused loops, and the trip counts of those
/// that are shared, are given.
struct TileShapes {
    enum class Kind : std::uint8_t { none, listed, many } kind = Kind::none;
    std::uint32_t count = 0;          ///< listed
    std::vector<std::int64_t> tiles;  ///< listed: one row after the other, in symbol order
};

/// What later Einsums see of a partial mapping: the state of the joins, and how often the loops run
/// that are still open.
struct Compatibility {
    int einsum = 0;  ///< the next one
    int state = 0;
    std::vector<std::int64_t> open_trips;

    std::vector<const TileShapes*> shapes;  ///< by option of the state, null: not looked at yet
    bool scanned = false;
    std::vector<std::uint32_t> live;  ///< when scanned
};

class Followers {
public:
    Followers(const OpenSpace::Data& space, Joiner& joiner);

    /// Forgets what was remembered if it has become much. What was handed out is invalid then.
    void trim();

    Compatibility& first();
    Compatibility& after(int einsum, int state, const std::vector<std::int64_t>& open_trips);

    /// Ways to go on: templates with their patterns and ways to join, all of them alike.
    const std::vector<Joiner::Option>& options(const Compatibility& at) {
        return joiner_.all_options(at.state);
    }
    const TileShapes& shapes(Compatibility& at, std::size_t option);
    /// Options that have tile shapes, or too many choices to tell.
    const std::vector<std::uint32_t>& live(Compatibility& at);

    /// Trip counts by fused loop that an option must have, 0: free.
    const std::vector<std::int64_t>& wanted(const Compatibility& at, const Joiner::Option& option);
    TileWalk& walk(std::size_t einsum, std::uint32_t tmpl);

private:
    using Key = std::vector<std::int64_t>;
    struct Hash {
        std::size_t operator()(const Key& key) const;
    };
    void list(const Compatibility& at, const Joiner::Option& option, TileShapes& out);

    const OpenSpace::Data& space_;
    Joiner& joiner_;
    mapspace::DivisorCache divisors_;
    model::FormulaWorkspace workspace_;
    std::vector<std::vector<std::unique_ptr<TileWalk>>> walks_;  // by Einsum and template
    std::unordered_map<Key, std::unique_ptr<Compatibility>, Hash> compatibilities_;
    std::unordered_map<Key, std::unique_ptr<TileShapes>, Hash> shapes_;
    Key key_;
    std::vector<std::int64_t> wanted_;
    std::size_t remembered_ = 0;  // numbers
};

}  // namespace tessera::search
