#pragma once

#include <cstdint>
#include <string>

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

}  // namespace tessera::timeloop
