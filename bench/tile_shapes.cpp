// Speed of the tile-shape explorer on templates like those of a transformer layer on an
// accelerator with a shared buffer, local buffers and a two-dimensional array.
//
// Templates are random loop nests of one matrix multiplication, costed by the usual rule: a holder
// is filled once per iteration of the loops above it, a tile at a time.
//   bench/tile_shapes [templates] [first seed]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/compiled_formulas.hpp"

namespace {

using namespace tessera::mapspace;
using tessera::model::Formula;
using tessera::model::FormulaPool;

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

constexpr double kBounds[3] = {2048, 4096, 16384};  // m, k, n
constexpr bool kUses[3][3] = {{true, true, false}, {false, true, true}, {true, false, true}};

struct Loop {
    int variable;
    int symbol;  ///< own tile, -1: 1
    Formula trips;
    bool spatial;
};

/// Levels 0 (outermost) to 3 (registers); loops[l] lie between level l and l + 1.
struct Nest {
    std::vector<Loop> loops[3];
    TileShapeProblem problem;
    Formula tile[4][3];  ///< tile shapes at each level
};

Formula size_at(const Nest& nest, int level, int tensor) {
    Formula size = 1.0;
    for (int v = 0; v < 3; ++v) {
        size *= kUses[tensor][v] ? nest.tile[level][v] : Formula(1.0);
    }
    return size;
}

Nest make_nest(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Nest nest;
    int last[3] = {-1, -1, -1};
    Formula current[3] = {kBounds[0], kBounds[1], kBounds[2]};
    for (int v = 0; v < 3; ++v) {
        nest.tile[0][v] = current[v];
    }
    for (int gap = 0; gap < 3; ++gap) {
        for (int v = 0; v < 3; ++v) {
            const bool spatial = gap == 2 && v != 0;
            if (gap != 2 && random() % 3 == 0) {
                continue;
            }
            const bool innermost = gap == 2;
            const int symbol = innermost ? -1 : static_cast<int>(nest.problem.symbols.size());
            Formula own = 1.0;
            if (!innermost) {
                TileShapeSymbol s;
                s.bound = static_cast<std::int64_t>(kBounds[v]);
                s.outer = last[v];
                s.fused = gap == 0 && v == 0;
                if (last[v] >= 0) {
                    nest.problem.symbols[last[v]].inner = symbol;
                }
                nest.problem.symbols.push_back(s);
                own = Formula::symbol(symbol);
            }
            nest.loops[gap].push_back({v, symbol, current[v] / own, spatial});
            current[v] = own;
            last[v] = symbol;
        }
        for (int v = 0; v < 3; ++v) {
            nest.tile[gap + 1][v] = current[v];
        }
    }
    return nest;
}

/// Words that enter the holder of a tensor at a level, all instances together.
Formula fills(const Nest& nest, int level, int tensor) {
    Formula words = size_at(nest, level, tensor);
    for (int gap = 0; gap < level; ++gap) {
        for (const Loop& loop : nest.loops[gap]) {
            words *= loop.spatial && !kUses[tensor][loop.variable] ? Formula(1.0) : loop.trips;
        }
    }
    return words;
}

void add_costs(Nest& nest) {
    constexpr double kEnergy[4] = {56e-12, 15e-12, 2e-12, 0.1e-12};
    constexpr double kWordsPerSecond[4] = {614e9, 2048e9, 16e12, 1e15};
    Formula energy, latency;
    for (int level = 0; level < 4; ++level) {
        Formula traffic;
        for (int t = 0; t < 3; ++t) {
            const Formula in = level == 0 ? Formula(0.0) : fills(nest, level, t);
            const Formula out = level == 3 ? Formula(0.0) : fills(nest, level + 1, t);
            traffic += in + out;
            if (t == 2 && level < 3) {
                traffic += out - size_at(nest, 0, t);  // partial sums read back, the first not
            }
        }
        energy += traffic * kEnergy[level];
        latency = max(latency, traffic / kWordsPerSecond[level]);
    }
    Formula used = 1.0;
    for (const Loop& loop : nest.loops[2]) {
        if (loop.spatial) {
            used *= loop.trips;
            nest.problem.constraints.push_back({loop.trips, Relation::less_equal, 128});
        }
    }
    latency = max(latency, kBounds[0] * kBounds[1] * kBounds[2] / used / 1.05e9);
    Formula shared, local;
    for (int t = 0; t < 3; ++t) {
        shared += 8.0 * size_at(nest, 1, t);
        local += 8.0 * size_at(nest, 2, t);
    }
    nest.problem.constraints.push_back({shared, Relation::less_equal, 128.0 * 8 * 1024 * 1024});
    nest.problem.constraints.push_back({local, Relation::less_equal, 4.0 * 8 * 1024 * 1024});
    nest.problem.objectives = {energy, latency, shared};
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 200;
    const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    const double prune_from = argc > 3 ? std::atof(argv[3]) : TileShapeOptions().prune_from_rows;
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeExplorer explorer;
    TileShapeResult result;
    TileShapeOptions options;
    options.prune_from_rows = prune_from;
    double formulas = 0.0, exploring = 0.0, space = 0.0, enumerated = 0.0, rows = 0.0, worst = 0.0;
    for (int i = 0; i < count; ++i) {
        const double start = seconds();
        Nest nest = make_nest(first + static_cast<std::uint64_t>(i));
        add_costs(nest);
        const double built = seconds();
        explorer.explore(nest.problem, options, result);
        const double end = seconds();
        formulas += built - start;
        exploring += end - built;
        worst = std::max(worst, end - built);
        space += result.statistics.space;
        enumerated += result.statistics.enumerated;
        rows += static_cast<double>(result.rows);
        if (argc > 4) {
            std::printf("seed %d: %zu symbols, %.1f us, %.0f space, %.0f enumerated, %zu rows\n",
                        static_cast<int>(first) + i, nest.problem.symbols.size(),
                        1e6 * (end - built), result.statistics.space, result.statistics.enumerated,
                        result.rows);
        }
    }
    std::printf("templates            %d\n", count);
    std::printf("formulas             %.1f us each\n", 1e6 * formulas / count);
    std::printf("exploration          %.1f us each, at most %.1f us\n", 1e6 * exploring / count,
                1e6 * worst);
    std::printf("space                %.3g assignments each\n", space / count);
    std::printf("enumerated           %.3g rows each, %.3g rows/s\n", enumerated / count,
                enumerated / exploring);
    std::printf("space covered        %.3g assignments/s\n", space / exploring);
    std::printf("kept                 %.3g rows each\n", rows / count);
    return 0;
}
