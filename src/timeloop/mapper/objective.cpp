#include <cmath>

#include "timeloop/write.hpp"

namespace tessera::timeloop {
namespace {

enum class Betterness : std::uint8_t { better, slightly_better, slightly_worse, worse };

// Within 0.1 % the later objectives decide if one of them is clear; equality prefers the incumbent.
Betterness compare(const Cost& candidate, const Cost& incumbent,
                   const std::vector<Objective>& objectives, std::size_t i, int levels) {
    constexpr double tolerance = 0.001;
    const double a = objective_value(objectives[i], candidate, levels);
    const double b = objective_value(objectives[i], incumbent, levels);
    const double gain = b - a;
    const double relative = b != 0 ? gain / b : a == 0 ? 0 : gain / a;
    if (std::fabs(relative) > tolerance) {
        return relative > 0 ? Betterness::better : Betterness::worse;
    }
    if (i + 1 < objectives.size()) {
        const Betterness later = compare(candidate, incumbent, objectives, i + 1, levels);
        if (later == Betterness::better || later == Betterness::worse) {
            return later;
        }
    }
    return relative > 0 ? Betterness::slightly_better : Betterness::slightly_worse;
}

}  // namespace

double objective_value(const Objective& objective, const Cost& cost, int storage_levels) {
    switch (objective.kind) {
        case Objective::Kind::edp:
            return cost.edp();
        case Objective::Kind::energy:
            return cost.energy_pj;
        case Objective::Kind::delay:
            return static_cast<double>(cost.cycles);
        case Objective::Kind::last_level_accesses:
            return static_cast<double>(cost.accesses[storage_levels - 1]);
        case Objective::Kind::accesses:
            return static_cast<double>(cost.accesses[objective.level]);
    }
    return 0;
}

bool is_better(const Cost& candidate, const Cost& incumbent,
               const std::vector<Objective>& objectives, int storage_levels) {
    const Betterness b = compare(candidate, incumbent, objectives, 0, storage_levels);
    return b == Betterness::better || b == Betterness::slightly_better;
}

double MapperResult::gap(const std::vector<Objective>& objectives) const {
    if (proof == Proof::optimal) {
        return 0;
    }
    if (!best || !bound) {
        return 1;
    }
    const Objective first = objectives.empty() ? Objective{} : objectives.front();
    const double value = objective_value(first, cost, static_cast<int>(best->levels.size()));
    return value <= 0 ? 0 : std::max(0.0, (value - *bound) / value);
}

std::string compact_text(const Problem& problem, const Mapping& mapping) {
    const std::vector<std::vector<Loop>> loops = printed_loops(problem, mapping);
    std::string text;
    for (int level = static_cast<int>(mapping.levels.size()) - 1; level >= 0; --level) {
        text += "L" + std::to_string(level) + "[";
        for (std::size_t ds = 0; ds < problem.data_spaces.size(); ++ds) {
            if (mapping.levels[level].keeps(static_cast<int>(ds))) {
                text += problem.data_spaces[ds].name.substr(0, 1);
            }
        }
        text += "] ";
        for (auto loop = loops[level].rbegin(); loop != loops[level].rend(); ++loop) {
            text += problem.dimensions[loop->dimension].name + std::to_string(loop->end);
            if (loop->residual != loop->end) {
                text += "," + std::to_string(loop->residual);
            }
            text += loop->kind == LoopKind::temporal    ? " "
                    : loop->kind == LoopKind::spatial_x ? "X "
                                                        : "Y ";
        }
        text += level > 0 ? "- " : "";
    }
    return text;
}

}  // namespace tessera::timeloop
