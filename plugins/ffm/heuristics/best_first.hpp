// One Einsum by itself: best-first branch and bound over templates and boxes (boxes.hpp).
//   local search   local searches in a few templates: the incumbent
//   branch    every template, as a whole and then into its boxes, one filter after the other; what
//             a convex bound of the metric, which sees energy, latency and all capacities at once,
//             shows to be no better than the incumbent is left out with all boxes inside
//   explore   boxes by ascending bound, in rounds, first by local searches, then exactly below the
//             incumbent; the least bound of those left is the dual bound, and the search ends where
//             it meets the incumbent
// Rounds do not depend on the number of threads, and neither does the result.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "../explorer.hpp"

namespace tessera::ffm {

/// Each search leaves groups of one pmapping if it finds one below `best`, and says so.
class BestFirst {
public:
    explicit BestFirst(TemplateExplorer& explorer) : x_(explorer) {}

    /// Local searches in some templates.
    bool local_search_templates(double best);
    /// Parts of every `every`-th template that may have something below `best`.
    /// \throws base::Stopped
    void make_boxes(double best, std::size_t every);
    std::size_t n_boxes() const {
        return boxes_.size();
    }
    /// Of the box with that many others before it in order of bounds; infinite behind the last.
    double bound_of_rank(std::size_t rank) const;
    /// Local searches in the boxes of least bound.
    bool local_search_boxes(double best);
    /// All of `n` boxes from the `first` on.
    bool explore_boxes(std::size_t first, std::size_t n, double best);

private:
    using Scratch = TemplateExplorer::Scratch;
    /// Some of the symbols of a template have given tile shapes.
    struct Box {
        std::size_t index = 0;
        double bound = 0;       ///< of the metric
        TileShapes fixed;       ///< by symbol; 0: open
        bool few_rows = false;  ///< to look at all of them is quicker than to bound any
    };
    struct BoxProblem {
        TemplateEntry entry;  ///< over the open symbols
        std::vector<int> open;
        model::TemplateFormulas formulas;
        std::vector<model::Formula> cost;
        mapspace::TileShapeProblem problem;
    };
    struct BoxRow {
        double value = std::numeric_limits<double>::infinity();
        std::size_t index = 0;
        TileShapes shapes;  ///< of all symbols; empty: nothing below the incumbent
    };
    BoxProblem open_box(const Box& box, Scratch& scratch, bool keep_sums = false) const;
    double bound_of_box(const Box& box, double enough, bool closest, Scratch& scratch) const;
    void branch(const Box& box, std::span<const std::vector<int>> chains, double best,
                Scratch& scratch, std::vector<Box>& out) const;
    void offer_rows(const Box& box, const BoxProblem& p, const Scratch& scratch,
                    BoxRow& best) const;
    void explore_rows(BoxProblem& p, const mapspace::TileShapeOptions& how, Scratch& scratch) const;
    BoxRow explore_box(const Box& box, double best, Scratch& scratch) const;
    BoxRow local_search_box(const Box& box, Scratch& scratch) const;
    template <class Search>
    bool search_boxes(std::span<const Box> boxes, double best, const Search& search);

    TemplateExplorer& x_;
    std::vector<Box> boxes_;  ///< by ascending bound
};

}  // namespace tessera::ffm
