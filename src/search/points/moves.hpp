// Moves from one legal point to another.
#pragma once

#include "repair.hpp"

namespace tessera::search {

/// Proposes; whether memories hold it all is seen when it is evaluated. Scratch of one thread.
class Moves {
public:
    Moves(const OpenSpace::Data& space, Joiner& joiner, Drawing& drawing, Evaluation& evaluation)
        : space_(space),
          drawing_(drawing),
          evaluation_(evaluation),
          repair_(space, joiner, drawing, evaluation) {}

    /// The point that moves go out from. Its outcome: only from a legal one they can.
    Outcome begin(const Point& from);
    /// One attempt from there. False: nothing came of it. Result in built().
    bool attempt(Rng& rng, Move move, std::size_t einsum);
    /// The Einsums [einsum, end) of `mate`, the others of `point`; points of the space.
    bool cross(Rng& rng, const Point& point, const Point& mate, std::size_t einsum,
               std::size_t end);
    /// A point near one of the space.
    bool repair(Rng& rng, const Point& point);

    const Point& built() const {
        return repair_.built();
    }

private:
    const TemplateData& data(std::size_t einsum) const {
        return space_.einsums[einsum].templates[parts_[einsum].tmpl];
    }
    bool change(Rng& rng, Move move, std::size_t einsum);
    /// The Einsum that opens the loop of a symbol, and its symbol.
    std::pair<std::size_t, int> opener(std::size_t einsum, int symbol) const;
    bool add_changed(std::size_t einsum);
    bool shift_factor(Rng& rng, const TileChooser& chooser, int symbol);
    bool move_factor(Rng& rng, std::size_t einsum, int symbol);
    bool change_tile(Rng& rng, std::size_t einsum, int symbol);
    bool draw_tiles(Rng& rng, std::size_t einsum, bool spatial_only);
    bool relative(Rng& rng, std::size_t einsum, const std::vector<std::uint32_t>& others,
                  int Attributes::*differs);
    bool other_backing(Rng& rng, std::size_t einsum);
    bool follow(Rng& rng, std::size_t end, bool replaced);

    const OpenSpace::Data& space_;
    Drawing& drawing_;
    Evaluation& evaluation_;
    Repair repair_;
    Point base_;  ///< most moves go out from the same point again
    Outcome of_base_;
    std::vector<Link> parts_;          ///< of base_
    std::vector<std::size_t> starts_;  ///< of their tile shapes, and the end
    std::vector<std::int64_t> tiles_, wanted_;
    std::vector<double> values_, target_;
};

}  // namespace tessera::search
