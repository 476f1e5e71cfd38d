// The programme as CBC takes it. Map:
//   Columns  the variables, and where they stand
//   Rows     the constraints
//   solve()  branch and bound, and the factors read off its solution
#include <CbcModel.hpp>
//
// Those above are needed by those below.
#include <CbcCutGenerator.hpp>
#include <CbcEventHandler.hpp>
#include <CbcHeuristic.hpp>
#include <CglGomory.hpp>
#include <CglKnapsackCover.hpp>
#include <CglMixedIntegerRounding2.hpp>
#include <CglProbing.hpp>
#include <CoinPackedVector.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <cmath>

#include "merged.hpp"

namespace tessera::search::cosa {

namespace {

/// How often the tile of a place counts in the utilisation: memories from `memory` on, by limited
/// tensors that the rank indexes.
double limited(const Programme& p, std::size_t memory, std::size_t rank) {
    double n = 0;
    for (std::size_t m = memory; m < p.memories.size(); ++m) {
        for (std::size_t v = 0; v < p.tensors.size(); ++v) {
            n += std::isfinite(p.memories[m].log2_room[v]) && has(p.tensors[v].ranks, rank) ? 1 : 0;
        }
    }
    return n;
}

constexpr double inside = 0.99;  // weight of what is inside the permuted memory

/// Indices of the variables. Counts of a prime in a place are whole numbers.
struct Columns {
    explicit Columns(const Programme& p) : programme(p) {}

    int add(double weight, double highest, bool whole) {
        solver.addCol(CoinPackedVector(), 0, highest, weight);
        if (whole) {
            solver.setInteger(n);
        }
        return n++;
    }

    void add_all() {
        const std::size_t n_ranks = programme.ranks.size();
        const auto permuted = static_cast<std::size_t>(programme.permuted);
        for (std::size_t j = 0; j < n_ranks; ++j) {
            for (const Prime& prime : programme.ranks[j]) {
                const double log = std::log2(static_cast<double>(prime.value));
                Places places;
                for (std::size_t m = 0; m < programme.memories.size(); ++m) {
                    places.temporal.push_back(
                        m == permuted
                            ? -1
                            : add(log * temporal_weight(programme, m, j), prime.count, true));
                }
                for (std::size_t f = 0; f < programme.fan_outs.size(); ++f) {
                    places.spatial.push_back(
                        has(programme.fan_outs[f].ranks, j)
                            ? add(log * spatial_weight(programme, f, j), prime.count, true)
                            : -1);
                }
                // A loop counts for each tensor that it indexes.
                double own = temporal_weight(programme, permuted, j);
                for (const Tensor& tensor : programme.tensors) {
                    own += has(tensor.ranks, j) ? programme.weights.traffic * tensor.weight : 0;
                }
                for (std::size_t s = 0; s < n_ranks; ++s) {
                    places.slot.push_back(add(log * own, prime.count, true));
                }
                counts.push_back({j, prime, log, std::move(places)});
            }
        }
        for (std::size_t j = 0; j < n_ranks; ++j) {
            for (std::size_t s = 0; s < n_ranks; ++s) {
                stands.push_back(add(0, 1, true));
            }
        }
        for (const Tensor& tensor : programme.tensors) {
            for (std::size_t s = 0; s < n_ranks; ++s) {
                touched.push_back(add(0, 1, true));
                again.push_back(add(programme.weights.traffic * tensor.weight, 1e6, false));
            }
        }
    }

    struct Places {
        std::vector<int> temporal, spatial;  ///< -1: not there
        std::vector<int> slot;               ///< of the permuted memory, from the inside out
    };
    struct Count {
        std::size_t rank = 0;
        Prime prime;
        double log = 1;
        Places places;
    };

    int stand(std::size_t rank, std::size_t slot) const {
        return stands[rank * programme.ranks.size() + slot];
    }
    std::size_t at(std::size_t tensor, std::size_t slot) const {
        return tensor * programme.ranks.size() + slot;
    }

    const Programme& programme;
    OsiClpSolverInterface solver;
    int n = 0;
    std::vector<Count> counts;
    std::vector<int> stands;   ///< by rank and slot: the rank's loop is there
    std::vector<int> touched;  ///< by tensor and slot: a loop further in indexes the tensor
    std::vector<int> again;    ///< log2 of the slot's loop, if it is fetched again for it
};

class Rows {
public:
    explicit Rows(Columns& columns) : c_(columns), p_(columns.programme) {}

    void add_all() {
        all_placed();
        rooms();
        fan_outs();
        slots();
        fetches();
    }

private:
    void all_placed() {
        for (const Columns::Count& count : c_.counts) {
            CoinPackedVector row;
            for (const auto* places :
                 {&count.places.temporal, &count.places.spatial, &count.places.slot}) {
                for (const int column : *places) {
                    if (column >= 0) {
                        row.insert(column, 1);
                    }
                }
            }
            c_.solver.addRow(row, count.prime.count, count.prime.count);
        }
    }

