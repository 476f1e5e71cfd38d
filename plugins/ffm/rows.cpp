// Every row that can be part of a mapping better than the incumbents.
//   all at once  many Einsums, or a beam search: bounded by the class bounds of the others
//   one by one   one distinct Einsum after the other: those explored bound the rest
//                (sequential.hpp) and say which fused tile shapes can be joined
#include <algorithm>
#include <limits>

#include "bounds/shared_tiles.hpp"
#include "explore.hpp"
#include "sequential.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::ffm {
namespace {

// The known mapping's own pmappings must not be dropped for a rounding of its cost.
constexpr double incumbent_slack = 1 + 1e-9;
/// With more distinct Einsums all are explored at once.
constexpr std::size_t max_sequence = 24;

/// Bound of one Einsum's costs with the incumbents' values.
mapspace::IncumbentBound bound_of(const Incumbents& incumbents) {
    mapspace::IncumbentBound out;
    for (const std::vector<double>& p : incumbents.points) {
        if (incumbents.product) {
            out.best_product = std::min(out.best_product, p[0] * p[1] * incumbent_slack);
            continue;
        }
        for (const double v : p) {
            out.points.push_back(v * incumbent_slack);
        }
    }
    return out;
}

/// Whether costs that are at least `cost` are of no use.
bool pruned(const mapspace::IncumbentBound& bound, const double* cost, std::size_t n) {
    double product = 1;
    for (std::size_t k = 0; k < n; ++k) {
        product *= std::max(0.0, cost[k]);
    }
    bool out = n == 2 && product >= bound.best_product;
    for (std::size_t p = 0; p + n <= bound.points.size() && !out; p += n) {
        out = std::equal(cost, cost + n, bound.points.begin() + static_cast<std::ptrdiff_t>(p),
                         [](double mine, double theirs) { return mine >= theirs; });
    }
    return out;
}

}  // namespace

bool Exploration::rows(const Incumbents& incumbents, std::uint64_t most_rows,
                       const Incumbents* near, double own_excess) {
    const mapspace::IncumbentBound known = bound_of(incumbents);
    const mapspace::IncumbentBound classes = near != nullptr ? bound_of(*near) : known;
    const base::StopScope scope(token());
    begin_search(incumbents, near, own_excess);
    find_completions();
    const mapspace::CostFront whole = near != nullptr ? bound() : mapspace::CostFront{};
    const auto explore = [&](std::size_t e, std::size_t i,
                             const std::vector<Completions>& completions, Scratch& scratch) {
        if (given_up() || (*spaces_[e].templates)[i].unmatched || take_kept(e, i, scratch)) {
            return;
        }
        mapspace::IncumbentBound bound = known;
        if (!c_.switches.exploration_bound) {
            bound = {};
        } else if (!bound_rows(e, i, completions, classes, whole, own_excess, bound)) {
            return;
        }
        if (rows_of(e, i, bound, scratch)) {
            keep(e, i, scratch);
        }
    };
    std::size_t distinct = 0;
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        distinct += explored(e) ? 1 : 0;
    }
    most_evaluated_ = most_rows > 0 ? evaluated_ + most_rows : 0;
    if (near == nullptr && c_.switches.sequential && distinct <= max_sequence) {
        for_each_in_sequence(explore);
    } else {
        for_each_template(token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
            explore(e, i, completions_[e], scratch);
        });
        base::poll_stop();
        share_groups();
    }
    const bool all = !given_up();
    most_evaluated_ = 0;
    return all;
}

void Exploration::some_rows(const Incumbents& incumbents, std::size_t width) {
    const mapspace::IncumbentBound known = bound_of(incumbents);
    const base::StopScope scope(token());
    find_completions();
    for_each_in_sequence([&](std::size_t e, std::size_t i,
                             const std::vector<Completions>& completions, Scratch& scratch) {
        mapspace::IncumbentBound bound = known;
        if (!(*spaces_[e].templates)[i].unmatched &&
            bound_rows(e, i, completions, known, {}, 0, bound)) {
            rows_of(e, i, bound, scratch, false, width);
        }
    });
}

/// Adds to `bound` what the rows of a template have to beat, together with the others' costs. False
/// if none of them can. `whole`: least costs of whole mappings, in a beam search; else empty.
bool Exploration::bound_rows(std::size_t e, std::size_t i,
                             const std::vector<Completions>& completions,
                             const mapspace::IncumbentBound& classes,
                             const mapspace::CostFront& whole, double own_excess,
                             mapspace::IncumbentBound& bound) const {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    const bool beam_search = !whole.empty();
    double least_whole = std::numeric_limits<double>::infinity();
    for (const mapspace::CostPoint& p : whole) {
        least_whole = std::min(least_whole, n == 2 ? p[0] * p[1] : p[0]);
    }
    const std::size_t k = class_of(e, i);
    const mapspace::IncumbentBound known = bound;
    const Completions& all = completions[k];
    bool useful = false;
    double allowed = 0;  // a beam search: what the Einsum may add to the least cost
    for (std::size_t at = 0; at + n <= all.size(); at += n) {
        const std::array<double, 2>& own = spaces_[e].classes[k].least;
        std::array<double, 2> least{}, mine{};  // of the class, of the template
        for (std::size_t q = 0; q < n; ++q) {
            least[q] = own[q] + all[at + q];
            mine[q] = std::max(own[q], least_[e][i][q]) + all[at + q];
        }
        const double cost = n == 2 ? least[0] * least[1] : least[0];
        const double excess =
            own_excess * (n == 2 ? own[0] * least[1] + own[1] * least[0] : own[0]);
        // In a beam search: nor may the class itself cost more than that above the least of the
        // whole, of which the share of one Einsum in a long chain is small.
        const bool of_use =
            !pruned(classes, mine.data(), n) && (!beam_search || cost <= least_whole + excess);
        useful = useful || of_use;
        if (of_use) {
            allowed = std::max(allowed, cost + excess);
        }
        if (!pruned(known, mine.data(), n)) {
            const auto from = all.begin() + static_cast<std::ptrdiff_t>(at);
            bound.completions.insert(bound.completions.end(), from,
                                     from + static_cast<std::ptrdiff_t>(n));
        }
    }
    if (beam_search && n == 2) {
        bound.best_product = std::min(bound.best_product, allowed);
    } else if (beam_search) {
        bound.points = {std::min(bound.points.front(), allowed)};
    }
    return useful && !bound.completions.empty();
}

