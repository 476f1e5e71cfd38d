// TransFusion: every phase is one fused group, scheduled by DPipe on both arrays.
//
//   cascade    the Einsums of a phase with their work, and who waits for whom
//   lanes      how many units of each array an Einsum can use
//   bytes      DRAM traffic under the outer tiles
//   schedule   binding and stages from compute latencies alone, then the order with DRAM times
#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/error.hpp"
#include "transfusion/phases.hpp"

namespace tessera::transfusion {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What an Einsum's points can be spread over.
enum class Spread : std::uint8_t {
    full,    ///< rows and columns
    packed,  ///< rows; columns take several heads
    rows     ///< rows only
};

struct Einsum {
    const char* name;
    double operations;
    Spread spread = Spread::full;
    bool only_1d = false;  ///< it takes a maximum or divides
    double bytes = 0;
};

struct Cascade {
    std::vector<Einsum> einsums;
    std::vector<schedule::Edge> edges, recurrences;
};

std::vector<schedule::Edge> chain(std::size_t n) {
    std::vector<schedule::Edge> edges;
    for (int i = 0; i + 1 < static_cast<int>(n); ++i) {
        edges.push_back({i, i + 1});
    }
    return edges;
}

Cascade projections(const Sizes& z, const OuterTiles& t) {
    // Weights are read again for every outer tile only if an inner loop at DRAM indexes them.
    const double work = z.T * z.D * z.D, b = static_cast<double>(t.b);
    const double for_q = z.weights * (t.d > 1 ? b * static_cast<double>(t.p) : 1);
    const double for_k = z.weights * (t.d > 1 ? b * static_cast<double>(t.m) : 1);
    return {{{"Q", work, Spread::full, false, for_q + z.act},
             {"BK", work, Spread::full, false, for_k + 2 * z.act},
             {"BV", work, Spread::full, false, for_k + z.act}},
            {},
            {}};
}

Cascade attention(const Sizes& z, const OuterTiles& t, bool maximum_on_2d) {
    const double points = z.B * z.H * z.P * z.P, states = z.B * z.H * z.P * z.nP;
    const double keys = z.act * (t.m > 1 ? static_cast<double>(t.p) : 1);
    enum { QK, LM, RM, SLN, SLD, SLNV, PRM, SPD, RD, SPNV, RNV, AV };
    return {{{"QK", points * z.E, Spread::full, false, keys},
             {"LM", points, Spread::full, !maximum_on_2d},
             {"RM", states, Spread::packed, true},
             {"SLN", 7 * points},
             {"SLD", points},
             {"SLNV", points * z.E, Spread::full, false, keys},
             {"PRM", 7 * states, Spread::packed},
             {"SPD", states, Spread::packed},
             {"RD", states, Spread::packed},
             {"SPNV", states * z.E, Spread::packed},
             {"RNV", states * z.E, Spread::packed},
             {"AV", z.T * z.D, Spread::packed, true}},
            {{QK, LM},
             {LM, RM},
             {RM, SLN},
             {RM, PRM},
             {SLN, SLD},
             {SLN, SLNV},
             {SLD, RD},
             {SLNV, RNV},
             {PRM, SPD},
             {PRM, SPNV},
             {SPD, RD},
             {SPNV, RNV},
             {RD, AV},
             {RNV, AV}},
            {{RM, RM}, {RD, SPD}, {RNV, SPNV}}};
}

Cascade norm(const Sizes& z) {
    const double work = z.T * z.D;
    return {{{"IAV", work},
             {"SAV", work},
             {"MAV", z.T, Spread::rows},
             {"DAV", work},
             {"QAV", work},
             {"SQAV", work},
             {"MQAV", z.T, Spread::rows},
             {"SR", 6 * z.T, Spread::rows},
             {"NR", work}},
            chain(9),
            {}};
}

Cascade feed_forward(const Sizes& z) {
    const double work = z.T * z.D * z.S, weights = 2 * z.D * z.S;
    return {{{"FFN1", work, Spread::full, false, weights},
             {"AR", z.activation * z.T * z.S, Spread::full, true},
             {"FFN2", work, Spread::full, false, weights}},
            chain(3),
            {}};
}

Cascade cascade(const Sizes& z, Phase phase, const OuterTiles& tiles, const Settings& settings) {
    switch (phase) {
        case Phase::qkv:
            return projections(z, tiles);
        case Phase::attention:
            return attention(z, tiles, settings.maximum_on_2d);
        case Phase::norm:
            return norm(z);
        default:
            return feed_forward(z);
    }
}

double lanes(const Sizes& z, Spread spread, Unit unit) {
    const double heads = std::min({z.r, z.H, 4.0}), rows = std::min(z.r, z.l1);
    if (unit == Unit::array_2d) {
        return spread == Spread::full ? z.r * z.r : spread == Spread::rows ? z.r : z.r * heads;
    }
    return spread == Spread::full   ? z.l1
           : spread == Spread::rows ? rows
                                    : rows * std::min(std::floor(z.l1 / rows), heads);
}

EinsumCost cost(const Sizes& z, const Einsum& einsum, Unit unit) {
    const double used = lanes(z, einsum.spread, unit);
    return unit == Unit::array_2d ? z.on_2d(einsum.name, einsum.operations, used, einsum.bytes)
                                  : z.on_1d(einsum.name, einsum.operations, used, einsum.bytes);
}

schedule::Dag graph(const Sizes& z, const Cascade& cascade, bool with_dram) {
    schedule::Dag dag{{"2D", "1D"}, {}, cascade.edges, cascade.recurrences};
    for (const Einsum& einsum : cascade.einsums) {
        const auto latency = [&](Unit unit) {
            const EinsumCost found = cost(z, einsum, unit);
            return with_dram ? found.latency_s() : found.compute_s;
        };
        dag.tasks.push_back(
            {einsum.name,
             {einsum.only_1d ? infinity : latency(Unit::array_2d), latency(Unit::array_1d)}});
    }
    return dag;
}

std::vector<Unit> units(const std::vector<int>& binding) {
    std::vector<Unit> found;
    for (const int unit : binding) {
        found.push_back(unit == 0 ? Unit::array_2d : Unit::array_1d);
    }
    return found;
}

/// Takes every other unit away. Nothing is bound by an empty binding.
void bind(schedule::Dag& dag, const std::vector<Unit>& binding) {
    for (std::size_t i = 0; i < binding.size(); ++i) {
        schedule::Task& task = dag.tasks.at(i);
        const auto unit = static_cast<std::size_t>(binding[i]);
        if (task.latency_s[unit] == infinity) {
            throw IllegalMapping("Einsum '" + task.name + "' cannot run on the " + dag.units[unit] +
                                 " array in TransFusion's evaluation");
        }
        task.latency_s[1 - unit] = infinity;
    }
}

}  // namespace