    void rooms() {
        for (std::size_t m = 0; m < p_.memories.size(); ++m) {
            for (std::size_t v = 0; v < p_.tensors.size(); ++v) {
                const double room = p_.memories[m].log2_room[v];
                if (!std::isfinite(room)) {
                    continue;
                }
                CoinPackedVector row;
                for (const Columns::Count& count : c_.counts) {
                    if (has(p_.tensors[v].ranks, count.rank)) {
                        add_inside(count, m, row);
                    }
                }
                c_.solver.addRow(row, -c_.solver.getInfinity(), std::max(room, 0.0) + slack);
            }
        }
    }

    void add_inside(const Columns::Count& count, std::size_t memory, CoinPackedVector& row) {
        for (std::size_t m = 0; m <= memory; ++m) {
            if (count.places.temporal[m] >= 0) {
                row.insert(count.places.temporal[m], count.log);
                continue;
            }
            for (const int column : count.places.slot) {
                row.insert(column, count.log);
            }
        }
        for (std::size_t f = 0; f < p_.fan_outs.size(); ++f) {
            const bool within = p_.fan_outs[f].memory <= static_cast<int>(memory);
            if (within && count.places.spatial[f] >= 0) {
                row.insert(count.places.spatial[f], count.log);
            }
        }
    }

    void fan_outs() {
        for (std::size_t f = 0; f < p_.fan_outs.size(); ++f) {
            CoinPackedVector row;
            for (const Columns::Count& count : c_.counts) {
                if (count.places.spatial[f] >= 0) {
                    row.insert(count.places.spatial[f], count.log);
                }
            }
            c_.solver.addRow(row, -c_.solver.getInfinity(), p_.fan_outs[f].log2_size + slack);
        }
    }

    /// A rank has one slot at most, a slot one rank; the slots that are left stand innermost.
    void slots() {
        const std::size_t n = p_.ranks.size();
        for (std::size_t j = 0; j < n; ++j) {
            CoinPackedVector of_rank, of_slot;
            for (std::size_t s = 0; s < n; ++s) {
                of_rank.insert(c_.stand(j, s), 1);
                of_slot.insert(c_.stand(s, j), 1);
            }
            c_.solver.addRow(of_rank, 0, 1);
            c_.solver.addRow(of_slot, 0, 1);
            if (j + 1 < n) {
                CoinPackedVector order;
                for (std::size_t r = 0; r < n; ++r) {
                    order.insert(c_.stand(r, j), 1);
                    order.insert(c_.stand(r, j + 1), -1);
                }
                c_.solver.addRow(order, -c_.solver.getInfinity(), 0);
            }
        }
        for (const Columns::Count& count : c_.counts) {
            for (std::size_t s = 0; s < n; ++s) {
                CoinPackedVector row;
                row.insert(count.places.slot[s], 1);
                row.insert(c_.stand(count.rank, s), -count.prime.count);
                c_.solver.addRow(row, -c_.solver.getInfinity(), 0);
            }
        }
    }

    /// A loop that does not index a tensor fetches it again if one further in does.
    void fetches() {
        double longest = 0;
        std::vector<double> log_of_rank(p_.ranks.size(), 0.0);
        for (const Columns::Count& count : c_.counts) {
            log_of_rank[count.rank] += count.log * count.prime.count;
            longest = std::max(longest, log_of_rank[count.rank]);
        }
        for (std::size_t v = 0; v < p_.tensors.size(); ++v) {
            for (std::size_t s = 1; s < p_.ranks.size(); ++s) {
                CoinPackedVector row;
                row.insert(c_.touched[c_.at(v, s)], 1);
                row.insert(c_.touched[c_.at(v, s - 1)], -1);
                c_.solver.addRow(row, 0, c_.solver.getInfinity());
                CoinPackedVector inner;
                inner.insert(c_.touched[c_.at(v, s)], 1);
                for (std::size_t j = 0; j < p_.ranks.size(); ++j) {
                    if (has(p_.tensors[v].ranks, j)) {
                        inner.insert(c_.stand(j, s - 1), -1);
                    }
                }
                c_.solver.addRow(inner, 0, c_.solver.getInfinity());
                CoinPackedVector fetched;
                fetched.insert(c_.again[c_.at(v, s)], 1);
                fetched.insert(c_.touched[c_.at(v, s)], -longest);
                for (const Columns::Count& count : c_.counts) {
                    if (!has(p_.tensors[v].ranks, count.rank)) {
                        fetched.insert(count.places.slot[s], -count.log);
                    }
                }
                c_.solver.addRow(fetched, -longest, c_.solver.getInfinity());
            }
        }
    }

