// The constraints of one node of a version 0.4 architecture, and the shorthand they may use.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/spec/node.hpp"
#include "timeloop/problem.hpp"
#include "timeloop/read/values.hpp"

namespace tessera::timeloop {

/// Shorthand keys, beside those that Timeloop itself reads.
inline constexpr std::initializer_list<const char*> constraint_shorthand = {
    "factors_only",
    "no_iteration_over_dataspaces",
    "must_iterate_over_dataspaces",
    "keep_only",
    "bypass_only",
    "maximize_dims",
    "maximize_dims_capacity"};

/// What add() takes as a type.
const std::vector<std::string>& constraint_types();

/// Constraints by type: spatial, temporal, dataspace, max_overbooked_proportion, utilization.
/// Shorthand keys:
///   factors_only                    these factors, all others 1
///   no_iteration_over_dataspaces    factors of the dimensions of these data spaces are 1
///   must_iterate_over_dataspaces    factors of all other dimensions are 1
///   keep_only, bypass_only          these, and the opposite for all others
///   *                               all data spaces
///   maximize_dims                   factors that fill a fan-out (or maximize_dims_capacity) best
class NodeConstraints {
public:
    /// What a `split` counts that the user did not name, as a warning with a remedy; empty:
    /// nothing.
    std::string counted_by_split(const Problem& problem, std::int64_t mesh_x,
                                 std::int64_t mesh_y) const;
    /// The types that were added and where.
    std::vector<std::pair<std::string, Position>> types() const;
    /// Adds the fields of `value` to those of `type`. \throws UserError if they contradict
    void add(const std::string& type, const spec::Node& value);
    /// Data spaces that a `dataspace` constraint keeps.
    std::vector<std::string> kept(const Problem& problem) const;
    void bypass(const std::string& space, const spec::Node& origin);
    /// No loops in time, nothing kept; the spatial constraints of `from`.
    void make_dummy(const NodeConstraints& from, const Problem& problem, const spec::Node& origin);
    /// Entries for a list of constraints on level `target`, with permutations completed.
    std::vector<spec::Node> written(const std::string& target, const Problem& problem, bool spatial,
                                    bool storage) const;

private:
    friend void expand_macros(NodeConstraints& constraints, const Problem& problem);
    friend class Maximizer;
    /// The constraints of a type; an empty map where `origin` stands if there are none.
    spec::Node& of_type(const std::string& kind, const spec::Node& origin);

    std::map<std::string, spec::Node> by_type_;
};

/// Writes the shorthand out, but for `maximize_dims`. \throws UserError
void expand_macros(NodeConstraints& constraints, const Problem& problem);

/// One node, for maximize_dims().
struct FanoutConstraints {
    NodeConstraints* constraints = nullptr;
    std::int64_t fanout = 1;
};
/// Writes every `maximize_dims` out as factors. It depends on the factors of all nodes: from the
/// innermost node, spatial constraints before temporal ones, each group of dimensions gets the
/// factors of what is left of its bounds whose product fills the capacity best. `nodes`: outermost
/// first, other shorthand written out. \throws UserError
void maximize_dims(const std::vector<FanoutConstraints>& nodes, const Problem& problem);

// Parts of constraints, for all files that write nodes.
/// `node` as if it stood where `origin` does.
inline spec::Node at(const spec::Node& origin, spec::Node node) {
    node.position = origin.position;
    node.path = origin.path;
    return node;
}
inline spec::Node text_at(const spec::Node& origin, const std::string& text) {
    return at(origin, spec::Node::scalar(text, {}));
}
/// Items of a list, or of a text separated by commas or blanks.
std::vector<std::string> items_of(const spec::Node& node);
/// The dimension of "C=3", "C<=3", "C3".
std::string dimension_of(const std::string& factor);
/// Adds a factor. `keep_first`: not if the dimension has one. \throws UserError if they contradict
void add_factor(spec::Node& constraint, const std::string& factor, const spec::Node& origin,
                bool keep_first);

}  // namespace tessera::timeloop
