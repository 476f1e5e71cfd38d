// How long a search will go on: a range, from what a snapshot shows.
#pragma once

#include "telemetry/snapshot.hpp"

namespace tessera::telemetry {

/// Sets `rest` of a snapshot whose other fields are set, if its run goes on and something is known.
///
/// At a random moment of a run of unknown length, it goes on for a quarter to four times as long as
/// it has run, with a chance of 3/5 (the moment lies between 1/5 and 4/5 of the whole). Limits
/// narrow that range. Measured (bench/rest) and not used, as each was wrong in a third of the runs
/// and more: the pace of a phase, whose items differ too much, and the decline of the gap, which a
/// proof closes at once. What has no bound may go on to its limit.
void estimate_rest(Snapshot& snapshot);

}  // namespace tessera::telemetry