    static constexpr double slack = 1e-9;  // logarithms are rounded
    Columns& c_;
    const Programme& p_;
};

/// Ends the search when it is asked to.
class Stopper : public CbcEventHandler {
public:
    explicit Stopper(const std::function<bool()>& stop) : stop_(stop) {}
    CbcAction event(CbcEvent) override {
        return stop_() ? CbcEventHandler::stop : noAction;
    }
    CbcEventHandler* clone() const override {
        return new Stopper(*this);
    }

private:
    std::function<bool()> stop_;
};

std::int64_t power(std::int64_t base, double exponent) {
    std::int64_t result = 1;
    for (int i = static_cast<int>(std::lround(exponent)); i > 0; --i) {
        result *= base;
    }
    return result;
}

Assignment read_off(const Columns& c, const double* x) {
    const Programme& p = c.programme;
    const std::vector<std::int64_t> ones(p.ranks.size(), 1);
    Assignment a;
    a.temporal.assign(p.memories.size(), ones);
    a.spatial.assign(p.fan_outs.size(), ones);
    std::vector<std::int64_t> in_slot(p.ranks.size(), 1);
    for (const Columns::Count& count : c.counts) {
        for (std::size_t m = 0; m < p.memories.size(); ++m) {
            if (const int column = count.places.temporal[m]; column >= 0) {
                a.temporal[m][count.rank] *= power(count.prime.value, x[column]);
            }
        }
        for (std::size_t f = 0; f < p.fan_outs.size(); ++f) {
            if (const int column = count.places.spatial[f]; column >= 0) {
                a.spatial[f][count.rank] *= power(count.prime.value, x[column]);
            }
        }
        for (const int column : count.places.slot) {
            a.temporal[static_cast<std::size_t>(p.permuted)][count.rank] *=
                power(count.prime.value, x[column]);
        }
    }
    for (std::size_t s = 0; s < p.ranks.size(); ++s) {
        for (std::size_t j = 0; j < p.ranks.size(); ++j) {
            if (x[c.stand(j, s)] > 0.5 && a.temporal[static_cast<std::size_t>(p.permuted)][j] > 1) {
                a.order.push_back(static_cast<int>(j));
            }
        }
    }
    return a;
}

void add_cuts(CbcModel& model) {
    static constexpr int sometimes = -1;
    CglProbing probing;
    probing.setMaxPass(3);
    CglGomory gomory;
    CglKnapsackCover covers;
    CglMixedIntegerRounding2 rounding;
    model.addCutGenerator(&probing, sometimes, "probing");
    model.addCutGenerator(&gomory, sometimes, "Gomory");
    model.addCutGenerator(&covers, sometimes, "covers");
    model.addCutGenerator(&rounding, sometimes, "rounding");
}

}  // namespace

double temporal_weight(const Programme& p, std::size_t memory, std::size_t rank) {
    double traffic = 0;
    for (const Tensor& tensor : p.tensors) {
        const int m = static_cast<int>(memory);
        traffic += m > p.permuted                              ? tensor.weight
                   : m < p.permuted && has(tensor.ranks, rank) ? inside * tensor.weight
                                                               : 0;
    }
    return p.weights.utilisation * limited(p, memory, rank) + p.weights.compute +
           p.weights.traffic * traffic;
}

double spatial_weight(const Programme& p, std::size_t fan_out, std::size_t rank) {
    const int memory = p.fan_outs[fan_out].memory;
    double traffic = 0;
    for (const Tensor& tensor : p.tensors) {
        const double share = memory < p.permuted ? 0.8 + 0.04 * memory : 1;
        traffic += has(tensor.ranks, rank) ? inside * share * tensor.weight : 0;
    }
    return p.weights.utilisation * limited(p, static_cast<std::size_t>(memory), rank) +
           p.weights.traffic * traffic;
}

Assignment solve(const Programme& whole, double gap, int nodes, const std::function<bool()>& stop) {
    const Merged merged(whole);
    Columns columns(merged.programme);
    columns.solver.messageHandler()->setLogLevel(0);
    columns.add_all();
    Rows(columns).add_all();
    CbcModel model(columns.solver);
    model.setLogLevel(0);
    model.solver()->messageHandler()->setLogLevel(0);
    model.setMaximumNodes(nodes);
    model.setAllowableGap(1e-7);
    model.setAllowableFractionGap(gap);
    Stopper stopper(stop);
    model.passInEventHandler(&stopper);
    add_cuts(model);
    CbcRounding rounding(model);
    model.addHeuristic(&rounding);
    model.initialSolve();
    model.branchAndBound();
    if (model.bestSolution() == nullptr) {
        return {};
    }
    Assignment a = merged.split(read_off(columns, model.bestSolution()), whole);
    a.objective = model.getObjValue();
    a.optimal = model.isProvenOptimal();
    return a;
}

}  // namespace tessera::search::cosa
