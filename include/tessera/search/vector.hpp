// Points as vectors of numbers, for methods that know nothing but numbers: surrogate models,
// gradients, policies.
//
// A vector has named numbers. All problems of a family (the same Einsums on the same architecture,
// other bounds) can share one layout; what a space has no use for is padded.
//   bound V              log2 of the bound of rank variable V; these come first
//   trips E L V          log2 of the trip count of Einsum E's temporal loop over V above what level
//                        L holds (of several from the outside in the second is `V 2`)
//   spread E L.D V       log2 of the instances of dimension D that V is spread over
//   place E ...          where that loop, or a holder, stands: the fraction of the Einsum's holders
//                        that stand above it; absent: -0.5
//   keep E L T           1: memory L holds tensor T; 0: it does not
//   backing, line E L T  1: the holder is its tensor's outermost, or a line buffer
//   compute E L          1: component L computes the Einsum
//   way E                Choice::join
//   order                Point::order as a fraction, where the Einsums may run in several
// On the rows of pmapping tables: `group E` and `row E`, their places as fractions; `way E`.
// In Timeloop's mapspace (E is `mapping`, no backing, line, compute, way):
//   split E L            the fraction of the dimensions of a spatial block that go along X
//
// Every vector of numbers can be decoded: a template is the one whose places and holders are
// nearest, tile shapes are the nearest ones that nest. The result is a point of the space that need
// not be legal; the host's repair (Candidate::How::repair) makes it legal. Both steps together are
// Mind Mappings' projection (Hegde et al., ASPLOS 2021, section 4.3) for fused mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/search/open_space.hpp"

namespace tessera::search {

/// Immutable; may be read by several threads.
class VectorEncoding {
public:
    /// The space's own layout. \throws Bug if the host did not open the space
    explicit VectorEncoding(const Space& space);
    /// A layout that the space's own is part of. \throws UserError naming a number that is missing
    VectorEncoding(const Space& space, std::vector<std::string> layout);
    ~VectorEncoding();
    VectorEncoding(VectorEncoding&&) noexcept;
    VectorEncoding& operator=(VectorEncoding&&) noexcept;

    const std::vector<std::string>& layout() const;
    std::size_t size() const {
        return layout().size();
    }
    /// How many numbers describe the problem alone: the first ones of the layout.
    std::size_t n_problem() const;

    /// \pre `point` is a point of the space, vector.size() == size()
    void encode(const Point& point, std::span<float> vector) const;
    /// A point of the space near the vector, whose numbers may be any; not finite ones count as 0.
    /// encode() and decode() of a point give it back. Of partial tiles with one value per trip
    /// count no loop is split. \pre vector.size() == size()
    void decode(std::span<const float> vector, Point& point) const;

private:
    struct Impl;
    static std::unique_ptr<Impl> made(const Space& space, const std::vector<std::string>* names);
    std::unique_ptr<Impl> impl_;
};

/// Both layouts in one: the numbers of `more` that `layout` lacks, at its end.
/// \throws UserError if they describe different problems
void join_layouts(std::vector<std::string>& layout, const std::vector<std::string>& more);

/// What a number is where a space has no use for it.
float padding(const std::string& name);

/// A legal point near the vector: decoded and repaired; where the repair finds none, the nearest of
/// a few that are drawn. Its outcome has verdict no_point if there are none either.
Outcome project(SpaceWorker& worker, const VectorEncoding& encoding, std::span<const float> vector,
                std::uint64_t seed, Point& point);

}  // namespace tessera::search
