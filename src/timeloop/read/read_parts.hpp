// What the readers of one part do for those of another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "timeloop/architecture.hpp"
#include "values.hpp"

namespace tessera::timeloop {

/// a * b, for counts of things. \throws UserError at `where` if it is above 9e15, the largest
/// number that is read
std::int64_t count_of(const spec::Node& where, std::int64_t a, std::int64_t b);

/// What a component is by its class.
bool is_storage_class(const std::string& class_name);
bool is_compute_class(const std::string& class_name);

struct MeshSize {
    std::int64_t instances = 1, x = 1, y = 1;
};

/// `instances`, `meshX` and `meshY` of a level; two of them give the third, all instances lie
/// along X without a mesh. `tree_count`: instances according to the names around it; 0: unknown.
MeshSize read_mesh(const Section& from, const std::string& name, std::int64_t tree_count);

/// `from`: the map with the attributes.
StorageLevel read_storage(const Section& from, const std::string& name,
                          const std::string& class_name, std::int64_t tree_count);

/// Replaces an architecture of version 0.4 given as `nodes` by the chain of levels that Timeloop's
/// Python front end makes of it, and the constraints attached to the nodes by a list
/// `architecture_constraints`. Does nothing to any other document.
///
/// Rules, outermost node first: the fan-out of a node takes effect below it, and a level
/// `inter_NAME_spatial` that keeps nothing stands for it; attributes of a container pass to the
/// nodes after it; of the branches of a `!Parallel` each keeps its own data spaces and bypasses
/// the others; constraint macros are written out; loops known to have one iteration go innermost
/// in permutations. \throws UserError
void flatten_nodes(Document& document);

/// The program `accelergy` in PATH or ACCELERGYPATH, or nothing.
std::optional<std::string> find_accelergy();

/// Runs it as Timeloop does: `accelergy FILES --oprefix NAME. -o DIR/`, its output in
/// `PREFIX.accelergy.log`. \return whether it ended well
bool run_accelergy(const std::string& program, const std::vector<std::string>& files,
                   const std::string& prefix);

}  // namespace tessera::timeloop
