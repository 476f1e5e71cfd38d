// The four phases of a layer under each method. Sizes are doubles: products exceed 2^53 nowhere in
// a way that matters to a latency.
#pragma once

#include <initializer_list>

#include "tessera/transfusion/model.hpp"

namespace tessera::transfusion {

/// The letters of the closed forms.
struct Sizes {
    explicit Sizes(const Problem& problem);

    double r, l1, F, BW, L3;  ///< edge, lanes, clock, bandwidth, buffer
    double B, P, D, H, E, S;
    double T;           ///< tokens of all sequences
    double nP;          ///< query tiles of r rows
    double act;         ///< bytes of one activation
    double weights;     ///< bytes of one projection
    double activation;  ///< operations of the activation function

    double seconds(double operations, double lanes) const {
        return operations / lanes / F;
    }
    EinsumCost on_2d(const char* name, double operations, double lanes, double bytes = 0) const;
    EinsumCost on_1d(const char* name, double operations, double lanes, double bytes = 0) const;
};

/// The largest divisor of `bound` that is a product of a divisor of a and one of b.
double widest(double a, double b, double bound);

/// Einsums one after the other.
PhaseCost in_sequence(std::initializer_list<EinsumCost> einsums);

/// Query rows that are held together, in units of r rows, by FuseMax and FLAT; `all_heads`: with
/// every head resident.
double query_tile(const Sizes& z, bool all_heads);
/// How many tiles of queries visit all keys in a baseline.
std::int64_t query_tiles(const Sizes& z, Method method);

PhaseCost baseline_phase(const Sizes& z, Method method, Phase phase, const OuterTiles& tiles);
PhaseCost transfusion_phase(const Sizes& z, Phase phase, const OuterTiles& tiles,
                            const Settings& settings, const std::vector<Unit>& binding = {});
/// DRAM traffic without a schedule.
double transfusion_dram_bytes(const Sizes& z, Phase phase, const OuterTiles& tiles);
double dram_energy_j(double bytes);
/// Of all phases.
double compute_energy_j(const Sizes& z, Method method, Activation activation);
Operations operations(const Sizes& z, Method method, Phase phase, Activation activation);

}  // namespace tessera::transfusion
