// How good a result is, and what to do where that is not proven.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "tessera/arch/architecture.hpp"
#include "tessera/library.hpp"

namespace tessera::cli {

/// "full" or "accelforge"
const char* preset_name(const mapspace::MapSpaceOptions& space);

/// What is proven of the later metric: the end of "Proven optimal for latency"; none: nothing is
/// said.
std::string later_text(const std::optional<mapper::LaterMetric>& later,
                       const arch::Architecture& architecture);

/// What was measured of a search; what it advises next depends on that.
struct Measured {
    std::string mapper;                   ///< who searched
    bool strategy = false;                ///< a search strategy, which proves nothing
    std::optional<double> last_better_s;  ///< when the best mapping was found
    double search_s = 0;                  ///< until the search ended
    double peak_memory_bytes = 0;
    bool folder = false;  ///< the run is kept, so it can be resumed
};

/// One sentence of what is proven, the space that it holds for, and what to try if nothing is.
void print_proof(std::ostream& out, const mapper::Result& result, const mapper::Options& settings,
                 const UsageGoals& usage, const Measured& measured,
                 const arch::Architecture& architecture);

}  // namespace tessera::cli
