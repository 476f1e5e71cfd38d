// The numbers of points as methods see them that know nothing but numbers within bounds (evolution
// strategies, swarms): those of one Einsum at a time, or of all, each between 0 and 1.
#pragma once

#include "tessera/search/vector.hpp"

namespace tessera::search {

/// For one thread.
class VectorBlocks {
public:
    /// \throws Bug if the host did not open the space
    explicit VectorBlocks(const Space& space);

    /// Block e < n_einsums(): the numbers of Einsum e; block n_einsums(): all.
    std::size_t n_einsums() const {
        return blocks_.size() - 1;
    }
    std::size_t size(std::size_t block) const {
        return blocks_[block].size();
    }

    /// The point whose numbers the others of a block come from. \pre a point of the space
    void stand_on(const Point& point);
    /// The block's numbers of that point. \pre unit.size() == size(block)
    void read(std::size_t block, std::span<double> unit) const;
    /// A point of the space near these numbers (VectorEncoding::decode); legal or not. Numbers
    /// outside 0 to 1 count as the nearer end.
    void decode(std::size_t block, std::span<const double> unit, Point& point);

private:
    struct Range {
        float low = 0, high = 1;
    };
    VectorEncoding encoding_;
    std::vector<std::vector<std::size_t>> blocks_;  ///< indices of numbers
    std::vector<Range> ranges_;                     ///< by number
    std::vector<float> base_, changed_;
};

}  // namespace tessera::search
