#include "improve.hpp"

#include <algorithm>
#include <mutex>

#include "../bounds/fused_loops.hpp"

namespace tessera::ffm {

using Scratch = TemplateExplorer::Scratch;

namespace {

using mapspace::LimitKind;
using mapspace::Relation;

/// Rows that a pair of rank variables is worth.
constexpr double rows_of_pair = 1e5;
/// Others may gain by a proposal what this Einsum loses.
constexpr double loss_for_a_proposal = 2;
/// Of a pair with more rows only the best one is kept.
constexpr std::size_t most_rows_kept = 300;
/// Improvements below this share are noise.
constexpr double least_gain = 1e-6;

std::vector<double> values_of(const TileShapes& shapes) {
    return {shapes.begin(), shapes.end()};
}

/// Tile shapes of fused loops.
using Proposal = std::map<int, std::int32_t>;

std::vector<std::set<int>> ones_and_pairs(const std::set<int>& all) {
    std::vector<std::set<int>> out;
    for (const int a : all) {
        out.push_back({a});
    }
    for (const int a : all) {
        for (const int b : all) {
            if (a < b) {
                out.push_back({a, b});
            }
        }
    }
    return out;
}

TileShapes shapes_of(const mapspace::TileShapeResult& r, std::size_t row) {
    TileShapes out;
    for (const auto& column : r.shapes) {
        out.push_back(column[row]);
    }
    return out;
}

}  // namespace

/// Improves pmappings of one template.
class Improvement::PairSearch {
public:
    PairSearch(TemplateExplorer& all, std::size_t e, std::size_t i, Scratch& scratch)
        : all_(all),
          e_(e),
          i_(i),
          scratch_(scratch),
          formulas_(all.formulas(entry())),
          cost_(costs(all.context(), formulas_)),
          problem_(all.problem_of(e, i, formulas_, scratch)) {}

    /// What follows improves a pmapping of a mapping with these costs.
    void improve(const TileShapes& own, const std::vector<double>& total);
    /// From now on no more of the tracked memories than this pmapping has.
    void limit_bits(const TileShapes& own);
    /// Rows are added to `found`. Fused symbols stay, unless they are `free`. Returns the best one,
    /// empty if none is better than `start`, where that may be worse than known by a factor.
    TileShapes run(TileShapes start, const std::set<int>& free, double worse, ImprovedRows& found);
    void tabulate(const std::set<TileShapes>& rows) {
        all_.keep_shapes(e_, i_, formulas_, problem_, rows, scratch_);
    }

private:
    const TemplateEntry& entry() const {
        return all_.templates(e_)[i_];
    }
    const mapspace::TileShapeSymbol& symbol(int s) const {
        return problem_.symbols[static_cast<std::size_t>(s)];
    }
    bool may_change(int s, const std::set<int>& free) const {
        return symbol(s).bound > 1 && (!symbol(s).fused || free.contains(s));
    }
    int outermost(int s) const {
        while (symbol(s).outer >= 0) {
            s = symbol(s).outer;
        }
        return s;
    }
    /// Of rank variables with anything to choose, their outermost symbols.
    std::vector<int> variables(const std::set<int>& free) const;
    /// Of two variables. True if it found anything better.
    bool explore(int a, int b, const std::set<int>& free, TileShapes& at, double& least,
                 ImprovedRows& found);
    double value(std::size_t row) const;