double transfusion_dram_bytes(const Sizes& z, Phase phase, const OuterTiles& tiles) {
    double sum = 0;
    for (const Einsum& einsum : cascade(z, phase, tiles, {}).einsums) {
        sum += einsum.bytes;
    }
    return sum;
}

PhaseCost transfusion_phase(const Sizes& z, Phase phase, const OuterTiles& tiles,
                            const Settings& settings, const std::vector<Unit>& bound) {
    const Cascade found = cascade(z, phase, tiles, settings);
    PhaseCost made;
    made.dag = graph(z, found, true);
    bind(made.dag, bound);
    if (settings.pipeline == schedule::Mode::paper) {
        schedule::Dag computes = graph(z, found, false);
        bind(computes, bound);
        const schedule::Schedule chosen = schedule::pipeline(computes, settings.pipeline);
        bind(made.dag, units(chosen.binding()));
        made.schedule = schedule::best_order(made.dag, chosen.overlap, schedule::Binding::greedy);
    } else {
        made.schedule = schedule::pipeline(made.dag, settings.pipeline);
    }
    made.latency_s = made.schedule.interval_s;
    made.stage = made.schedule.overlap.stage;
    made.start_s.resize(made.dag.tasks.size());
    for (const schedule::Placement& one : made.schedule.placements) {
        made.start_s[static_cast<std::size_t>(one.task)] = one.start_s;
    }
    const std::vector<Unit> binding = units(made.schedule.binding());
    for (std::size_t i = 0; i < binding.size(); ++i) {
        made.einsums.push_back(cost(z, found.einsums[i], binding[i]));
    }
    return made;
}

}  // namespace tessera::transfusion
