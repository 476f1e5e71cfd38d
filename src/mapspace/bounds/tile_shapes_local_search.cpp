#include "mapspace/tile_shapes_local_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mapspace/tile_shapes/tile_shapes_engine.hpp"
#include "tessera/base/divisors.hpp"
#include "tessera/base/hash.hpp"

namespace tessera::mapspace {
namespace {

constexpr std::size_t kStaged = 1024;
/// Random moves between two searches, ways to make them, and searches without success before giving
/// up.
constexpr int kKickMoves = 6;
constexpr int kKicks = 64;
constexpr int kMissed = 40;

}  // namespace

TileShapeLocalSearch::TileShapeLocalSearch(const TileShapeProblem& problem,
                                           const LocalSearchGoal& goal,
                                           std::span<const std::int32_t> start)
    : problem_(problem), completions_(goal.completions), shapes_(start.begin(), start.end()) {
    completions_.resize(goal.quantities.size(), 0.0);
    std::vector<model::Formula> outputs = goal.quantities;
    for (const TileShapeConstraint& c : problem.constraints) {
        outputs.push_back(c.formula);
    }
    for (const BestEffortMinimum& b : problem.best_effort) {
        outputs.push_back(b.formula);
    }
    program_.compile(model::FormulaPool::current(), outputs,
                     model::CompiledFormulas::Order::by_kind);
    in_.assign(problem.symbols.size(), std::vector<double>(kStaged));
    out_.assign(outputs.size(), std::vector<double>(kStaged));
    read_chains(problem);
    value_ = std::numeric_limits<double>::infinity();
    const std::size_t first = goal.quantities.size() + problem.constraints.size();
    const std::vector<double> values(shapes_.begin(), shapes_.end());
    std::vector<double> results(outputs.size());
    program_.evaluate_one(values, results, workspace_);
    for (std::size_t b = 0; b < problem.best_effort.size(); ++b) {
        levels_.push_back(std::min(problem.best_effort[b].minimum, results[first + b]));
    }
    stage({});
    take_best();
}

/// Chains whose tile shapes divide each other; no others are changed.
void TileShapeLocalSearch::read_chains(const TileShapeProblem& problem) {
    for (std::size_t s = 0; s < problem.symbols.size(); ++s) {
        if (problem.symbols[s].outer >= 0) {
            continue;
        }
        Chain chain;
        chain.bound = problem.symbols[s].bound;
        std::int64_t outer = chain.bound;
        bool divides = true;
        for (int i = static_cast<int>(s); i >= 0; i = problem.symbols[i].inner) {
            chain.symbols.push_back(i);
            divides = divides && outer % shapes_[i] == 0;
            outer = shapes_[i];
        }
        chain.primes = base::prime_factors(chain.bound);
        if (divides) {
            chains_.push_back(std::move(chain));
        }
    }
}

std::int64_t TileShapeLocalSearch::trips(const Chain& chain, int loop) const {
    const auto n = static_cast<int>(chain.symbols.size());
    const std::int64_t outer = loop == 0 ? chain.bound : shapes_[chain.symbols[loop - 1]];
    return outer / (loop == n ? 1 : shapes_[chain.symbols[loop]]);
}

/// Innermost loops have no symbol: their kind is not known here.
bool TileShapeLocalSearch::may_be_spatial(const Chain& chain, int loop) const {
    return loop == static_cast<int>(chain.symbols.size()) ||
           problem_.symbols[chain.symbols[loop]].spatial;
}

std::vector<TileShapeLocalSearch::Move> TileShapeLocalSearch::moves() const {
    std::vector<Move> all;
    for (std::size_t c = 0; c < chains_.size(); ++c) {
        const auto loops = static_cast<int>(chains_[c].symbols.size()) + 1;
        for (int from = 0; from < loops; ++from) {
            const std::int64_t n = trips(chains_[c], from);
            for (const std::int64_t p : chains_[c].primes) {
                for (int to = 0; n % p == 0 && to < loops; ++to) {
                    if (to != from) {
                        all.push_back({static_cast<int>(c), from, to, p});
                    }
                }
            }
        }
    }
    return all;
}

void TileShapeLocalSearch::apply(const Move& move, std::int32_t* shapes) const {
    const Chain& chain = chains_[move.chain];
    // The tiles between the two loops grow if the factor goes to an inner loop.
    const bool inward = move.to > move.from;
    for (int i = std::min(move.from, move.to); i < std::max(move.from, move.to); ++i) {
        std::int32_t& shape = shapes[chain.symbols[i]];
        const auto p = static_cast<std::int32_t>(move.prime);
        shape = inward ? shape * p : shape / p;
    }
}

/// Adds the row that the moves lead to.
void TileShapeLocalSearch::stage(std::span<const Move> moves) {
    std::vector<std::int32_t> shapes = shapes_;
    for (const Move& m : moves) {
        apply(m, shapes.data());
    }
    for (std::size_t s = 0; s < shapes.size(); ++s) {
        in_[s][staged_] = shapes[s];
    }
    ++staged_;
}

bool TileShapeLocalSearch::legal(std::size_t row) const {
    std::size_t at = completions_.size();
    for (const TileShapeConstraint& c : problem_.constraints) {
        if (!holds(c.relation, out_[at++][row], c.limit)) {
            return false;
        }
    }
    for (const double level : levels_) {
        if (out_[at++][row] < level) {
            return false;
        }
    }
    for (const LoopLimit& limit : problem_.loop_limits) {
        int count = 0;
        for (const LoopLimit::Loop& l : limit.loops) {
            const double outer = l.outer < 0 ? static_cast<double>(l.bound) : in_[l.outer][row];
            count += outer != (l.own < 0 ? 1.0 : in_[l.own][row]) ? 1 : 0;
        }
        if (count > limit.limit) {
            return false;
        }
    }
    return true;
}

double TileShapeLocalSearch::value_of(std::size_t row) const {
    double product = 1.0;
    for (std::size_t q = 0; q < completions_.size(); ++q) {
        product *= out_[q][row] + completions_[q];
    }
    return product;
}

void TileShapeLocalSearch::evaluate() {
    std::vector<const double*> inputs;
    std::vector<double*> outputs;
    for (const auto& column : in_) {
        inputs.push_back(column.data());
    }
    for (auto& column : out_) {
        outputs.push_back(column.data());
    }
    program_.evaluate(inputs, staged_, outputs, workspace_);
    rows_ += static_cast<double>(staged_);
}

void TileShapeLocalSearch::go_to(std::size_t row) {
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
        shapes_[s] = static_cast<std::int32_t>(in_[s][row]);
    }
}

