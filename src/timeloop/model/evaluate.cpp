// The as-written evaluator: nest analysis, accounting, then every printed figure.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "accounting.hpp"
#include "counters.hpp"
#include "machine.hpp"
#include "nest_result.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/sparse/evaluate.hpp"

namespace tessera::timeloop {

namespace {

/// Bits of an address that counts the vectors of a level.
std::uint64_t address_bits(std::uint64_t scalars, std::uint64_t block) {
    const double range = std::max(1.0, static_cast<double>(scalars / block));
    return static_cast<std::uint64_t>(std::ceil(std::log2(range)));
}

/// What needs no accounting.
class StatsBuilder {
public:
    StatsBuilder(const Problem& problem, const Architecture& architecture, const Machine& machine,
                 const FlatMapping& flat, Stats& stats)
        : problem_(problem),
          architecture_(architecture),
          machine_(machine),
          flat_(flat),
          stats_(stats) {}

    void run() {
        stats_.arithmetic.area_um2 =
            architecture_.arithmetic.area_um2 * machine_.arithmetic_instances;
        stats_.area_um2 = stats_.arithmetic.area_um2;
        for (int i = 0; i < machine_.levels; ++i) {
            level(i);
        }
        intensities();
        for (int s = 0; s < machine_.spaces; ++s) {
            note_forgotten(s);
        }
    }

private:
    void level(int i);
    void intensities();
    void note_forgotten(int space);

    const Problem& problem_;
    const Architecture& architecture_;
    const Machine& machine_;
    const FlatMapping& flat_;
    Stats& stats_;
};

void StatsBuilder::level(int i) {
    const StorageLevel& storage = architecture_.storage[i];
    LevelStats& stats = stats_.levels[i];
    std::uint64_t used = 0;
    for (const DataSpaceStats& space : stats.data_spaces) {
        used += space.utilized_capacity;
    }
    stats.addr_gen_bits = address_bits(
        storage.size ? static_cast<std::uint64_t>(*storage.size) : used, machine_.level[i].block);
    stats.area_um2 = storage.area_um2 * static_cast<double>(storage.instances);
    stats_.area_um2 += stats.area_um2;
    stats_.networks[i].name = architecture_.network_name(i);
}

// Single precision and integer division are Timeloop's.
void StatsBuilder::intensities() {
    std::uint64_t outputs = 0;
    for (int s = 0; s < machine_.spaces; ++s) {
        std::uint64_t held = 0;
        for (int i = machine_.levels - 1; i >= 0 && held == 0; --i) {
            held = stats_.levels[i].data_spaces[s].utilized_capacity;
        }
        stats_.minimal_accesses += held;
        outputs += machine_.writes(s) ? held : 0;
    }
    stats_.elementwise_ops = stats_.arithmetic.computes;
    stats_.reduction_ops = stats_.arithmetic.computes - (machine_.first_read_elision ? outputs : 0);
    stats_.total_ops = stats_.elementwise_ops + stats_.reduction_ops;
    const auto per_byte = [&](int level, std::uint64_t words) {
        const std::uint64_t bits =
            static_cast<std::uint64_t>(architecture_.storage[level].word_bits);
        const float bytes = words <= ~std::uint64_t{0} / bits
                                ? static_cast<float>(bits * words / 8)
                                : static_cast<float>(real(bits) * real(words) / 8);
        return static_cast<double>(static_cast<float>(stats_.total_ops) / bytes);
    };
    stats_.optimal_ops_per_byte = per_byte(machine_.levels - 1, stats_.minimal_accesses);
    for (int i = 0; i < machine_.levels; ++i) {
        const std::uint64_t accesses = stats_.levels[i].accesses;
        stats_.ops_per_byte.push_back(accesses > 0 ? per_byte(i, accesses) : -1);
    }
}

void StatsBuilder::note_forgotten(int space) {
    if (!forgets(machine_, flat_, space)) {
        return;
    }
    int outermost = machine_.levels - 1;
    while (!(flat_.keep[outermost] >> space & 1)) {
        --outermost;
    }
    const bool gathering = gathers(flat_, outermost, space);
    stats_.forgotten.push_back(
        "level " + architecture_.storage[outermost].name +
        " is the outermost that keeps data space " + problem_.data_spaces[space].name +
        (gathering ? " but does not hold it whole" : " but does not coalesce its accesses"));
}

}  // namespace

std::string describe(const Fit& fit, const Problem& problem, const Architecture& architecture) {
    if (fit.kind == Fit::Kind::ok) {
        return "";
    }
    if (fit.kind == Fit::Kind::kept_nowhere) {
        return "data space " + problem.data_spaces[fit.level].name + " is bypassed by every level";
    }
    if (fit.kind >= Fit::Kind::metadata) {
        return describe_sparse(fit, architecture);
    }
    const std::string at = "level " + architecture.storage[fit.level].name + ": mapped tile size " +
                           std::to_string(fit.needed);
    if (fit.kind == Fit::Kind::capacity) {
        return at + " exceeds buffer capacity " +
               std::to_string(static_cast<std::uint64_t>(fit.available));
    }
    return at + " is less than constrained minimum utilization " + std::to_string(fit.available);
}

Evaluation evaluate(const Problem& problem, const Architecture& architecture,
                    const Mapping& mapping, const ModelOptions& options) {
    const Machine machine(problem, architecture, options);
    FlatMapping flat;
    flatten(mapping, flat);
    Evaluation evaluation;
    if (const int space = kept_nowhere(machine.spaces, flat); space >= 0) {
        evaluation.fit.kind = Fit::Kind::kept_nowhere;
        evaluation.fit.level = space;
        return evaluation;
    }
    check_iterations(flat, machine.most_iterations);
    NestResult nest = analyse_nest(problem, architecture, flat, options);
    Stats& stats = evaluation.stats;
    Cost cost;
    account(machine, nest, flat, cost, stats);
    evaluation.fit = cost.fit;
    stats.cycles = cost.cycles;
    stats.energy_pj = cost.energy_pj;
    stats.utilization = cost.utilization;
    stats.wrapped = cost.wrapped;
    stats.problem_computes = problem.computes();
    stats.miscounted =
        nest.imperfect && static_cast<double>(stats.arithmetic.computes) != stats.problem_computes;
    if (architecture.sparse) {
        evaluation.fit = make_sparse(problem, architecture, mapping, options, machine, nest, stats);
        if (!evaluation.fit.ok()) {
            return evaluation;
        }
    }
    StatsBuilder(problem, architecture, machine, flat, stats).run();
    return evaluation;
}

Cost cost_of(const Problem& problem, const Architecture& architecture, const Mapping& mapping,
             const ModelOptions& options) {
    Cost cost;
    FlatMapping flat;
    flatten(mapping, flat);
    if (iterations_of(flat) > most_iterations(problem, architecture)) {
        cost.energy_pj = std::numeric_limits<double>::infinity();
        cost.wrapped = true;
        return cost;
    }
    const Evaluation evaluation = evaluate(problem, architecture, mapping, options);
    const Stats& stats = evaluation.stats;
    cost.fit = evaluation.fit;
    cost.energy_pj = stats.energy_pj;
    cost.cycles = stats.cycles;
    cost.utilization = stats.utilization;
    cost.wrapped = stats.wrapped;
    cost.forgets = !stats.forgotten.empty();
    for (std::size_t i = 0; i < stats.levels.size(); ++i) {
        cost.accesses[i] = stats.levels[i].accesses;
    }
    return cost;
}

}  // namespace tessera::timeloop
