// What a checkpoint of the mapper holds: all that was proven and takes long to prove again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::ffm {

/// Class bounds of one distinct Einsum as far as they are known.
struct SavedClassBounds {
    std::size_t einsum = 0;
    std::vector<char> done;  ///< by template: 1 if nothing is left to be found in it
    bool counted = true;     ///< `size` is exact
    std::string size = "0";  ///< pmappings of the templates that are done, decimal
    double evaluated = 0;    ///< rows looked at in them
    std::vector<std::array<double, 2>> least;  ///< by class
    /// By template, with partial tiles: what costs are known not to go below (of the objectives and
    /// of the scalarised cost), and rows that were not enough to tighten each of these. Else empty.
    std::vector<std::array<double, 6>> tightened;
    std::array<double, 2> scalarised_unit{};  ///< what the scalarised cost is counted in
};

/// Pmappings of one template that a search has found.
struct SavedRows {
    std::size_t einsum = 0, index = 0;
    double evaluated = 0;             ///< rows looked at
    std::vector<std::int64_t> tiles;  ///< rows x symbols
    std::vector<double> objectives;   ///< rows x objectives
};

/// A search for what is as good as a cutoff. It is repeated without its finished templates.
struct SavedSearch {
    std::vector<double> key;  ///< what it is bounded by
    std::vector<SavedRows> rows;
};

/// A join that some parts of the run began and none ended.
struct SavedJoin {
    double cutoff = 0;
    int begun = 0;
};

struct SavedState {
    double refuted_cutoff = 0;  ///< no mapping costs less
    double evaluated = 0;       ///< rows looked at in all parts of the run, more than once included
    std::vector<SavedClassBounds> class_bounds;
    std::vector<SavedSearch> searches;
    std::vector<SavedJoin> joins;
    std::string perfect;  ///< with partial tiles: the text of the search without
    std::string later;    ///< the text of the search by the later metric
};

/// Text without loss.
std::string to_text(const SavedState& state);
/// Empty text: an empty state. \throws UserError if the text is not from to_text()
SavedState read_saved_state(const std::string& text);

}  // namespace tessera::ffm