/// Evaluates the staged rows and goes to the best one if it is better. Stages none.
bool TileShapeLocalSearch::take_best() {
    evaluate();
    std::size_t best = staged_;
    for (std::size_t r = 0; r < staged_; ++r) {
        const double value = value_of(r);
        if (value < value_ && legal(r)) {
            value_ = value;
            best = r;
        }
    }
    const bool better = best < staged_;
    if (better) {
        go_to(best);
    }
    staged_ = 0;
    return better;
}

bool TileShapeLocalSearch::single_step(const std::vector<Move>& all, double max_rows) {
    for (const Move& m : all) {
        stage({&m, 1});
        if (staged_ == kStaged || &m == &all.back()) {
            if (take_best()) {
                return true;
            }
            if (rows_ >= max_rows) {
                return false;
            }
        }
    }
    return false;
}

/// Two moves at a time. `trade`: only those where one variable leaves a loop that may be spatial
/// and another enters one.
bool TileShapeLocalSearch::double_step(const std::vector<Move>& all, bool trade, double max_rows) {
    for (const Move& a : all) {
        if (trade && !may_be_spatial(chains_[a.chain], a.from)) {
            continue;
        }
        for (const Move& b : all) {
            if (b.chain == a.chain || (!trade && &b < &a) ||
                (trade && (b.prime != a.prime || !may_be_spatial(chains_[b.chain], b.to)))) {
                continue;
            }
            const Move both[] = {a, b};
            stage(both);
            if (staged_ == kStaged) {
                if (take_best()) {
                    return true;
                }
                if (rows_ >= max_rows) {
                    return false;
                }
            }
        }
    }
    return staged_ > 0 && take_best();
}

void TileShapeLocalSearch::local_search(double max_rows) {
    while (rows_ < max_rows && std::isfinite(value_)) {
        const std::vector<Move> all = moves();
        if (!single_step(all, max_rows) && !double_step(all, true, max_rows) &&
            !double_step(all, false, max_rows)) {
            return;
        }
        staged_ = 0;
    }
}

/// Goes to a legal row some random moves away, whatever its value. False if none was found.
bool TileShapeLocalSearch::kick() {
    for (int attempt = 0; attempt < kKicks; ++attempt) {
        const std::vector<std::int32_t> from = shapes_;
        for (int m = 0; m < kKickMoves; ++m) {
            const std::vector<Move> all = moves();
            if (all.empty()) {
                break;
            }
            apply(all[random() % all.size()], shapes_.data());
        }
        stage({});
        shapes_ = from;
    }
    evaluate();
    for (std::size_t r = 0; r < staged_; ++r) {
        if (legal(r)) {
            value_ = value_of(r);
            go_to(r);
            staged_ = 0;
            return true;
        }
    }
    staged_ = 0;
    return false;
}

std::uint64_t TileShapeLocalSearch::random() {  // splitmix64: the same everywhere
    random_ += base::golden_ratio;
    return base::mix(random_);
}

void TileShapeLocalSearch::run(double max_rows) {
    local_search(max_rows);
    int missed = 0;
    while (rows_ < max_rows && missed < kMissed) {
        const std::vector<std::int32_t> best = shapes_;
        const double value = value_;
        if (kick()) {
            local_search(max_rows);
        }
        const bool better = value_ < value;
        missed = better ? 0 : missed + 1;
        if (!better) {
            shapes_ = best;
            value_ = value;
        }
    }
}

}  // namespace tessera::mapspace
