#include <cmath>

#include "timeloop/mapper/pool.hpp"
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

std::string name_of(const Objective& objective) {
    switch (objective.kind) {
        case Objective::Kind::edp:
            return "edp";
        case Objective::Kind::energy:
            return "energy";
        case Objective::Kind::delay:
            return "delay";
        case Objective::Kind::last_level_accesses:
            return "last-level-accesses";
        case Objective::Kind::accesses:
            return "accesses-" + std::to_string(objective.level);
    }
    return "";
}

}  // namespace

std::string names(const std::vector<Objective>& objectives, std::size_t first, std::size_t count) {
    std::string text;
    for (std::size_t i = first; i < objectives.size() && i < first + count; ++i) {
        text += (text.empty() ? "" : ", ") + name_of(objectives[i]);
    }
    return text;
}

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

double tie_of(const Objective& objective) {
    return objective.kind == Objective::Kind::energy || objective.kind == Objective::Kind::edp ? tie
                                                                                               : 0;
}

double guide(const std::vector<Objective>& objectives, std::size_t first, const Cost& cost,
             int storage_levels) {
    constexpr double step = 1e-7, most_bits = 1100;  // of a double's exponent
    double value = objective_value(objectives[first], cost, storage_levels), share = 1;
    for (std::size_t i = first + 1; i < objectives.size(); ++i) {
        const double later = objective_value(objectives[i], cost, storage_levels);
        share *= step;
        value *= 1 + (later > 0 ? share * (std::log2(later) + most_bits) / (2 * most_bits) : 0);
    }
    return value;
}

int compare_in_order(const Cost& a, const Cost& b, const std::vector<Objective>& objectives,
                     int storage_levels) {
    for (std::size_t i = 0; i < objectives.size(); ++i) {
        const double left = objective_value(objectives[i], a, storage_levels);
        const double right = objective_value(objectives[i], b, storage_levels);
        const double equal = i + 1 < objectives.size() ? tie_of(objectives[i]) * right : 0;
        if (std::fabs(left - right) > equal) {
            return left < right ? -1 : 1;
        }
    }
    return 0;
}

double MapperResult::gap(const std::vector<Objective>& objectives) const {
    if (proof == Proof::optimal) {
        return 0;
    }
    const std::optional<double>& least = proven == 0 ? bound : next_bound;
    if (!best || !least) {
        return 1;
    }
    const Objective open = proven < objectives.size() ? objectives[proven] : Objective{};
    const double value = objective_value(open, cost, static_cast<int>(best->levels.size()));
    return value <= 0 ? 0 : std::max(0.0, (value - *least) / value);
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
