// How those that are compared are named.
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

/// A mapper or strategy, with knobs of its own: `mcts`, or `mcts[variant=tileseek;rollouts=2]`, so
/// that one can be compared with itself under other knobs.
struct ContenderName {
    std::string text;    ///< as it was given
    std::string mapper;  ///< without the brackets
    /// COMPONENT.KNOB=VALUE. A knob without a component is the strategy's, or the mapper's.
    std::vector<std::string> knobs;
};

/// \throws UserError
ContenderName contender_name(const std::string& text);

/// Splits at commas that are not in brackets.
std::vector<std::string> split_names(const std::string& list);

}  // namespace tessera::cli
