// Unfused, FLAT, FuseMax, FuseMax with fused layers: closed forms of the published evaluation.
//
// All of them map rows p (or n) to the edge of the 2D array and to r lanes of the 1D array.
#include <algorithm>
#include <cmath>

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
    const double q = std::max(1.0, std::floor(z.nP / query_tile(z, true)));
    const bool refetch = tiles.d > 1;
    const double for_q = z.weights * (refetch ? z.B * q : 1);
    const double for_k = z.weights * (refetch ? z.B * z.nP : 1);
    return in_sequence({z.on_2d("Q", work, lanes, for_q + z.act),
                        z.on_2d("BK", work, lanes, for_k + 2 * z.act),
                        z.on_2d("BV", work, lanes, for_k + z.act)});
}

PhaseCost unfused_attention(const Sizes& z) {
    const double points = z.B * z.H * z.P * z.P, scores = 2 * points;
    const double array = z.r * z.r, work = points * z.E;
    return in_sequence(
        {z.on_2d("QK", work, array, 2 * z.act * z.nP + scores), z.on_1d("max", points, z.r, scores),
         z.on_1d("exp", 7 * points, z.r, scores), z.on_1d("sum", points, z.r),
         z.on_1d("divide", points, z.r, scores),
         // Partial sums spill: written for every key tile, read again for all but the first.
         z.on_2d("AV", work, array, scores + z.act * z.nP + z.act * (2 * z.nP - 1))});
}

PhaseCost flat_attention(const Sizes& z) {
    const double points = z.B * z.H * z.P * z.P, work = points * z.E;
    const double q = z.nP > 1 ? std::max(1.0, std::floor(z.nP / query_tile(z, false))) : 1;
    return in_sequence({z.on_2d("QK", work, z.r * z.r, z.act + z.act * q),
                        z.on_1d("softmax", 10 * points, z.r),
                        z.on_2d("AV", work, z.r * std::min(z.r, z.E), z.act + z.act * q)});
}

/// 2D: QK, SLN, SLD, SLNV. 1D: the rest. Four steps follow each other, in each the arrays overlap.
PhaseCost fusemax_attention(const Sizes& z, bool fused_layers) {
    const double points = z.B * z.H * z.P * z.P, states = z.B * z.H * z.P * z.nP;
    const double array = z.r * z.r, io = fused_layers ? 0 : z.act;
    const double q = z.nP > 1 ? std::max(1.0, std::floor(z.nP / query_tile(z, fused_layers))) : 1;
    const EinsumCost qk = z.on_2d("QK", points * z.E, array, z.act * q + io);
    const EinsumCost lm = z.on_1d("LM", points, z.r), rm = z.on_1d("RM", states, z.r);
    const EinsumCost sln = z.on_2d("SLN", 7 * points, array), sld = z.on_2d("SLD", points, array);
    const EinsumCost prm = z.on_1d("PRM", 7 * states, z.r), spd = z.on_1d("SPD", states, z.r);
    const EinsumCost slnv = z.on_2d("SLNV", points * z.E, array, z.act * q);
    const EinsumCost spnv = z.on_1d("SPNV", states * z.E, z.r);
    const EinsumCost rd = z.on_1d("RD", states, z.r), rnv = z.on_1d("RNV", states * z.E, z.r);
    const EinsumCost av = z.on_1d("AV", z.T * z.D, z.r, io);
    PhaseCost phase = in_sequence({qk, lm, rm, sln, sld, prm, spd, slnv, spnv, rd, rnv, av});
    phase.latency_s =
        std::max(qk.latency_s(), rd.latency_s() + rnv.latency_s() + av.latency_s()) +
        lm.latency_s() + rm.latency_s() +
        std::max(sln.latency_s() + sld.latency_s(), prm.latency_s() + spd.latency_s()) +
        std::max(slnv.latency_s(), spnv.latency_s());
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
    for (double t = 1; t <= std::min(z.nP, fits) && footprint(t) < z.L3; ++t) {
        if (std::fmod(z.nP, t) == 0) {
            tile = t;
        }
    }
    return tile;
}

PhaseCost baseline_phase(const Sizes& z, Method method, Phase phase, const OuterTiles& tiles) {
    const bool fused_layers = method == Method::fusemax_layerfuse;
    switch (phase) {
        case Phase::qkv:
            return projections(z, method, tiles);
        case Phase::attention:
            return method == Method::unfused ? unfused_attention(z)
                   : method == Method::flat  ? flat_attention(z)
                                             : fusemax_attention(z, fused_layers);
        case Phase::norm:
            return norm(z, fused_layers);
        default:
            return feed_forward(z, fused_layers);
    }
}

}  // namespace tessera::transfusion
