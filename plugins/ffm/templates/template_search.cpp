#include "template_search.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "tessera/base/stop.hpp"
#include "tessera/spec/node.hpp"

namespace tessera::ffm {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t nodes_of_report = 1000;
/// Of a family of templates; the first ones have as few prologues as may be.
constexpr std::size_t few_members = 4, all_members = std::numeric_limits<std::size_t>::max();
/// An Einsum may cost less than what is found by so much, and no more is looked at.
constexpr double close_to_least = 0.999;

}  // namespace

TemplateSearch::TemplateSearch(const ExploreContext& context, const EinsumSpace& space)
    : c_(context), space_(space) {
    for (const auto& path : space.paths) {
        const auto& tree = trees_.emplace_back(
            std::make_unique<mapspace::TemplateTree>(*path, c_.options->mapspace));
        tables_.push_back(mapspace::table_context(c_, *path));
        auto& relaxed = relaxed_tables_.emplace_back();
        for (int l = -1; tree->applies() && l < static_cast<int>(path->levels.size()); ++l) {
            relaxed.push_back(mapspace::table_context(c_, tree->relaxed_path(l)));
        }
    }
    for (std::size_t p = 0; p < trees_.size(); ++p) {
        crossings_j_.push_back(crossings(p));
        times_s_.push_back(outermost_time(p));
    }
    below_ = root();
}

std::vector<double> TemplateSearch::crossings(std::size_t path) {
    const mapspace::TemplateTree& tree = *trees_[path];
    const std::size_t n = space_.paths[path]->levels.size();
    std::vector<double> out(n + 1, 0.0);  // of the nodes without holders first
    if (!c_.want_energy || !tree.applies()) {
        return out;
    }
    const mapspace::MapSpaceOptions space = mapspace::TemplateTree::crossing_options();
    const mapspace::ShapeContext context{c_.problem, &space, {}, true, false};
    const Goal goal{{0}, {0.0}, infinity};
    for (std::size_t l = 0; l < n; ++l) {
        double least = 0;
        if (const auto crossing = tree.crossing(static_cast<int>(l))) {
            const auto table = mapspace::table_context(context, crossing->path);
            least = infinity;
            mapspace::enumerate_templates(crossing->path, space, [&](const mapspace::Template& t) {
                least = std::min(least, bound_of(context, goal, table, t));
            });
            least += crossing->rest_j;
        }
        out[l + 1] = out[l] + least;
    }
    out[0] = out[n];
    return out;
}

double TemplateSearch::outermost_time(std::size_t path) {
    const mapspace::TemplateTree& tree = *trees_[path];
    if (!c_.want_latency || !tree.applies()) {
        return 0;
    }
    const auto outermost = tree.outermost_time();
    if (!outermost) {
        return 0;
    }
    const mapspace::MapSpaceOptions space = mapspace::TemplateTree::crossing_options();
    const mapspace::ShapeContext context{c_.problem, &space, {}, false, true};
    const auto table = mapspace::table_context(context, *outermost);
    double least = infinity;
    mapspace::enumerate_templates(*outermost, space, [&](const mapspace::Template& t) {
        least = std::min(least, bound_of(context, {{0}, {0.0}, infinity}, table, t));
    });
    return least;
}

bool TemplateSearch::applies() const {
    return std::ranges::all_of(trees_, [](const auto& t) { return t->applies(); });
}

double TemplateSearch::bound_of(const mapspace::ShapeContext& context, const Goal& goal,
                                const mapspace::TabulateContext& table,
                                const mapspace::Template& tmpl, double least_s) {
    pool_.clear();
    const model::FormulaScope scope(pool_);
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *table.path, tmpl);
    mapspace::TileShapeProblem problem =
        mapspace::problem_of_bounds(context, *table.path, tmpl, f, table);
    std::vector<model::Formula> costs;
    for (const std::size_t q : goal.objectives) {
        const bool latency = context.want_latency && q + 1 == problem.objectives.size();
        costs.push_back(latency ? model::max(problem.objectives[q], least_s)
                                : problem.objectives[q]);
    }
    problem.objectives = costs;
    // The closest: nodes are taken in the order of their bounds.
    return explorer_.convex_bound(problem, costs, goal.others, goal.cutoff, true);
}

