// Timeloop's own search algorithms as walks over mapping ids. Same order, same random source, same
// shortcuts: with seed 0 a walk visits what Timeloop visits.
#pragma once

#include <cstdint>
#include <memory>

#include "timeloop/mapper.hpp"
#include "timeloop/mapspace.hpp"

namespace tessera::timeloop {

enum class Outcome : std::uint8_t {
    valid,
    fanout,    ///< no mapping could be built: bad for every bypass
    capacity,  ///< built, but rejected by the model
};

/// next() and report() alternate. Not shared between threads.
class Walk {
public:
    virtual ~Walk() = default;
    /// False: the walk has seen all it wants to see.
    virtual bool next(MappingId& id) = 0;
    virtual void report(Outcome outcome) = 0;
    /// The walk ended because it has nothing left to visit.
    virtual bool complete() const {
        return false;
    }
    /// Mappings that may be valid were left out though they are like none of those visited.
    virtual bool left_out() const {
        return false;
    }
};

/// The view must outlive the walk, which prunes it as the algorithm demands.
std::unique_ptr<Walk> make_walk(Algorithm algorithm, const MapperSettings& settings,
                                MapSpaceView& view, int thread);

}  // namespace tessera::timeloop
