// How large a nest may be for every counter of the accounting to hold its value.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "counters.hpp"
#include "machine.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::timeloop {

namespace {

/// Coordinates of one rank of the whole data space.
double extent(const Problem& problem, const std::vector<Term>& rank) {
    return rank_extent<double>(
        rank, [&](int d) { return static_cast<double>(problem.dimensions[d].bound - 1); });
}

/// The most words of a data space that a tile has for each of its points: steps of a rank that are
/// longer than one leave coordinates between them, and a dimension of several ranks makes a box of
/// its diagonal.
double words_per_point(const Problem& problem, const DataSpace& space) {
    double words = 1, diagonal = 1;
    std::vector<bool> seen(problem.dimensions.size());
    for (const std::vector<Term>& rank : space.ranks) {
        double step = 1;
        for (const Term& term : rank) {
            const auto d = static_cast<std::size_t>(term.dimension);
            step = std::max(step, std::abs(static_cast<double>(term.value)));
            diagonal *= seen[d] ? static_cast<double>(problem.dimensions[d].bound) : 1;
        }
        // Two terms of one rank are no diagonal.
        for (const Term& term : rank) {
            seen[static_cast<std::size_t>(term.dimension)] = true;
        }
        words *= step;
    }
    return words * diagonal;
}

}  // namespace

double words_of(const Problem& problem) {
    double sum = 0;
    for (const DataSpace& space : problem.data_spaces) {
        double words = 1;
        for (const std::vector<Term>& rank : space.ranks) {
            words *= extent(problem, rank);
        }
        sum += words;
    }
    return sum;
}

// Each point reads every data space at most once at a level, and the same words are filled or
// updated there at most as often.
double most_iterations(const Problem& problem) {
    double all = 0;
    for (const DataSpace& space : problem.data_spaces) {
        all += 3 * words_per_point(problem, space);
    }
    return two63 / std::max(1.0, all);
}

// A router counts every word that passes it: a group of m receivers lies within the width of the
// mesh and m times its height. Partial sums may travel twice.
double most_iterations(const Problem& problem, const Architecture& architecture) {
    double most = most_iterations(problem), widest = 1;
    for (const DataSpace& space : problem.data_spaces) {
        widest = std::max(widest, words_per_point(problem, space));
    }
    for (int i = 0; i < architecture.levels(); ++i) {
        const double mesh = static_cast<double>(architecture.fanout_x(i)) +
                            static_cast<double>(architecture.fanout_y(i));
        most = std::min(most, two63 / (2 * widest * (1 + mesh)));
    }
    return most;
}

double iterations_of(const FlatMapping& flat) {
    double product = 1;
    for (int q = 0; q < flat.loop_count; ++q) {
        product *= static_cast<double>(flat.loops[q].end);
    }
    return product;
}

void check_iterations(const FlatMapping& flat, double most) {
    if (iterations_of(flat) > most) {
        throw UserError("the loops of the mapping make " + spec::number_text(iterations_of(flat)) +
                        " iterations; counts overflow above " +
                        spec::number_text(std::floor(most)) +
                        "; give imperfect factors longer last passes");
    }
}

}  // namespace tessera::timeloop
