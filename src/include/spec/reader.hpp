#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/spec/node.hpp"

namespace tessera::spec {

/// Reads one file into a tree: libconfig if its name ends in `.cfg`, else YAML. In YAML, tags,
/// anchors, aliases and shallow merge keys (`<<`: explicit keys win, earlier maps win) are resolved
/// here; the directives of directives.hpp are not.
///
/// Throws UserError naming file:line:column when the file cannot be read, is empty, is not UTF-8,
/// holds a NUL byte, more than one document, a duplicate key, an undefined or self-containing
/// alias, more than 250 000 values or 10 000 keys in one map, or is no YAML.
Node read_file(const std::string& path);

/// The same for text held in memory; `name` stands for the file in messages.
Node read_text(std::string_view text, const std::string& name);

/// What other tools accept beyond the rules above.
struct ReadOptions {
    bool first_key_wins = false;       ///< of equal keys of a map the first counts
    bool first_document_only = false;  ///< a second document is left unread, not refused
    /// `<<<: *anchor` merges maps inside maps, too, and appends lists not tagged `!nomerge`.
    bool deep_merge_keys = false;
    /// Place of a line and column (from 1) of the text; empty: the text is a file of its own.
    std::function<Position(int, int)> locate = {};
    /// Called for every repeated key of one map (first place, later place).
    std::function<void(const std::string&, const Position&, const Position&)> repeated = {};
};

Node read_text(std::string_view text, const std::string& name, const ReadOptions& options);

/// The same for libconfig text, whose schema is YAML's: groups are maps, lists and arrays are
/// sequences, a setting `tag = "Memory"` of a group stands for YAML's tag `!Memory`. Strings count
/// as unquoted, so that they may hold expressions.
Node read_libconfig(std::string_view text, const std::string& name,
                    const ReadOptions& options = {});

/// The bytes of a file. \throws UserError if it cannot be read
std::string read_bytes(const std::string& path);

/// Throws UserError if `text` is not UTF-8 or holds a NUL byte.
void check_text(std::string_view text, const std::string& name);

}  // namespace tessera::spec