double TemplateSearch::bound_of_member(const Goal& goal, std::size_t path,
                                       const mapspace::Template& tmpl, Frontier& frontier) {
    ++frontier.nodes;
    pool_.clear();
    const model::FormulaScope scope(pool_);
    const mapspace::TabulateContext& table = tables_[path];
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *table.path, tmpl);
    mapspace::TileShapeProblem problem =
        mapspace::tile_shape_problem(c_, *table.path, tmpl, f, table);
    problem.objectives = {problem.objectives[goal.objectives.front()]};
    if (!problem.best_effort.empty()) {
        const std::vector<double> levels = explorer_.best_effort_levels(problem, {});
        if (levels.empty()) {
            return infinity;
        }
        mapspace::fix_levels(levels, problem);
    }
    return explorer_.convex_bound(problem, problem.objectives, goal.others, frontier.least_found,
                                  true);
}

double TemplateSearch::bound_of(const Goal& goal, const Node& node, Frontier& frontier) {
    ++frontier.nodes;
    std::string key;
    std::vector<mapspace::Template> relaxation;
    trees_[node.path]->relaxation(
        node.holders, [&](mapspace::Template&& t) { relaxation.push_back(std::move(t)); }, key);
    if (!frontier.seen.insert(std::to_string(node.path) + " " + key).second) {
        return infinity;
    }
    const int top = mapspace::TemplateTree::top(node.holders);
    const auto& table = relaxed_tables_[node.path][static_cast<std::size_t>(top + 1)];
    Goal above = goal;
    if (c_.want_energy && goal.objectives.front() == 0) {
        above.others[0] += crossings_j_[node.path][static_cast<std::size_t>(top + 1)];
    }
    double least = infinity;
    for (const mapspace::Template& t : relaxation) {
        least = std::min(least, bound_of(c_, above, table, t, times_s_[node.path]));
    }
    return least;
}

void TemplateSearch::expand(const Goal& goal, const Node& node, Frontier& frontier,
                            std::vector<Node>& out) {
    for (mapspace::TemplateTree::Node& holders : trees_[node.path]->children(node.holders)) {
        base::poll_stop();
        Node child{node.path, std::move(holders), 0};
        child.bound = std::max(bound_of(goal, child, frontier), node.bound);
        if (child.bound < goal.cutoff) {
            out.push_back(std::move(child));
        }
    }
}

void TemplateSearch::complete(const Goal& goal, const Node& node, Frontier& frontier,
                              std::size_t most_members, const Sink& found) {
    trees_[node.path]->complete(node.holders, [&](const auto& all, const auto& members) {
        ++frontier.nodes;
        const double bound = bound_of(c_, goal, tables_[node.path], all, times_s_[node.path]);
        if (bound >= goal.cutoff || (frontier.refine && bound >= frontier.least_found)) {
            return;
        }
        if (frontier.refine) {
            members([&](mapspace::Template&& t) {
                const double least = std::max(bound, bound_of_member(goal, node.path, t, frontier));
                frontier.least_found = std::min(frontier.least_found, least);
                return bound < frontier.least_found;
            });
            return;
        }
        frontier.least_found = std::min(frontier.least_found, bound);
        std::size_t left = most_members;
        members([&](mapspace::Template&& t) {
            TemplateEntry entry;
            entry.path = space_.paths[node.path].get();
            entry.path_index = static_cast<int>(node.path);
            entry.tmpl = std::move(t);
            found(std::move(entry), bound);
            return --left > 0;
        });
    });
}

