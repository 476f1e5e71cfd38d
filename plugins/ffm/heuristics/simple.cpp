#include "simple.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

namespace tessera::ffm {
namespace {

bool has_fused_loops(const mapspace::Template& tmpl) {
    return std::any_of(tmpl.nodes.begin(), tmpl.nodes.begin() + tmpl.n_fused_nodes,
                       [](const mapping::PmappingNode& n) { return n.is_loop(); });
}

using Scratch = TemplateExplorer::Scratch;

/// How far above its class bounds a first mapping's pmappings may be, tried in turn; and how many
/// partial rows of a template are kept on the way to them.
constexpr std::size_t simple_beam = 64;
constexpr double simple_excess[] = {0.05, 0.5, 4.0, std::numeric_limits<double>::infinity()};

/// Where class bounds are not attained: templates of a class that are looked at, those without
/// fused loops among them, and partial rows of each.
constexpr std::size_t promising_templates = 4, promising_simple_templates = 2;
constexpr std::size_t promising_beam = 64;

/// The templates of a class that the bounds say most for: some of those without fused loops, and
/// some of all.
std::vector<std::uint32_t> most_promising(const std::vector<TemplateEntry>& templates,
                                          const TemplateClass& own,
                                          const std::function<double(std::size_t)>& bound) {
    std::vector<std::uint32_t> order;
    for (const std::uint32_t i : own.templates) {
        if (!templates[i].unmatched && std::isfinite(bound(i))) {
            order.push_back(i);
        }
    }
    std::ranges::stable_sort(order, {}, bound);
    std::vector<std::uint32_t> out;
    std::size_t simple = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        const bool is_one = is_simple(templates[order[k]]);
        if (k < promising_templates || (is_one && simple < promising_simple_templates)) {
            out.push_back(order[k]);
            simple += is_one ? 1 : 0;
        }
    }
    return out;
}

/// What a first mapping needs one of: a class; of running states also where they stand.
using Kind = std::pair<std::uint32_t, std::vector<int>>;

Kind kind_of(const TemplateEntry& entry) {
    Kind kind{entry.of_class, {}};
    if (has_fused_loops(entry.tmpl)) {
        for (int i = 0; i < entry.tmpl.n_fused_nodes; ++i) {
            const mapping::PmappingNode& node = entry.tmpl.nodes[static_cast<std::size_t>(i)];
            kind.second.push_back(node.is_loop() ? -1 - node.rank_variable : node.tensor);
        }
    }
    return kind;
}

bool is_of_use(const TemplateEntry& entry) {
    return !entry.unmatched && is_simple(entry);
}

mapspace::IncumbentBound bound_above(const TemplateClass& own, double excess, int n_objectives) {
    mapspace::IncumbentBound bound;
    if (std::isinf(excess)) {
        return bound;
    }
    if (n_objectives == 2) {
        bound.best_product = own.least[0] * own.least[1] * (1 + excess);
    } else {
        bound.points = {own.least[0] * (1 + excess)};
    }
    return bound;
}

}  // namespace

bool is_simple(const TemplateEntry& entry) {
    bool below = false;
    for (int i = 0; i < entry.tmpl.n_fused_nodes; ++i) {
        const mapping::PmappingNode& node = entry.tmpl.nodes[static_cast<std::size_t>(i)];
        below = below || node.is_loop();
        if (below && !node.is_loop() &&
            entry.path->einsum.tensors[static_cast<std::size_t>(node.tensor)].state_variable < 0) {
            return false;
        }
    }
    return !below || entry.path->einsum.state_variables() != 0;
}

void first_rows(TemplateExplorer& explorer, std::chrono::steady_clock::time_point until) {
    const std::vector<EinsumSpace>& spaces = explorer.spaces();
    std::vector<std::set<Kind>> done(spaces.size());
    // One job per Einsum, so that the first template of a kind that has rows is always the same.
    explorer.for_each_template({explorer.context().options->stop, until}, [&](std::size_t e,
                                                                              std::size_t i,
                                                                              Scratch& scratch) {
        for (std::size_t t = 0; i == 0 && t < explorer.templates(e).size(); ++t) {
            const TemplateEntry& entry = explorer.templates(e)[t];
            if (is_of_use(entry) && !done[e].contains(kind_of(entry))) {
                scratch.pool.clear();
                explorer.find_rows(
                    e, t, {.effort = {.first_rows = true}, .extreme_fused_tiles = true}, scratch);
                if (!explorer.result(e, t).groups.empty()) {
                    done[e].insert(kind_of(entry));
                }
            }
        }
    });
    explorer.share_groups();
}

void simple_rows(TemplateExplorer& explorer) {
    const std::vector<EinsumSpace>& spaces = explorer.spaces();
    std::vector<std::vector<TemplateExplorer::Result>> kept(spaces.size());
    std::vector<std::set<Kind>> done(spaces.size());
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        kept[e].resize(explorer.explored(e) ? explorer.templates(e).size() : 0);
    }
    for (const double excess : simple_excess) {
        explorer.for_each_template(
            explorer.token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
                const TemplateEntry& t = explorer.templates(e)[i];
                const TemplateClass& own = spaces[e].classes[t.of_class];
                const auto fused = [&](std::size_t other) {
                    return !is_simple(explorer.templates(e)[other]);
                };
                if (!std::isfinite(own.least[0]) || !is_of_use(t) || done[e].contains(kind_of(t)) ||
                    (std::isinf(excess) && std::ranges::any_of(own.templates, fused))) {
                    return;
                }
                const int n = explorer.context().n_objectives();
                explorer.find_rows(e, i,
                                   {.bound = bound_above(own, excess, n),
                                    .effort = {.beam = simple_beam},
                                    .extreme_fused_tiles = true},
                                   scratch);
            });
        for (std::size_t e = 0; e < spaces.size(); ++e) {
            for (std::size_t i = 0; i < kept[e].size(); ++i) {
                TemplateExplorer::Result& result = explorer.result(e, i);
                if (!result.groups.empty()) {
                    done[e].insert(kind_of(explorer.templates(e)[i]));
                    kept[e][i].groups = std::move(result.groups);
                }
                kept[e][i].evaluated += result.evaluated;
            }
        }
    }
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        for (std::size_t i = 0; i < kept[e].size(); ++i) {
            explorer.result(e, i) = std::move(kept[e][i]);
        }
    }
    explorer.share_groups();
}

void promising_rows(TemplateExplorer& explorer, const ClassBounds& bounds) {
    const int n = explorer.context().n_objectives();
    std::vector<TemplateExplorer::Job> jobs;
    for (std::size_t e = 0; e < explorer.spaces().size(); ++e) {
        if (!explorer.explored(e)) {
            continue;
        }
        const auto bound = [&](std::size_t i) {
            const std::array<double, 2>& least = bounds.least(e, i);
            return n == 2 ? least[0] * least[1] : least[0];
        };
        for (const TemplateClass& own : explorer.spaces()[e].classes) {
            for (const std::uint32_t i : most_promising(explorer.templates(e), own, bound)) {
                jobs.push_back({e, i});
            }
        }
    }
    explorer.clear_results();
    explorer.for_each_job(jobs, explorer.token(), [&](std::size_t e, std::size_t i, auto& scratch) {
        explorer.find_rows(e, i, {.effort = {.beam = promising_beam}}, scratch);
    });
    explorer.share_groups();
}

}  // namespace tessera::ffm