    TemplateExplorer& all_;
    std::size_t e_, i_;
    Scratch& scratch_;
    model::TemplateFormulas formulas_;
    std::vector<model::Formula> cost_;
    mapspace::TileShapeProblem problem_;
    double known_ = 0;
};

void Improvement::PairSearch::improve(const TileShapes& own, const std::vector<double>& total) {
    problem_ = all_.problem_of(e_, i_, formulas_, scratch_);
    problem_.incumbent.quantities = cost_;
    known_ = 1;
    for (std::size_t q = 0; q < cost_.size(); ++q) {
        problem_.incumbent.completions.push_back(
            std::max(0.0, total[q] - cost_[q].value(values_of(own))));
        known_ *= total[q];
    }
}

void Improvement::PairSearch::limit_bits(const TileShapes& own) {
    for (std::size_t m = cost_.size(); m < problem_.objectives.size(); ++m) {
        const model::Formula bits = problem_.objectives[m];
        const double most = bits.value(values_of(own));
        problem_.constraints.push_back({bits, Relation::less_equal, most, {}, LimitKind::capacity});
    }
}

std::vector<int> Improvement::PairSearch::variables(const std::set<int>& free) const {
    std::set<int> out;
    for (int s = 0; s < static_cast<int>(problem_.symbols.size()); ++s) {
        if (may_change(s, free)) {
            out.insert(outermost(s));
        }
    }
    return {out.begin(), out.end()};
}

double Improvement::PairSearch::value(std::size_t row) const {
    double out = 1;
    for (std::size_t q = 0; q < cost_.size(); ++q) {
        out *= scratch_.result.objectives[q][row] + problem_.incumbent.completions[q];
    }
    return out;
}

bool Improvement::PairSearch::explore(int a, int b, const std::set<int>& free, TileShapes& at,
                                      double& least, ImprovedRows& found) {
    mapspace::TileShapeProblem problem = problem_;
    for (int s = 0; s < static_cast<int>(at.size()); ++s) {
        const bool chosen = outermost(s) == a || outermost(s) == b;
        for (const Relation r : {Relation::greater_equal, Relation::less_equal}) {
            if (!chosen || !may_change(s, free)) {
                problem.constraints.push_back(
                    {model::Formula::symbol(s), r,
                     static_cast<double>(at[static_cast<std::size_t>(s)])});
            }
        }
    }
    const double below = least * (1 - least_gain);
    problem.incumbent.best_product = cost_.size() == 2 ? below : problem.incumbent.best_product;
    if (cost_.size() == 1) {
        problem.incumbent.points = {below};
    }
    all_.run({e_, i_, problem, scratch_}, {.most_rows = rows_of_pair});
    const mapspace::TileShapeResult& r = scratch_.result;
    bool better = false;
    for (std::size_t row = 0; row < r.rows; ++row) {
        if (r.rows <= most_rows_kept) {
            found.all.insert(shapes_of(r, row));
        }
        if (value(row) < least) {
            least = value(row);
            at = shapes_of(r, row);
            better = true;
        }
    }
    return better;
}

TileShapes Improvement::PairSearch::run(TileShapes start, const std::set<int>& free, double worse,
                                        ImprovedRows& found) {
    const std::vector<int> all = variables(free);
    TileShapes best;
    double least = known_ * worse;
    for (bool better = true; better && !all_.stopped();) {
        better = false;
        for (std::size_t a = 0; a < all.size(); ++a) {
            for (std::size_t b = std::min(a + 1, all.size() - 1); b < all.size(); ++b) {
                if (explore(all[a], all[b], free, start, least, found)) {
                    better = true;
                    best = start;
                    found.best.insert(best);
                }
            }
        }
    }
    return best;
}

void Improvement::improve(const std::vector<UsedPmapping>& known,
                          const std::vector<double>& total) {
    // Equal pmappings of equal Einsums are improved once.
    std::vector<std::map<std::size_t, std::vector<std::size_t>>> users(x_.spaces().size());
    std::vector<std::size_t> firsts(x_.spaces().size());
    improved_.assign(x_.spaces().size(), {});
    for (std::size_t e = 0; e < x_.spaces().size(); ++e) {
        std::vector<std::size_t>& own = users[x_.spaces()[e].same][known[e].index];
        const auto it = std::find_if(own.begin(), own.end(), [&](std::size_t user) {
            return known[user].shapes == known[e].shapes;
        });
        firsts[e] = it == own.end() ? e : *it;
        if (it == own.end()) {
            own.push_back(e);
            ImprovedRows& rows = improved_[x_.spaces()[e].same][known[e].index];
            rows.best.insert(known[e].shapes);
            rows.all.insert(known[e].shapes);
        }
    }
    const FusedLoops loops(x_.spaces(), known, firsts);
    const auto for_each_user = [&](const auto& work) {
        for_each_improved([&](std::size_t e, std::size_t i, Scratch& scratch) {
            PairSearch search(x_, e, i, scratch);
            for (const std::size_t user : users[e].at(i)) {
                for (const bool limited : {false, true}) {
                    search.improve(known[user].shapes, total);
                    if (limited) {
                        search.limit_bits(known[user].shapes);
                    }
                    work(search, user, improved_[e].at(i));
                }
            }
        });
    };
    std::mutex lock;
    std::set<Proposal> proposals;
    x_.clear_results();
    for_each_user([&](PairSearch& search, std::size_t user, ImprovedRows& found) {
        TileShapes best = search.run(known[user].shapes, {}, 1, found);
        best = best.empty() ? known[user].shapes : best;
        for (const std::set<int>& some : ones_and_pairs(loops.loops(user))) {
            std::set<int> free;
            for (const int loop : some) {
                free.merge(loops.symbols(user, loop));
            }
            const TileShapes shapes = search.run(best, free, 1, found);
            if (shapes.empty()) {
                continue;
            }
            Proposal proposal;
            for (const int loop : some) {
                const int symbol = *loops.symbols(user, loop).begin();
                proposal[loop] = shapes[static_cast<std::size_t>(symbol)];
            }
            const std::lock_guard guard(lock);
            proposals.insert(std::move(proposal));
        }
    });
    for_each_user([&](PairSearch& search, std::size_t user, ImprovedRows& found) {
        for (const Proposal& proposal : proposals) {
            TileShapes start = known[user].shapes;
            for (const auto& [loop, tile] : proposal) {
                for (const int s : loops.symbols(user, loop)) {
                    start[static_cast<std::size_t>(s)] = tile;
                }
            }
            if (start != known[user].shapes) {
                search.run(start, {}, loss_for_a_proposal, found);
            }
        }
    });
}

void Improvement::for_each_improved(const TemplateExplorer::Work& work) {
    std::vector<TemplateExplorer::Job> jobs;
    for (std::size_t e = 0; e < improved_.size(); ++e) {
        for (const auto& [i, rows] : improved_[e]) {
            jobs.push_back({e, i});
        }
    }
    x_.for_each_job(jobs, x_.token(), work);
}

void Improvement::improved(bool all) {
    x_.clear_results();
    for_each_improved([&](std::size_t e, std::size_t i, Scratch& scratch) {
        const ImprovedRows& rows = improved_[e].at(i);
        PairSearch(x_, e, i, scratch).tabulate(all ? rows.all : rows.best);
    });
    x_.share_groups();
}

}  // namespace tessera::ffm
