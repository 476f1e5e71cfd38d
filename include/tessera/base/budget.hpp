// When a search ends before it is done. One object for all mappers and strategies.
#pragma once

#include <cstdint>
#include <optional>

namespace tessera::base {

/// Zero or empty: unlimited. The first limit that is met ends the search, which then returns the
/// best mapping so far with its true gap.
struct Budget {
    std::uint64_t max_evals = 0;         ///< mappings evaluated (pmappings, in ffm)
    double max_time_s = 0;               ///< wall clock
    double max_cpu_s = 0;                ///< of the whole process
    std::uint64_t stall_evals = 0;       ///< evaluations without a better incumbent
    std::uint64_t max_memory_bytes = 0;  ///< resident memory of the whole process
    double gap = 0;                      ///< (incumbent - bound) / incumbent; one metric only
    std::optional<double> target;        ///< of the metric, in its SI unit; one metric only
};

}  // namespace tessera::base
