// Names and numbers of levels, dimensions and data spaces as mappings and constraints write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "timeloop/architecture.hpp"
#include "timeloop/constraints.hpp"
#include "timeloop/problem.hpp"
#include "values.hpp"

namespace tessera::timeloop {

/// \throws UserError if there is none
int data_space_named(const spec::Node& where, const std::string& name, const Problem& problem);

/// Looks things up in one problem and architecture. Holds references.
class Lookup {
public:
    Lookup(const Problem& problem, const Architecture& architecture, const Values& values)
        : problem_(problem), architecture_(architecture), values_(values) {}

    /// `target` (or `name`): a storage level's name or its number from the innermost.
    int level(const Section& entry) const;
    int dimension(const spec::Node& where, const std::string& name) const;
    /// A list of data spaces; `*` stands for all.
    std::vector<int> data_spaces(const spec::Node& node) const;

    /// "C=2 M4 P=3,1 R<=3 # comment", or a list of such texts. `=` and blanks may be left out.
    std::vector<FactorRule> factors(const spec::Node& node) const;
    /// "CMR", a list of names, or names separated by commas or blanks; innermost first. Names of
    /// one character need no separators. An item `_` (see `allow_gap`) is dimension -1.
    std::vector<int> permutation(const spec::Node& node, bool allow_gap) const;

    /// `no_coalesce`. \throws UserError in sparse designs
    PlacedSpaces coalescing(const spec::Node& node) const;
    /// `what`: a spatial directive or constraint. \throws UserError where nothing is repeated
    void need_fanout(const Section& entry, int level, const std::string& what) const;

private:
    void parse_factors(const spec::Node& where, const std::string& text,
                       std::vector<FactorRule>& into) const;

    const Problem& problem_;
    const Architecture& architecture_;
    const Values& values_;
};

}  // namespace tessera::timeloop
