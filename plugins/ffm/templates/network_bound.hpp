// A bound of a long cascade before its templates are made: the least costs of its Einsums, each by
// itself, added up.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "template_search.hpp"

namespace tessera::ffm {

class NetworkBound {
public:
    /// `spaces` have paths, equal ones are known, and they outlive it.
    NetworkBound(const ExploreContext& context, const std::vector<EinsumSpace>& spaces);

    /// Goes on until it is said to pause, or there is little left to be had, and says the least
    /// product of all objectives so far. \throws base::Stopped, after which it is of no use
    double raise(const std::function<bool()>& pauses);

private:
    const ExploreContext& c_;
    const std::vector<EinsumSpace>& spaces_;
    std::map<std::size_t, TemplateSearch> searches_;    ///< of the first of equal Einsums
    std::vector<std::map<std::size_t, double>> least_;  ///< by objective and Einsum
    std::size_t nodes_;                                 ///< that are looked at of each, at present
};

}  // namespace tessera::ffm
