#include "transfusion/tiling.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"

namespace tessera::transfusion {

namespace {

std::vector<std::int64_t> divisors(std::int64_t n) {
    std::vector<std::int64_t> found;
    for (std::int64_t i = 1; i * i <= n; ++i) {
        if (n % i == 0) {
            found.push_back(i);
            if (i != n / i) {
                found.push_back(n / i);
            }
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

std::array<double, phase_count> buffer_bytes(const Problem& problem, const OuterTiles& tiles) {
    const Sizes z(problem);
    const double b = z.B / static_cast<double>(tiles.b), d = z.D / static_cast<double>(tiles.d);
    const double p = z.P / static_cast<double>(tiles.p), keys = z.P / static_cast<double>(tiles.m);
    const double s = z.S / static_cast<double>(tiles.s), rows = z.r;
    const double qkv = b * d * (4 * p + 3 * keys) + 3 * d * z.D + 2 * b * z.H * p;
    // Queries, double-buffered keys and values; running states; scores; staging slices.
    const double attention =
        b * z.D * (p + 2 * keys) + b * z.H * p * (2 + 2 * z.E) + 4 * z.r * rows + 18 * rows;
    const double norm = 3 * b * z.D * p + 4 * z.D * rows;
    const double feed_forward = z.D * (2 * b * p + s) + s * (p + 2) + 2 * s * rows;
    return {2 * qkv, 2 * attention, 2 * norm, 2 * feed_forward};
}

bool legal(const Problem& problem, const OuterTiles& tiles) {
    const std::int64_t edge = problem.accelerator.edge;
    const auto divides = [](std::int64_t count, std::int64_t size) {
        return count >= 1 && size % count == 0;
    };
    if (!divides(tiles.b, problem.batch) || !divides(tiles.d, problem.model.width()) ||
        !divides(tiles.m, problem.tokens / edge) || !divides(tiles.p, problem.tokens / edge) ||
        !divides(tiles.s, problem.model.hidden / edge)) {
        return false;
    }
    const auto bytes = buffer_bytes(problem, tiles);
    return *std::max_element(bytes.begin(), bytes.end()) <= problem.accelerator.buffer_bytes;
}

Tilings::Tilings(const Problem& problem) : problem_(problem) {
    check(problem);
    const std::int64_t edge = problem.accelerator.edge;
    if (problem.model.hidden % edge != 0) {
        throw UserError("hidden size " + std::to_string(problem.model.hidden) +
                        "; tiles need a multiple of the array's edge, " + std::to_string(edge));
    }
    divisors_[0] = divisors(problem.batch);
    divisors_[1] = divisors_[2] = divisors(problem.tokens / edge);
    divisors_[3] = divisors(problem.model.width());
    divisors_[4] = divisors(problem.model.hidden / edge);
    if (!fits({})) {
        throw NoLegalMapping("the least tiles of " + problem.model.name + " exceed the buffer of " +
                             problem.accelerator.name + " (Table 2 of TransFusion)");
    }
}

OuterTiles Tilings::tiles(const Prefix& prefix) {
    return {prefix.at(0), prefix.at(3), prefix.at(2), prefix.at(1), prefix.at(4)};
}

bool Tilings::fits(Prefix prefix) const {
    while (prefix.size() < levels) {
        prefix.push_back(divisors_[prefix.size()].back());
    }
    return legal(problem_, tiles(prefix));
}

std::vector<std::int64_t> Tilings::choices(const Prefix& prefix) const {
    std::vector<std::int64_t> found;
    Prefix longer = prefix;
    longer.push_back(0);
    for (const std::int64_t count : divisors_[prefix.size()]) {
        longer.back() = count;
        if (fits(longer)) {
            found.push_back(count);
        }
    }
    return found;
}

Objectives::Objectives(const Problem& problem, Objective objective)
    : problem_(problem),
      objective_(objective),
      sizes_(problem),
      energy_(known(Objective::energy)),
      latency_(known(Objective::latency)) {}

Objectives::Known Objectives::known(Objective objective) const {
    Known made{objective, 0, {}, {}};
    made.fixed =
        phase_value(objective, Phase::norm, {}) + phase_value(objective, Phase::feed_forward, {});
    if (objective == Objective::energy) {
        made.fixed += compute_energy_j(sizes_, Method::transfusion, problem_.model.activation);
    }
    return made;
}

double Objectives::phase_value(Objective objective, Phase phase, const OuterTiles& tiles) const {
    if (objective == Objective::energy) {
        return dram_energy_j(transfusion_dram_bytes(sizes_, phase, tiles));
    }
    return phase_runs(problem_.model.stack)[static_cast<std::size_t>(phase)] *
           transfusion_phase(sizes_, phase, tiles, {}).latency_s;
}

double Objectives::value(const OuterTiles& tiles) {
    switch (objective_) {
        case Objective::energy:
            return value(energy_, tiles);
        case Objective::latency:
            return value(latency_, tiles);
        default:
            return value(energy_, tiles) * value(latency_, tiles);
    }
}

double Objectives::value(Known& known, const OuterTiles& tiles) const {
    const auto kept = [&](auto& values, Phase phase, std::pair<std::int64_t, std::int64_t> key) {
        const auto found = values.find(key);
        return found != values.end() ? found->second
                                     : values[key] = phase_value(known.objective, phase, tiles);
    };
    const auto refetches = tiles.d > 1 ? std::pair(tiles.b * tiles.p, tiles.b * tiles.m)
                                       : std::pair(std::int64_t{0}, std::int64_t{0});
    const auto passes = std::pair(tiles.m > 1 ? tiles.p : std::int64_t{1}, std::int64_t{0});
    return kept(known.projections, Phase::qkv, refetches) +
           kept(known.attention, Phase::attention, passes) + known.fixed;
}

double objective_value(const Problem& problem, const OuterTiles& tiles, Objective objective) {
    return Objectives(problem, objective).value(tiles);
}

OuterTiles baseline_tiles(const Problem& problem, Method method) {
    check(problem);
    const Sizes z(problem);
    OuterTiles tiles;
    tiles.p = baseline_query_tiles(z, method);
    if (method != Method::fusemax_layerfuse) {
        return tiles;
    }
    const double rows = z.r * query_tile(z, true);
    for (const std::int64_t d : divisors(problem.model.width())) {
        tiles.d = d;
        const double width = z.D / static_cast<double>(d);
        if (2 * (width * (4 * rows + 3 * z.r) + 3 * width * z.D + 2 * z.H * rows) <= z.L3) {
            break;
        }
    }
    return tiles;
}

}  // namespace tessera::transfusion
