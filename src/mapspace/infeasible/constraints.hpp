// The constraints of a problem one by one, and the problem without some of them.
#pragma once

#include <vector>

#include "mapspace/infeasible_subset.hpp"
#include "tessera/arch/path.hpp"

namespace tessera::mapspace::infeasible {

using NamedConstraints = std::vector<NamedConstraint>;

/// Adds those of the path that are not yet in the list.
void add_constraints(const arch::Path& path, NamedConstraints& out);
/// Adds those of the options that are not what a mapspace has by itself.
void add_constraints(const MapSpaceOptions& options, NamedConstraints& out);

/// Every mapping that was legal stays legal.
void drop(const NamedConstraints& dropped, arch::Path& path);
void drop(const NamedConstraints& dropped, MapSpaceOptions& options);

/// Leaves out mappings that are legal only if some other one is: a memory that need not hold a
/// tensor holds it only if no memory above does. Whatever it feeds can come from there; a holder
/// takes room, and asks for nothing that the mapping without it lacks. Not so where a memory above
/// may not send the tensor twice, or spreads it over its units.
void keep_no_more_than_needed(arch::Path& path);

/// Value of an expression that does not depend on what the levels above keep.
std::optional<arch::TensorMask> fixed_tensors(const spec::Expression& expression,
                                              const arch::Path& path);

}  // namespace tessera::mapspace::infeasible
