#include "transfusion/tiling.hpp"
#include "tessera/base/divisors.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"
#include "transfusion/buffer.hpp"

namespace tessera::transfusion {

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
    divisors_[0] = base::divisors(problem.batch);
    divisors_[1] = divisors_[2] = base::divisors(problem.tokens / edge);
    divisors_[3] = base::divisors(problem.model.width());
    divisors_[4] = base::divisors(problem.model.hidden / edge);
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
    : problem_(problem), objective_(objective), sizes_(problem) {
    for (std::size_t i = 0; i < phase_count; ++i) {
        phases_[i] = transfusion_phase(sizes_, static_cast<Phase>(i), {}, {});
    }
    compute_j_ = compute_energy_j(sizes_, Method::transfusion, problem.model.activation);
    const auto runs = phase_runs(problem.model.stack);
    for (const Phase phase : {Phase::norm, Phase::feed_forward}) {
        const auto i = static_cast<std::size_t>(phase);
        fixed_s_ += runs[i] * phases_[i].latency_s;
    }
}

double Objectives::energy_j(Phase phase, const OuterTiles& tiles) const {
    PhaseCost cost;
    cost.einsums = phases_[static_cast<std::size_t>(phase)].einsums;
    add_buffer_words(problem_, Method::transfusion, phase, tiles, cost);
    return dram_energy_j(transfusion_dram_bytes(sizes_, phase, tiles)) +
           buffer_energy_j(problem_.accelerator, cost);
}

double Objectives::energy_j(const OuterTiles& t) {
    const std::array<std::array<std::int64_t, 4>, phase_count> keys = {
        {{t.b, t.p, t.m, t.d}, {t.b, t.p, t.m, 1}, {t.b, t.p, 1, 1}, {t.b, t.p, t.s, 1}}};
    double sum = compute_j_;
    for (std::size_t i = 0; i < phase_count; ++i) {
        const auto [at, fresh] = energies_j_[i].try_emplace(keys[i], 0);
        if (fresh) {
            at->second = energy_j(static_cast<Phase>(i), t);
        }
        sum += at->second;
    }
    return sum;
}

double Objectives::latency_s(const OuterTiles& tiles) {
    const auto runs = phase_runs(problem_.model.stack);
    const auto kept = [&](auto& known, Phase phase, std::pair<std::int64_t, std::int64_t> key) {
        const auto found = known.find(key);
        return found != known.end()
                   ? found->second
                   : known[key] = runs[static_cast<std::size_t>(phase)] *
                                  transfusion_phase(sizes_, phase, tiles, {}).latency_s;
    };
    const auto refetches = tiles.d > 1 ? std::pair(tiles.b * tiles.p, tiles.b * tiles.m)
                                       : std::pair(std::int64_t{0}, std::int64_t{0});
    const auto passes = std::pair(tiles.m > 1 ? tiles.p : std::int64_t{1}, std::int64_t{0});
    return kept(projections_s_, Phase::qkv, refetches) +
           kept(attention_s_, Phase::attention, passes) + fixed_s_;
}

double Objectives::value(const OuterTiles& tiles) {
    switch (objective_) {
        case Objective::energy:
            return energy_j(tiles);
        case Objective::latency:
            return latency_s(tiles);
        default:
            return energy_j(tiles) * latency_s(tiles);
    }
}

double objective_value(const Problem& problem, const OuterTiles& tiles, Objective objective) {
    return Objectives(problem, objective).value(tiles);
}

}  // namespace tessera::transfusion