std::vector<TemplateEntry> TemplateSearch::promising(const Goal& goal, std::size_t width,
                                                     bool by_level) {
    Frontier frontier;
    std::vector<TemplateEntry> out;
    const Sink found = [&](TemplateEntry&& t, double) { out.push_back(std::move(t)); };
    // Inner levels before outer ones, few holders before many.
    struct Kind {
        int top = 0;
        std::size_t holders = 0;
        std::vector<int> backed;  ///< level by shared tensor
        auto operator<=>(const Kind&) const = default;
    };
    std::map<Kind, std::vector<Node>> open;
    const auto add = [&](Node&& n) {
        Kind kind{by_level ? -mapspace::TemplateTree::top(n.holders) : 0, n.holders.size(), {}};
        if (n.holders.empty()) {
            kind.top = std::numeric_limits<int>::min();
        }
        for (const auto& holder : n.holders) {
            const auto& tensor =
                space_.paths[n.path]->einsum.tensors[static_cast<std::size_t>(holder.tensor)];
            if (holder.backing && tensor.fusable) {
                kind.backed.push_back(holder.tensor * 256 + holder.level);
            }
        }
        std::ranges::sort(kind.backed);
        open[kind].push_back(std::move(n));
    };
    for (std::size_t p = 0; p < trees_.size(); ++p) {
        add({p, {}, 0});
    }
    std::vector<Node> more;
    while (!open.empty()) {
        std::vector<Node> nodes = std::move(open.begin()->second);
        open.erase(open.begin());
        std::ranges::stable_sort(nodes, {}, &Node::bound);
        nodes.resize(std::min(nodes.size(), width));
        more.clear();
        for (const Node& n : nodes) {
            complete(goal, n, frontier, few_members, found);
            expand(goal, n, frontier, more);
        }
        for (Node& m : more) {
            add(std::move(m));
        }
    }
    return out;
}

TemplateSearch::Frontier TemplateSearch::root() const {
    Frontier frontier;
    for (std::size_t p = 0; p < trees_.size(); ++p) {
        frontier.open.push({p, {}, 0});
    }
    return frontier;
}

TemplateSearch::Frontier TemplateSearch::root(std::size_t objective) const {
    const bool energy = c_.want_energy && objective == 0;
    Frontier frontier;
    for (std::size_t p = 0; p < trees_.size(); ++p) {
        frontier.open.push({p, {}, energy ? crossings_j_[p].front() : times_s_[p]});
    }
    return frontier;
}

void TemplateSearch::step(const Goal& goal, Frontier& frontier, const Sink& found) {
    const Node node = frontier.open.top();
    frontier.open.pop();
    frontier.bound = std::max(frontier.bound, std::min(node.bound, frontier.least_found));
    complete(goal, node, frontier, all_members, found);
    std::vector<Node> more;
    expand(goal, node, frontier, more);
    for (Node& m : more) {
        frontier.open.push(std::move(m));
    }
}

bool TemplateSearch::look_below(const Goal& goal, std::size_t most_nodes,
                                const std::function<void()>& bound_changed) {
    const auto found = [&](TemplateEntry&& t, double bound) {
        found_.emplace_back(bound, std::move(t));
    };
    std::size_t next_report = below_.nodes + nodes_of_report;
    while (!below_.open.empty() && below_.open.top().bound < goal.cutoff) {
        if (below_.nodes > most_nodes) {
            return false;
        }
        if (below_.nodes >= next_report) {
            next_report = below_.nodes + nodes_of_report;
            bound_changed();
        }
        step(goal, below_, found);
    }
    below_.bound = std::min(goal.cutoff, below_.least_found);
    return true;
}

std::vector<TemplateEntry> TemplateSearch::take_found(double cutoff) {
    std::vector<TemplateEntry> out;
    for (auto& [bound, t] : found_) {
        if (bound < cutoff) {
            out.push_back(std::move(t));
        }
    }
    return out;
}

double TemplateSearch::least(std::size_t objective, std::size_t most_nodes,
                             const std::function<bool()>& pauses) {
    while (least_.size() <= objective) {
        least_.push_back(root(least_.size()));
        least_.back().refine = true;
    }
    Frontier& f = least_[objective];
    const Goal goal{{objective}, {0.0}, infinity};
    while (!f.open.empty() && f.nodes <= most_nodes &&
           f.open.top().bound < f.least_found * close_to_least && !pauses()) {
        step(goal, f, [](TemplateEntry&&, double) {});
    }
    const double open = f.open.empty() ? infinity : f.open.top().bound;
    f.bound = std::max(f.bound, std::min(open, f.least_found));
    return f.bound;
}

}  // namespace tessera::ffm
