// First mappings of networks whose Einsums share nothing: a beam through the tile shapes of a few
// templates per Einsum, then a local search. Fast and without proof; it also starts the class
// bounds.
#pragma once

#include <vector>

#include "../explorer.hpp"

namespace tessera::ffm {

class LocalSearch {
public:
    explicit LocalSearch(TemplateExplorer& explorer) : x_(explorer) {}

    /// Groups with one pmapping per Einsum: from the best template so far and some more with every
    /// call. `total`: costs of the best mapping so far; empty: every Einsum by itself.
    void run(const std::vector<double>& total);
    /// By Einsum: costs of its best pmapping; empty: none was found, or it equals an earlier one.
    std::vector<std::vector<double>> costs() const;

    using Scratch = TemplateExplorer::Scratch;
    /// What was found in one template.
    struct LocalOptimum {
        std::size_t index = 0;
        std::size_t tried = 0;  ///< templates of the Einsum that were searched
        TileShapes shapes;
        std::vector<double> cost;  ///< empty: nothing
    };
    /// From `start`; if that is empty, from what a beam finds, or else from any legal row. The
    /// explorer has it as its result.
    LocalOptimum search_template(std::size_t e, std::size_t i, const TileShapes& start,
                                 const std::vector<double>& completions, Scratch& scratch);

private:
    TemplateExplorer& x_;
    std::vector<LocalOptimum> local_optimum_;  ///< by Einsum
};

}  // namespace tessera::ffm
