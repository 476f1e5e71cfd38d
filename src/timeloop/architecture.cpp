#include "timeloop/architecture.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/base/error.hpp"

namespace tessera::timeloop {

namespace {

/// Name and mesh of level `i`; -1 is the arithmetic level.
struct Mesh {
    std::string name;
    std::int64_t instances, x, y;
};

Mesh mesh(const Architecture& architecture, int level) {
    if (level < 0) {
        const ArithmeticLevel& a = architecture.arithmetic;
        return {a.name, a.instances, a.mesh_x, a.mesh_y};
    }
    const StorageLevel& s = architecture.storage[level];
    return {s.name, s.instances, s.mesh_x, s.mesh_y};
}

void check_mesh(const Mesh& level) {
    if (level.x < 1 || level.y < 1 || level.instances < 1) {
        throw UserError("level " + level.name + ": instances, meshX and meshY must be at least 1");
    }
    if (level.x * level.y != level.instances) {
        throw UserError("level " + level.name + ": meshX * meshY is " + std::to_string(level.x) +
                        " * " + std::to_string(level.y) + ", but instances is " +
                        std::to_string(level.instances) + "; make the three agree");
    }
}

void check_divides(const char* key, const Mesh& inner, std::int64_t inner_mesh, const Mesh& outer,
                   std::int64_t outer_mesh) {
    if (inner_mesh % outer_mesh != 0) {
        throw UserError(
            std::string(key) + " of level " + inner.name + " is " + std::to_string(inner_mesh) +
            ", which " + key + " of the next outer level " + outer.name + " (" +
            std::to_string(outer_mesh) + ") does not divide; set meshX and meshY of both levels");
    }
}

}  // namespace

std::int64_t StorageLevel::effective_size() const {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(*size) / multiple_buffering));
}

std::int64_t Architecture::fanout_x(int level) const {
    return mesh(*this, level - 1).x / storage[level].mesh_x;
}

std::int64_t Architecture::fanout_y(int level) const {
    return mesh(*this, level - 1).y / storage[level].mesh_y;
}

std::string Architecture::network_name(int level) const {
    return storage[level].name + " <==> " + mesh(*this, level - 1).name;
}

std::vector<int> Architecture::networks_by_name() const {
    std::vector<int> order(storage.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return network_name(a) < network_name(b); });
    return order;
}

void check_topology(const Architecture& architecture) {
    if (architecture.storage.empty()) {
        throw UserError("the architecture has no storage level; give at least one");
    }
    check_mesh(mesh(architecture, -1));
    for (int i = 0; i < architecture.levels(); ++i) {
        const Mesh outer = mesh(architecture, i), inner = mesh(architecture, i - 1);
        check_mesh(outer);
        check_divides("meshX", inner, inner.x, outer, outer.x);
        check_divides("meshY", inner, inner.y, outer, outer.y);
        const StorageLevel& level = architecture.storage[i];
        if (level.cluster_size < 1 || level.instances % level.cluster_size != 0) {
            throw UserError("level " + level.name + ": cluster-size " +
                            std::to_string(level.cluster_size) + " does not divide instances " +
                            std::to_string(level.instances));
        }
        if (level.block_size < 1) {
            throw UserError("level " + level.name + ": block-size must be at least 1");
        }
    }
}

}  // namespace tessera::timeloop
