// What there is to explore: paths and templates of every Einsum, and which of them are alike.
#pragma once

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../explorer.hpp"

namespace tessera::ffm {

/// Paths of one Einsum.
EinsumSpace open_einsum(const ExploreContext& context, int einsum);
/// Templates of an Einsum. False if there are more than `most`: none are made then.
/// \throws NoLegalMapping if there is none
bool make_templates(const ExploreContext& context, EinsumSpace& space,
                    std::size_t most = std::numeric_limits<std::size_t>::max());

/// Whether any template of the Einsum has legal tile shapes.
bool has_tile_shapes(const ExploreContext& context, const EinsumSpace& space);

/// Marks the templates that no other Einsum can meet (docs/ffm-proofs.md, 2.19).
void mark_unmatched(const ExploreContext& context, std::vector<EinsumSpace>& spaces);

/// Einsums that have the same templates and costs, tensor by tensor, whatever their names.
class EqualEinsums {
public:
    /// The first Einsum asked about that this one equals; its own index if there is none.
    std::size_t first(const EinsumSpace& space);

private:
    std::map<std::string, std::size_t> seen_;
};

/// Memories whose capacity couples Einsums.
std::vector<mapspace::TrackedMemory> tracked_memories(const std::vector<EinsumSpace>& spaces);
/// Adds these memories, if they are of limited size.
void add_limited(const std::set<std::string>& memories, const std::vector<EinsumSpace>& spaces,
                 std::vector<mapspace::TrackedMemory>& tracked);

}  // namespace tessera::ffm
