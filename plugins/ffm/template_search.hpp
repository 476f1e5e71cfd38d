// Templates by need: where an Einsum has too many to make all, those that can be part of a mapping
// below a cutoff, by branch and bound over the holders from the innermost outwards
// (mapspace::TemplateTree; docs/ffm-proofs.md, 2.33).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "explorer.hpp"
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

    /// Templates of the most promising nodes: `width` for each class and number of holders.
    std::vector<TemplateEntry> promising(const Goal& goal, std::size_t width);
    /// All that can cost less than the cutoff; nothing if that takes more than `most_nodes`.
    /// bound_changed() is called now and then.
    std::optional<std::vector<TemplateEntry>> below(const Goal& goal, std::size_t most_nodes,
                                                    const std::function<void()>& bound_changed);
    /// What the goal is at least, as far as `most_nodes` show.
    double least(const Goal& goal, std::size_t most_nodes);
    /// The same, of the last search.
    double bound() const {
        return bound_;
    }

private:
    struct Node {
        std::size_t path = 0;
        mapspace::TemplateTree::Node holders;
        double bound = 0;
    };
    /// \returns infinity if there is nothing below the node, or nothing that is not known
    double bound_of(const Goal& goal, std::size_t path, const mapspace::TemplateTree::Node& node);
    double bound_of(const Goal& goal, const arch::Path& path, const mapspace::Template& tmpl);
    void expand(const Goal& goal, const Node& node, std::vector<Node>& out);
    void complete(const Goal& goal, const Node& node, std::vector<TemplateEntry>& out);

    const ExploreContext& c_;
    const EinsumSpace& space_;
    std::vector<std::unique_ptr<mapspace::TemplateTree>> trees_;
    std::unordered_set<std::string> seen_;
    mapspace::TileShapeExplorer explorer_;
    model::FormulaPool pool_;
    double bound_ = 0;
    double least_ = 0;  ///< of complete templates
    std::size_t nodes_ = 0;
};

}  // namespace tessera::ffm
