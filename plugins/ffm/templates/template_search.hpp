// Templates by need: where an Einsum has too many to make all, those that can be part of a mapping
// below a cutoff, by branch and bound over the holders from the innermost outwards
// (mapspace::TemplateTree; docs/ffm-proofs.md, 2.33).
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../explorer.hpp"
#include "mapspace/template_tree.hpp"

namespace tessera::ffm {

class TemplateSearch {
public:
    /// `space` has paths and outlives it.
    TemplateSearch(const ExploreContext& context, const EinsumSpace& space);

    bool applies() const;

    /// What the templates are to be good for.
    struct Goal {
        /// Costs that count: all of them, multiplied, or one.
        std::vector<std::size_t> objectives;
        std::vector<double> others;  ///< what all other Einsums cost at least, of each of these
        double cutoff = 0;           ///< what costs so much is of no use
    };

    /// Templates of the most promising nodes: `width` for each class and number of holders, and for
    /// each level of the outermost one, if wanted.
    std::vector<TemplateEntry> promising(const Goal& goal, std::size_t width, bool by_level);
    /// Looks for all that can cost less than the cutoff. False once it has looked at `most_nodes`;
    /// another call goes on, with a goal that may have a lower cutoff. bound_changed() is called
    /// now and then.
    bool look_below(const Goal& goal, std::size_t most_nodes,
                    const std::function<void()>& bound_changed);
    /// What it has found; to be called once.
    std::vector<TemplateEntry> take_found(double cutoff);
    /// What it shows that the goal is at least.
    double bound() const {
        return below_.bound;
    }
    /// What the Einsum costs at least, of one objective, as far as `most_nodes` show, and as long
    /// as `pauses` does not say so; another call goes on.
    double least(
        std::size_t objective, std::size_t most_nodes,
        const std::function<bool()>& pauses = [] { return false; });

private:
    struct Node {
        std::size_t path = 0;
        mapspace::TemplateTree::Node holders;
        double bound = 0;
    };
    /// Goes to the node of least bound first.
    struct Later {
        bool operator()(const Node& a, const Node& b) const {
            return a.bound > b.bound;
        }
    };
    struct Frontier {
        std::priority_queue<Node, std::vector<Node>, Later> open;
        std::unordered_set<std::string> seen;
        std::size_t nodes = 0;
        bool refine = false;  ///< what usage best effort asks for counts, too
        double bound = 0;
        double least_found = std::numeric_limits<double>::infinity();  ///< of complete templates
    };
    using Sink = std::function<void(TemplateEntry&&, double bound)>;

    Frontier root() const;
    /// With what is known at once about one objective.
    Frontier root(std::size_t objective) const;
    /// Looks below the first open node.
    void step(const Goal& goal, Frontier& frontier, const Sink& found);
    /// What the memories outside cost more than the relaxations of nodes at the level say.
    std::vector<double> crossings(std::size_t path);
    /// What no mapping takes less than: the time of the outermost memory.
    double outermost_time(std::size_t path);
    /// \returns infinity if there is nothing below the node, or nothing that is not known
    double bound_of(const Goal& goal, const Node& node, Frontier& frontier);
    double bound_of(const mapspace::ShapeContext& context, const Goal& goal,
                    const mapspace::TabulateContext& table, const mapspace::Template& tmpl,
                    double least_s = 0);
    /// Of one template, which has to use as much of the fan-outs as it can.
    double bound_of_member(const Goal& goal, std::size_t path, const mapspace::Template& tmpl,
                           Frontier& frontier);
    void expand(const Goal& goal, const Node& node, Frontier& frontier, std::vector<Node>& out);
    void complete(const Goal& goal, const Node& node, Frontier& frontier, std::size_t most_members,
                  const Sink& found);

    const ExploreContext& c_;
    const EinsumSpace& space_;
    std::vector<std::unique_ptr<mapspace::TemplateTree>> trees_;
    std::vector<mapspace::TabulateContext> tables_;                       ///< by path
    std::vector<std::vector<mapspace::TabulateContext>> relaxed_tables_;  ///< and by level + 1
    mapspace::TileShapeExplorer explorer_;
    model::FormulaPool pool_;
    std::vector<std::vector<double>> crossings_j_;  ///< by path, level + 1
    std::vector<double> times_s_;                   ///< by path, of the outermost memory
    Frontier below_;
    std::vector<Frontier> least_;                          ///< by objective
    std::vector<std::pair<double, TemplateEntry>> found_;  ///< with bounds
};

}  // namespace tessera::ffm
