#pragma once

#include <string>
#include <string_view>

#include "tessera/spec/node.hpp"

namespace tessera::spec {

/// Reads one YAML file into a tree. Tags, anchors, aliases and shallow merge keys (`<<`: explicit
/// keys win, earlier maps win) are resolved here; the directives of directives.hpp are not.
///
/// Throws UserError naming file:line:column when the file cannot be read, is empty, is not UTF-8,
/// holds a NUL byte, more than one document, a duplicate key, an undefined or self-containing
/// alias, more than two million nodes, or is no YAML.
Node read_file(const std::string& path);

/// The same for text held in memory; `name` stands for the file in messages.
Node read_text(std::string_view text, const std::string& name);

}  // namespace tessera::spec
