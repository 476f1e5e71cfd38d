#include "early_search.hpp"

#include <algorithm>
#include <cmath>

#include "local_search.hpp"
#include "simple.hpp"

namespace tessera::ffm {
namespace {

using Clock = std::chrono::steady_clock;

/// Partial rows of a template that are kept.
constexpr std::size_t beam = 64;

/// Templates spread over the list: their places by the fractional parts of golden-section
/// multiples.
void spread(std::vector<std::uint32_t>& templates) {
    std::vector<std::pair<double, std::uint32_t>> order;
    for (std::size_t k = 0; k < templates.size(); ++k) {
        const double at = static_cast<double>(k) * 0.6180339887498949;
        order.emplace_back(at - std::floor(at), templates[k]);
    }
    std::ranges::sort(order);
    for (std::size_t k = 0; k < templates.size(); ++k) {
        templates[k] = order[k].second;
    }
}

/// Those without fused loops first: their groups are few, and soon joined.
std::vector<std::uint32_t> order_of(const std::vector<TemplateEntry>& templates,
                                    const TemplateClass& own) {
    std::vector<std::uint32_t> out, fused;
    for (const std::uint32_t i : own.templates) {
        if (!templates[i].unmatched) {
            (is_simple(templates[i]) ? out : fused).push_back(i);
        }
    }
    spread(out);
    spread(fused);
    out.insert(out.end(), fused.begin(), fused.end());
    return out;
}

/// From its ends in turn.
void alternate(std::vector<TemplateExplorer::Job>& jobs) {
    std::vector<TemplateExplorer::Job> out;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
        out.push_back(k % 2 == 0 ? jobs[k / 2] : jobs[jobs.size() - 1 - k / 2]);
    }
    jobs = std::move(out);
}

}  // namespace

EarlySearch::EarlySearch(TemplateExplorer& explorer, const ClassBounds& bounds)
    : x_(explorer), bounds_(bounds) {
    const std::vector<EinsumSpace>& spaces = x_.spaces();
    order_.resize(spaces.size());
    next_.resize(spaces.size());
    done_.resize(spaces.size());
    kept_.resize(spaces.size());
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        if (!x_.explored(e)) {
            continue;
        }
        for (const TemplateClass& own : spaces[e].classes) {
            order_[e].push_back(order_of(x_.templates(e), own));
        }
        next_[e].assign(order_[e].size(), 0);
        done_[e].assign(x_.templates(e).size(), 0);
        kept_[e].resize(x_.templates(e).size());
    }
}

/// Good rows, or else one, if that is wanted.
void EarlySearch::find_rows(std::size_t e, std::size_t i, Wanted wanted,
                            TemplateExplorer::Scratch& scratch) {
    x_.find_rows(e, i, {.effort = {.beam = beam}}, scratch);
    if (wanted == Wanted::any && x_.result(e, i).groups.empty()) {
        LocalSearch(x_).search_template(e, i, {}, {}, scratch);
    }
}

void EarlySearch::run(std::vector<TemplateExplorer::Job> jobs, Time until, Wanted wanted) {
    std::erase_if(jobs, [&](const auto& j) {
        return done_[j.space][j.index] != 0 || x_.templates(j.space)[j.index].unmatched;
    });
    x_.clear_results();
    x_.for_each_job(jobs, x_.token(), [&](std::size_t e, std::size_t i, auto& scratch) {
        if (Clock::now() < until) {
            find_rows(e, i, wanted, scratch);
            done_[e][i] = 1;
        }
    });
    for (const auto& [e, i] : jobs) {
        if (done_[e][i] != 0) {
            kept_[e][i] = {std::move(x_.result(e, i)), x_.templates(e)[i].tiles};
        }
    }
}

/// One template without fused loops of each class: without these nothing can be joined.
void EarlySearch::sample_unfused() {
    std::vector<TemplateExplorer::Job> jobs;
    for (std::size_t e = 0; e < order_.size(); ++e) {
        for (std::size_t k = 0; k < order_[e].size(); ++k) {
            if (next_[e][k] < order_[e][k].size() &&
                is_simple(x_.templates(e)[order_[e][k].front()])) {
                jobs.push_back({e, order_[e][k][next_[e][k]++]});
            }
        }
    }
    run(std::move(jobs), Time::max(), Wanted::any);
}

bool EarlySearch::sample(Time until) {
    if (!sampled_ && !bounds_.nothing_shared()) {  // there a local search was first
        sampled_ = true;
        sample_unfused();
    }
    bool any = true;
    while (any && Clock::now() < until && !x_.stopped()) {
        std::vector<TemplateExplorer::Job> jobs;
        for (std::size_t e = 0; e < order_.size(); ++e) {
            for (std::size_t k = 0; k < order_[e].size(); ++k) {
                if (next_[e][k] < order_[e][k].size()) {
                    jobs.push_back({e, order_[e][k][next_[e][k]++]});
                }
            }
        }
        any = !jobs.empty();
        run(std::move(jobs), until, Wanted::good);
    }
    return any;
}

bool EarlySearch::explore(const std::set<ClassOfEinsum>& classes, bool best_first, Time until) {
    std::vector<std::vector<TemplateExplorer::Job>> lists;
    std::size_t longest = 0;
    for (const auto& [e, k] : classes) {
        std::vector<TemplateExplorer::Job>& list = lists.emplace_back();
        for (const std::uint32_t i : order_[e][k]) {
            if (done_[e][i] == 0) {
                list.push_back({e, i});
            }
        }
        if (!best_first) {
            alternate(list);
        } else {
            std::ranges::stable_sort(list, {}, [&](const TemplateExplorer::Job& j) {
                const std::array<double, 2>& least = bounds_.least(j.space, j.index);
                return least[1] > 0 ? least[0] * least[1] : least[0];
            });
        }
        longest = std::max(longest, list.size());
    }
    std::vector<TemplateExplorer::Job> jobs;
    for (std::size_t at = 0; at < longest; ++at) {
        for (const auto& list : lists) {
            if (at < list.size()) {
                jobs.push_back(list[at]);
            }
        }
    }
    const bool any = !jobs.empty();
    run(std::move(jobs), until, Wanted::good);
    return any;
}

void EarlySearch::share_groups() {
    x_.clear_results();
    for (std::size_t e = 0; e < kept_.size(); ++e) {
        for (std::size_t i = 0; i < kept_[e].size(); ++i) {
            if (done_[e][i] == 0) {
                continue;
            }
            x_.result(e, i) = kept_[e][i].result;
            kept_[e][i].result.evaluated = 0;              // counted once
            x_.templates(e)[i].tiles = kept_[e][i].tiles;  // others have explored it since
        }
    }
    x_.share_groups();
}

}  // namespace tessera::ffm
