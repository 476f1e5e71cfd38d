// Templates by need: a mapping of the most promising templates of each Einsum, then all templates
// that can be part of a better one.
#include <limits>
#include <map>

#include "../run.hpp"
#include "open.hpp"
#include "template_search.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// In turn: promising nodes that are kept, and nodes that may be looked at, for the least cost of
/// an Einsum by one objective and for all templates of use.
struct Turn {
    std::size_t width;
    bool by_level;  ///< so many for each level of the outermost holder
    std::size_t of_least, of_use;
};
constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();
constexpr Turn turns[] = {{1, false, 100, 500},
                          {4, true, 500, 2000},
                          {8, true, 2000, 10000},
                          {16, true, 8000, 50000},
                          {64, true, 8000, no_end}};
/// Of the mapping of promising templates, of the time so far; and at least, in seconds.
constexpr double share_of_first = 1, shortest_first_s = 0.5;
/// Mappings that are as good as the best stay in: the later metric compares them.
constexpr double equal_cost = 1e-6;

}  // namespace

bool Run::is_network() const {
    const workload::Workload& w = *problem_.workload;
    return w.einsums.size() >= long_cascade && !w.index.nothing_overlaps;
}

bool Run::by_need_possible() const {
    return scalar() && context_.switches.templates_by_need && given_.empty() && outer_ == nullptr &&
           !options_.mapspace.partial_tiles() && options_.budget.max_evals == 0;
}

bool Run::by_need_applies() const {
    // Of many different Einsums each may cost far more than its least: little would be left out.
    return by_need_possible() && !is_network();
}

void Run::make_templates_by_need(const std::vector<std::size_t>& einsums) {
    const std::size_t n = static_cast<std::size_t>(context_.n_objectives());
    std::map<std::size_t, TemplateSearch> searches;
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        if (spaces_[e].same == e) {
            searches.try_emplace(e, context_, spaces_[e]);
        }
    }
    std::vector<std::vector<double>> least(spaces_.size(), std::vector<double>(n, 0.0));
    const auto look_for_least = [&](std::size_t most_nodes) {
        for (std::size_t e = 0; e < spaces_.size() && spaces_.size() > 1; ++e) {
            TemplateSearch& search = searches.at(spaces_[e].same);
            for (std::size_t q = 0; q < n && search.applies(); ++q) {
                least[e][q] = search.least(q, most_nodes);
            }
        }
    };
    const auto least_of_all = [&] {
        double product = 1;
        for (std::size_t q = 0; q < n; ++q) {
            double sum = 0;
            for (const std::vector<double>& of : least) {
                sum += of[q];
            }
            product *= sum;
        }
        return product;
    };
    std::vector<std::size_t> many;
    for (const std::size_t e : einsums) {
        if (searches.at(e).applies()) {
            many.push_back(e);
        } else {
            make_templates(context_, spaces_[e]);
        }
    }
    if (many.empty()) {
        return;
    }
    const auto goal_of = [&](std::size_t e) {
        TemplateSearch::Goal goal;
        for (std::size_t q = 0; q < n; ++q) {
            goal.objectives.push_back(q);
            double others = 0;
            for (std::size_t f = 0; f < spaces_.size(); ++f) {
                others += f == e ? 0 : least[f][q];
            }
            goal.others.push_back(others);
        }
        goal.cutoff = incumbent_.value() * (1 + equal_cost);
        return goal;
    };
    for (const Turn& turn : turns) {
        look_for_least(turn.of_least);
        report_bound(least_of_all());
        std::vector<std::shared_ptr<std::vector<TemplateEntry>>> few;
        for (std::size_t e = 0; e < spaces_.size(); ++e) {
            few.push_back(spaces_[e].templates);
        }
        for (const std::size_t e : many) {
            few[e] = std::make_shared<std::vector<TemplateEntry>>(
                searches.at(e).promising(goal_of(e), turn.width, turn.by_level));
        }
        find_among(few);
        if (!incumbent_.known()) {
            continue;
        }
        bool done = true;
        for (const std::size_t e : many) {
            TemplateSearch& search = searches.at(e);
            done = done && search.look_below(goal_of(e), turn.of_use,
                                             [&] { report_bound(search.bound()); });
            report_bound(search.bound());
        }
        if (done) {
            bool all_found = true;
            for (const std::size_t e : many) {
                *spaces_[e].templates = searches.at(e).take_found(goal_of(e).cutoff);
                all_found = all_found && !spaces_[e].templates->empty();
            }
            if (all_found) {
                by_need_ = below_incumbent_ = true;
                return;
            }
            // Those of the incumbent are among them, or a bound is above it.
            recorder_.log(
                "a fault of tessera: bounds of templates leave out those of a mapping "
                "that was found; all templates are made in their place",
                telemetry::LogLevel::error);
            break;
        }
    }
    for (const std::size_t e : many) {  // not even one legal mapping among promising templates
        spaces_[e].templates->clear();
        make_templates(context_, spaces_[e]);
    }
}

void Run::find_among(const std::vector<std::shared_ptr<std::vector<TemplateEntry>>>& templates) {
    mapper::Options o = options_within();
    o.budget.max_time_s = std::max(shortest_first_s, share_of_first * seconds_so_far());
    o.start = incumbent_.solutions;
    Run run(problem_, *context_.model, o);
    run.given_ = templates;
    take_best_of(run, "promising templates");
}

}  // namespace tessera::ffm
