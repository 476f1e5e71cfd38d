// What a checkpoint of the mapper holds: all that was proven and takes long to prove again.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tessera::ffm {

/// Floors of one distinct Einsum as far as they are known.
struct SavedFloors {
    std::size_t einsum = 0;
    std::vector<char> done;  ///< by template: 1 if nothing is left to be found in it
    bool counted = true;     ///< `size` is exact
    std::string size = "0";  ///< pmappings of the templates that are done, decimal
    double evaluated = 0;    ///< rows looked at in them
    std::vector<std::array<double, 2>> least;  ///< by class
};

struct SavedState {
    double beaten_guess = 0;  ///< no mapping costs less
    std::vector<SavedFloors> floors;
};

/// Text without loss.
std::string to_text(const SavedState& state);
/// Empty text: an empty state. \throws UserError if the text is not from to_text()
SavedState read_saved_state(const std::string& text);

}  // namespace tessera::ffm
