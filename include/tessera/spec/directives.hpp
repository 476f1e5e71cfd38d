#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/spec/expression.hpp"
#include "tessera/spec/node.hpp"

// The native additions to plain YAML.
//
//   include: FILE            in a map: the map in FILE (path relative to this file) is merged under
//   include: [FILE, FILE]    this one; keys written here win, maps on both sides are merged in
//   turn.
//                            A list item that holds nothing else splices the list in FILE.
//   variables: {N: 4}        top level: names for every expression of the file; -D N=8 overrides.
//   repeat:                  in a list or map: the items or entries of `body` for every value of
//   the
//     variable: i            variable from `from` to `to` (both included; none if from > to). In
//     keys from: 0                and texts of the body, quoted or not, {EXPRESSION} is replaced by
//     its to: N - 1              value, e.g. T{i+1}. A map may hold a list of repeats. body: [...]
//   when: CONDITION          in a map: the map (as list item or as value of a key) is left out if
//   false.
//                            A list item with only `when` and `body` splices the body.

namespace tessera::spec {

using Defines = std::map<std::string, std::string>;

/// A spec with includes merged and directives carried out.
struct Document {
    Node root;          ///< paths assigned
    Symbols variables;  ///< top-level `variables`, lazily evaluated, overrides applied
};

/// Reads and merges files: of several definitions of a top-level key the first file's counts.
/// `defines` names that a file does not declare are ignored here; see check_defines().
/// \throws UserError, among others for a cycle of includes (the chain is named).
Document load_document(const std::vector<std::string>& paths, const Defines& defines);

/// The same for a tree that was read already (its includes merged).
Document expand_document(Node root, const Defines& defines);

/// Reads one file and merges its includes; nothing else is carried out.
Node load_tree(const std::string& path);

/// Sets every entry of a `variables` map as a lazy name, with the overrides. Null: nothing.
void bind_variables(const Node* variables, const Defines& defines, Symbols& symbols);

/// Throws UserError for a top-level key that no reader knows.
void check_sections(const Node& root);

/// Names a tree declares as variables (top level and `arch.variables`), sorted.
std::vector<std::string> declared_variables(const Node& root);

/// Throws UserError for the first define that is not among `declared`, naming the nearest.
void check_defines(const Defines& defines, const std::vector<std::string>& declared);

}  // namespace tessera::spec
