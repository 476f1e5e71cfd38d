// The constraints of one node of a version 0.4 architecture, and the shorthand they may use.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/spec/node.hpp"
#include "tessera/timeloop/problem.hpp"
#include "timeloop/values.hpp"

namespace tessera::timeloop {

/// Constraints by type: spatial, temporal, dataspace, max_overbooked_proportion, utilization.
/// Shorthand keys:
///   factors_only                    these factors, all others 1
///   no_iteration_over_dataspaces    factors of the dimensions of these data spaces are 1
///   must_iterate_over_dataspaces    factors of all other dimensions are 1
///   keep_only, bypass_only          these, and the opposite for all others
///   *                               all data spaces
class NodeConstraints {
public:
    /// Adds the fields of `value` to those of `type`. \throws UserError if they contradict
    void add(const std::string& type, const spec::Node& value);
    /// Data spaces that a `dataspace` constraint keeps.
    std::vector<std::string> kept(const Problem& problem, const Values& values) const;
    void bypass(const std::string& space, const spec::Node& origin);
    /// No loops in time, nothing kept; the spatial constraints of `from`.
    void make_dummy(const NodeConstraints& from, const Problem& problem, const spec::Node& origin);
    /// Entries for a list of constraints on level `target`, with permutations completed.
    std::vector<spec::Node> written(const std::string& target, const Problem& problem, bool spatial,
                                    bool storage) const;

private:
    friend void expand_macros(NodeConstraints& constraints, const Problem& problem);
    std::map<std::string, spec::Node> by_type_;
};

/// Writes the shorthand out. \throws UserError for `maximize_dims`, which is not supported
void expand_macros(NodeConstraints& constraints, const Problem& problem);

}  // namespace tessera::timeloop
