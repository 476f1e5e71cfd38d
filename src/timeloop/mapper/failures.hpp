// Why mappings were rejected: counts and the nearest miss per level, without allocation while the
// search runs.
#pragma once

#include <random>
#include <vector>

#include "timeloop/mapper/pool.hpp"

namespace tessera::timeloop {

class FailureLog {
public:
    FailureLog(const MapSpace& space, bool sample);

    void add(const Misfit& misfit, const MappingId& id);
    /// A mapping that the model rejects, or one that the mapper must not return.
    void add(const Cost& cost, const MappingId& id);

    /// Groups with texts, the nearest miss first. `pruned`: ids are those of pruned subspaces;
    /// `view` must be dealt as the ids were.
    void render(const CompiledModel& model, MapSpaceView& view, bool pruned,
                std::vector<FailureGroup>& groups) const;

private:
    enum Special { parallelism, loops, nowhere, forgets, wrapped, sparse, specials };
    struct Group {
        std::uint64_t count = 0;
        double excess = 0;
        MappingId nearest, sample;
    };
    void count(Group& group, double excess, const MappingId& id);
    std::string tiles(const Mapping& mapping, const Fit& fit) const;
    std::string reason(const CompiledModel& model, MapSpaceView& view, bool pruned,
                       const MappingId& id, Mapping* mapping) const;

    const MapSpace& space_;
    int levels_;
    bool sample_;
    std::vector<Group> fanout_, capacity_;  // per level; capacity: then the special ones
    std::minstd_rand dice_;
};

}  // namespace tessera::timeloop
