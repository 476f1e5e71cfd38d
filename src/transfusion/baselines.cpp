// Unfused, FLAT, FuseMax, FuseMax with fused layers: closed forms of the published evaluation.
//
// All of them map rows p (or n) to the edge of the 2D array and to r lanes of the 1D array.
#include <algorithm>
#include <cmath>

#include "tessera/base/divisors.hpp"
#include "transfusion/phases.hpp"

namespace tessera::transfusion {

namespace {

/// Bytes of the projections' weights, read once or for every pass.
PhaseCost projections(const Sizes& z, Method method, const OuterTiles& tiles) {
    if (method != Method::fusemax_layerfuse) {
        // Every temporal loop at DRAM, d innermost: the input is read for each group of columns.
        const double columns = widest(1, z.E, z.r), lanes = z.r * columns;
        const double weights = z.weights * z.B * z.nP;
        const double input = z.act * z.H * std::floor(z.E / columns);
        const double work = z.T * z.D * z.D;
        return in_sequence({z.on_2d("Q", work, lanes, input + weights + z.act),
                            z.on_2d("BK", work, lanes, input + weights + z.act),
                            z.on_2d("BV", work, lanes, weights + z.act)});
    }
    const double lanes = z.r * widest(z.H, z.E, z.r), work = z.T * z.D * z.D;
    const bool refetch = tiles.d > 1;
    const double for_q = z.weights * (refetch ? z.B * static_cast<double>(tiles.p) : 1);
    const double for_k = z.weights * (refetch ? z.B * z.nP : 1);
    return in_sequence({z.on_2d("Q", work, lanes, for_q + z.act),
                        z.on_2d("BK", work, lanes, for_k + 2 * z.act),
                        z.on_2d("BV", work, lanes, for_k + z.act)});
}

PhaseCost unfused_attention(const Sizes& z) {
    const double points = z.B * z.H * z.P * z.P, scores = 2 * points;
    const double array = z.r * z.r, work = points * z.E;
    return in_sequence(
        {z.on_2d("QK", work, array, 2 * z.act * z.nP + scores), z.on_1d("MX", points, z.r, scores),
         z.on_1d("SN", 7 * points, z.r, scores), z.on_1d("SD", points, z.r),
         z.on_1d("SM", points, z.r, scores),
         // Partial sums spill: written for every key tile, read again for all but the first.
         z.on_2d("AV", work, array, scores + z.act * z.nP + z.act * (2 * z.nP - 1))});
}

PhaseCost flat_attention(const Sizes& z, double q) {
    const double points = z.B * z.H * z.P * z.P, work = points * z.E;
    return in_sequence({z.on_2d("QK", work, z.r * z.r, z.act + z.act * q),
                        z.on_1d("MX", points, z.r), z.on_1d("SN", 7 * points, z.r),
                        z.on_1d("SD", points, z.r), z.on_1d("SM", points, z.r),
                        z.on_2d("AV", work, z.r * std::min(z.r, z.E), z.act + z.act * q)});
}

/// 2D: QK, SLN, SLD, SLNV. 1D: the rest. Four steps follow each other, in each the arrays overlap.
/// In the first one the 1D array ends the tile of keys before.
PhaseCost fusemax_attention(const Sizes& z, bool fused_layers, double q) {
    const double points = z.B * z.H * z.P * z.P, states = z.B * z.H * z.P * z.nP;
    const double array = z.r * z.r, io = fused_layers ? 0 : z.act;
    PhaseCost phase;
    const auto in_turn = [&](double start_s, const std::vector<EinsumCost>& einsums, int stage) {
        for (const EinsumCost& one : einsums) {
            phase.einsums.push_back(one);
            phase.start_s.push_back(start_s);
            phase.stage.push_back(stage);
            start_s += one.latency_s();
        }
        return start_s;
    };
    const auto step = [&](const std::vector<EinsumCost>& on_2d,
                          const std::vector<EinsumCost>& on_1d, int stage_1d = 0) {
        phase.latency_s =
            std::max(in_turn(phase.latency_s, on_2d, 0), in_turn(phase.latency_s, on_1d, stage_1d));
    };
    step({z.on_2d("QK", points * z.E, array, z.act * q + io)},
         {z.on_1d("RD", states, z.r), z.on_1d("RNV", states * z.E, z.r),
          z.on_1d("AV", z.T * z.D, z.r, io)},
         1);
    step({}, {z.on_1d("LM", points, z.r), z.on_1d("RM", states, z.r)});
    step({z.on_2d("SLN", 7 * points, array), z.on_2d("SLD", points, array)},
         {z.on_1d("PRM", 7 * states, z.r), z.on_1d("SPD", states, z.r)});
    step({z.on_2d("SLNV", points * z.E, array, z.act * q)}, {z.on_1d("SPNV", states * z.E, z.r)});
    return phase;
}

PhaseCost norm(const Sizes& z, bool fused_layers) {
    const double lanes = z.r * widest(fused_layers ? z.H : 1, z.E, std::floor(z.l1 / z.r));
    const double work = z.T * z.D, io = fused_layers ? 0 : z.act;
    return in_sequence(
        {z.on_1d("IAV", work, lanes, io), z.on_1d("SAV", work, lanes), z.on_1d("MAV", z.T, z.r),
         z.on_1d("DAV", work, lanes), z.on_1d("QAV", work, lanes), z.on_1d("SQAV", work, lanes),
         z.on_1d("MQAV", z.T, z.r), z.on_1d("SR", 6 * z.T, z.r), z.on_1d("NR", work, lanes, io)});
}

PhaseCost feed_forward(const Sizes& z, bool fused_layers) {
    const double work = z.T * z.D * z.S, array = z.r * z.r;
    if (fused_layers) {
        // Weights once, although tiles of p visit them again: as published.
        return in_sequence(
            {z.on_2d("FFN1", work, array, 2 * z.D * z.S),
             z.on_1d("AR", z.activation * z.T * z.S, z.r * std::max(1.0, std::floor(z.l1 / z.r))),
             z.on_2d("FFN2", work, array, 2 * z.D * z.S)});
    }
    const double tiles = std::floor(z.S / z.r), weights = 2 * z.D * z.S * z.B * z.nP;
    return in_sequence({z.on_2d("FFN1", work, array, z.act * tiles + weights),
                        z.on_1d("AR", z.activation * z.T * z.S, z.l1),
                        z.on_2d("FFN2", work, array,
                                z.act * (2 * tiles - 1) + weights + 2 * z.D * z.B * z.nP * tiles)});
}

/// Of the input's width, what fits beside all heads of `rows` queries and of a tile of keys and
/// values, and with which every projection fits by itself.
double width_tile(const Sizes& z, double rows) {
    const double left = z.L3 - 2 * z.D * (rows + 2 * z.r) - 2 * z.r;
    const double most = left / (2 * (rows + 2 * z.r + 3 * z.D));
    const auto largest = [&](double d) {
        return 2 * std::max(d * rows + d * z.D + z.D * rows, d * z.r + d * z.D + z.D * z.r);
    };
    double tile = 1;
    for (const std::int64_t divisor : base::divisors(static_cast<std::int64_t>(z.D))) {
        const auto d = static_cast<double>(divisor);
        if (d <= most && largest(d) < z.L3) {
            tile = d;
        }
    }
    return tile;
}

}  // namespace

double query_tile(const Sizes& z, bool all_heads) {
    const double h = all_heads ? z.H : 1, r = z.r, E = z.E;
    const double left = z.L3 - 4 * r * E * h - 2 * r;
    const double fits = std::max(1.0, std::floor(left / ((2 * E + 2) * 2 * h * r)));
    // No single Einsum's operands may exceed the buffer.
    const auto footprint = [&](double t) {
        const double rows = t * r, n = r;
        return 2 * std::max({E * h * rows + rows + E * h, E * h * n + n + E * h,
                             n * h * rows + E * h * rows + E * h * n, h * rows * n + h * rows,
                             2 * h * n * rows + h * rows, E * h * rows + E * h * n + h * n * rows,
                             3 * E * h * rows, h * rows * (2 + 2 * E),
                             r * rows + E * h * r + E * h * rows + r, 2 * E * h * rows + h * rows});
    };
    double tile = 1;
    for (const std::int64_t divisor : base::divisors(static_cast<std::int64_t>(z.nP))) {
        const auto t = static_cast<double>(divisor);
        tile = t <= fits && footprint(t) < z.L3 ? t : tile;
    }
    return tile;
}

std::int64_t query_tiles(const Sizes& z, Method method) {
    const double tile = query_tile(z, method == Method::fusemax_layerfuse);
    return static_cast<std::int64_t>(std::max(1.0, std::floor(z.nP / tile)));
}

PhaseCost baseline_phase(const Sizes& z, Method method, Phase phase, const OuterTiles& tiles) {
    const bool fused_layers = method == Method::fusemax_layerfuse;
    const double q = static_cast<double>(tiles.p);
    switch (phase) {
        case Phase::qkv:
            return projections(z, method, tiles);
        case Phase::attention:
            return method == Method::unfused ? unfused_attention(z)
                   : method == Method::flat  ? flat_attention(z, q)
                                             : fusemax_attention(z, fused_layers, q);
        case Phase::norm:
            return norm(z, fused_layers);
        default:
            return feed_forward(z, fused_layers);
    }
}

OuterTiles baseline_tiles(const Problem& problem, Method method) {
    check(problem);
    const Sizes z(problem);
    OuterTiles tiles;
    tiles.p = query_tiles(z, method);
    if (method == Method::fusemax_layerfuse) {
        tiles.d = static_cast<std::int64_t>(z.D / width_tile(z, query_tile(z, true) * z.r));
    }
    return tiles;
}

}  // namespace tessera::transfusion
