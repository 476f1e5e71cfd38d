// Words that Einsums read from and write to the on-chip buffer in the published evaluation.
#pragma once

#include "transfusion/phases.hpp"

namespace tessera::transfusion {

/// Adds them to the Einsums of a phase. Method `transfusion` reads all outer tiles and the units of
/// the Einsums, baselines read p, and with fused layers d.
void add_buffer_words(const Problem& problem, Method method, Phase phase, const OuterTiles& tiles,
                      PhaseCost& cost);

double buffer_energy_j(const Accelerator& accelerator, const PhaseCost& cost);

}  // namespace tessera::transfusion