/// One distinct Einsum after the other; what is explored bounds the rest.
template <class Explore>
void Exploration::for_each_in_sequence(const Explore& explore) {
    std::vector<std::size_t> same_as;
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        same_as.push_back(same(e));
    }
    clear_results();
    SequentialBound sequence(c_, spaces_);
    shared_tiles_ = std::make_unique<SharedTiles>(c_, spaces_);
    for (const std::size_t e : order_of_sequence(spaces_, same_as)) {
        const std::vector<Completions> completions = completions_at(sequence, e);
        find_compatible(sequence, e);
        std::vector<Job> jobs;
        for (std::size_t i = 0; i < results_[e].size(); ++i) {
            jobs.push_back({e, i});
        }
        c_.recorder->einsum(e).templates_done = 0;
        for_each_job(jobs, token(), [&](std::size_t, std::size_t i, Scratch& scratch) {
            explore(e, i, completions, scratch);
        });
        base::poll_stop();
        gather(e);
        if (given_up()) {
            break;
        }
        for (std::size_t copy = e; copy < spaces_.size(); ++copy) {
            if (same(copy) == e) {
                sequence.add(copy);
                shared_tiles_->add(copy);
            }
        }
    }
    forget_sequence();
    results_.clear();
    results_.resize(spaces_.size());
}

/// What explored Einsums say holds for one search alone.
void Exploration::forget_sequence() {
    compatible_.clear();
    shared_tiles_.reset();
}

/// For the tensors that every copy of the Einsum shares with explored ones.
void Exploration::find_compatible(const SequentialBound& sequence, std::size_t e) {
    compatible_.assign(spaces_[e].paths.front()->einsum.tensors.size(), std::nullopt);
    std::vector<std::size_t> known(compatible_.size(), 0);
    std::size_t copies = 0;
    for (std::size_t copy = e; copy < spaces_.size(); ++copy) {
        if (same(copy) != e) {
            continue;
        }
        ++copies;
        const auto held = sequence.compatible(copy);
        for (std::size_t k = 0; k < held.size(); ++k) {
            const auto t = static_cast<std::size_t>(spaces_[copy].shared[k]);
            if (held[k]) {
                ++known[t];
                mapspace::CompatibilitySet& all =
                    compatible_[t] ? *compatible_[t] : compatible_[t].emplace();
                all.insert(held[k]->begin(), held[k]->end());
            }
        }
    }
    for (std::size_t t = 0; t < known.size(); ++t) {
        if (known[t] < copies) {
            compatible_[t].reset();
        }
    }
}

/// Restricts the fused tile shapes to those that meet explored Einsums. False: none does.
bool Exploration::allow(std::size_t e, std::size_t i, mapspace::TileShapeProblem& problem) const {
    const TemplateEntry& t = (*spaces_[e].templates)[i];
    for (std::size_t k = 0; k < compatible_.size(); ++k) {
        if (!compatible_[k]) {
            continue;
        }
        auto shapes = mapspace::allowed_shapes(table(e, t), t.tmpl, problem.symbols,
                                               static_cast<int>(k), *compatible_[k]);
        if (shapes && shapes->symbols.empty()) {
            return false;
        }
        if (shapes) {
            problem.allowed.push_back(std::move(*shapes));
        }
    }
    return true;
}

/// Costs of all other Einsums by class, as completions_, with what the steps have shown.
std::vector<Exploration::Completions> Exploration::completions_at(const SequentialBound& sequence,
                                                                  std::size_t e) const {
    if (!sequence.knows_more()) {
        return completions_[e];
    }
    const auto n = static_cast<std::ptrdiff_t>(c_.n_objectives());
    std::vector<Completions> out(spaces_[e].classes.size());
    for (std::size_t copy = e; copy < spaces_.size(); ++copy) {
        if (same(copy) != e) {
            continue;
        }
        const auto rest = sequence.rest(copy);
        if (!rest) {
            return completions_[e];
        }
        for (std::size_t k = 0; k < out.size(); ++k) {
            for (const mapspace::CostPoint& p : (*rest)[k]) {
                out[k].insert(out[k].end(), p.begin(), p.begin() + n);
            }
        }
    }
    return out;
}

}  // namespace tessera::ffm
