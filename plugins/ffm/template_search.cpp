#include "template_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>

#include "tessera/base/stop.hpp"

namespace tessera::ffm {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t nodes_of_report = 1000;

}  // namespace

TemplateSearch::TemplateSearch(const ExploreContext& context, const EinsumSpace& space)
    : c_(context), space_(space) {
    for (const auto& path : space.paths) {
        trees_.push_back(std::make_unique<mapspace::TemplateTree>(*path, c_.options->mapspace));
    }
}

bool TemplateSearch::applies() const {
    return std::ranges::all_of(trees_, [](const auto& t) { return t->applies(); });
}

double TemplateSearch::bound_of(const Goal& goal, const arch::Path& path,
                                const mapspace::Template& tmpl) {
    pool_.clear();
    const model::FormulaScope scope(pool_);
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, path, tmpl);
    mapspace::TileShapeProblem problem =
        mapspace::tile_shape_problem(c_, path, tmpl, f, mapspace::table_context(c_, path));
    problem.best_effort.clear();
    const std::vector<model::Formula> all = mapspace::costs(c_, f);
    std::vector<model::Formula> costs;
    for (const std::size_t q : goal.objectives) {
        costs.push_back(all[q]);
    }
    problem.objectives = costs;
    return explorer_.convex_bound(problem, costs, goal.others, goal.cutoff);
}

double TemplateSearch::bound_of(const Goal& goal, std::size_t path,
                                const mapspace::TemplateTree::Node& node) {
    ++nodes_;
    double least = infinity;
    const mapspace::TemplateTree& tree = *trees_[path];
    const arch::Path& relaxed = tree.relaxed_path(mapspace::TemplateTree::top(node));
    std::string key;
    std::vector<mapspace::Template> relaxation;
    tree.relaxation(
        node, [&](mapspace::Template&& t) { relaxation.push_back(std::move(t)); }, key);
    if (!seen_.insert(std::to_string(path) + " " + key).second) {
        return infinity;
    }
    for (const mapspace::Template& t : relaxation) {
        least = std::min(least, bound_of(goal, relaxed, t));
    }
    return least;
}

void TemplateSearch::expand(const Goal& goal, const Node& node, std::vector<Node>& out) {
    for (mapspace::TemplateTree::Node& holders : trees_[node.path]->children(node.holders)) {
        base::poll_stop();
        const double bound = bound_of(goal, node.path, holders);
        if (bound < goal.cutoff) {
            out.push_back({node.path, std::move(holders), std::max(bound, node.bound)});
        }
    }
}

void TemplateSearch::complete(const Goal& goal, const Node& node, std::vector<TemplateEntry>& out) {
    const arch::Path& path = *space_.paths[node.path];
    std::vector<mapspace::Template> found;
    trees_[node.path]->complete(node.holders,
                                [&](mapspace::Template&& t) { found.push_back(std::move(t)); });
    for (mapspace::Template& t : found) {
        ++nodes_;
        const double bound = bound_of(goal, path, t);
        if (bound < goal.cutoff) {
            least_ = std::min(least_, bound);
            TemplateEntry& added = out.emplace_back();
            added.path = &path;
            added.path_index = static_cast<int>(node.path);
            added.tmpl = std::move(t);
        }
    }
}

std::vector<TemplateEntry> TemplateSearch::promising(const Goal& goal, std::size_t width) {
    seen_.clear();
    std::vector<TemplateEntry> out;
    // Inner levels before outer ones, few holders before many.
    struct Kind {
        int top = 0;
        std::size_t holders = 0;
        std::vector<int> backed;  ///< level by shared tensor
        auto operator<=>(const Kind&) const = default;
    };
    std::map<Kind, std::vector<Node>> open;
    const auto add = [&](Node&& n) {
        Kind kind{-mapspace::TemplateTree::top(n.holders), n.holders.size(), {}};
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
            complete(goal, n, out);
            expand(goal, n, more);
        }
        for (Node& m : more) {
            add(std::move(m));
        }
    }
    return out;
}

std::optional<std::vector<TemplateEntry>> TemplateSearch::below(
    const Goal& goal, std::size_t most_nodes, const std::function<void()>& bound_changed) {
    seen_.clear();
    nodes_ = 0;
    bound_ = 0;
    least_ = infinity;
    std::vector<TemplateEntry> out;
    std::size_t next_report = nodes_of_report;
    const auto later = [](const Node& a, const Node& b) { return a.bound > b.bound; };
    std::priority_queue<Node, std::vector<Node>, decltype(later)> open(later);
    for (std::size_t p = 0; p < trees_.size(); ++p) {
        open.push({p, {}, 0});
    }
    std::vector<Node> more;
    while (!open.empty()) {
        const Node node = open.top();
        bound_ = std::min(node.bound, least_);
        if (nodes_ > most_nodes) {
            return std::nullopt;
        }
        if (nodes_ >= next_report) {
            next_report = nodes_ + nodes_of_report;
            bound_changed();
        }
        open.pop();
        complete(goal, node, out);
        more.clear();
        expand(goal, node, more);
        for (Node& m : more) {
            open.push(std::move(m));
        }
    }
    bound_ = goal.cutoff;
    return out;
}

double TemplateSearch::least(const Goal& goal, std::size_t most_nodes) {
    below(goal, most_nodes, [] {});
    return bound_;
}

}  // namespace tessera::ffm
