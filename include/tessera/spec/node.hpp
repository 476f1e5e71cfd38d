#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/spec/position.hpp"

namespace tessera::spec {

/// One node of a spec tree, independent of the file format it came from.
///
/// A value type: copying copies the subtree. Every node knows where it was written and its path
/// from the root ("arch.nodes[2].spatial[0].fanout"), so that any later layer can complain
/// precisely. Reading is thread safe, changing is not.
class Node {
public:
    enum class Kind { null, scalar, sequence, map };
    struct Entry;

    Kind kind = Kind::null;
    std::string text;            ///< scalar: the text as written, without quotes
    bool quoted = false;         ///< scalar: written in quotes (a literal string) or as a block
    std::string tag;             ///< "!Memory", or "" when untagged
    Position position;           ///< of the value
    std::string path;            ///< see assign_paths()
    std::vector<Node> items;     ///< sequence
    std::vector<Entry> entries;  ///< map, in file order, keys unique

    Node() = default;
    static Node scalar(std::string text, Position position, bool quoted = false);
    static Node sequence(Position position);
    static Node map(Position position);

    bool is_null() const {
        return kind == Kind::null;
    }
    bool is_scalar() const {
        return kind == Kind::scalar;
    }
    bool is_sequence() const {
        return kind == Kind::sequence;
    }
    bool is_map() const {
        return kind == Kind::map;
    }

    /// The value of `key` in a map, or nullptr (also when this is no map).
    const Node* find(std::string_view key) const;
    Node* find(std::string_view key);
    /// The entry (key with its own position), or nullptr.
    const Entry* find_entry(std::string_view key) const;
    /// Appends an entry; the key must not exist yet.
    Node& insert(std::string key, Position key_position, Node value);
    void erase(std::string_view key);
    std::vector<std::string> keys() const;

    /// What the node is, for messages: "a map", "a list", "the text 'abc'", "nothing".
    std::string describe() const;
    /// Short form of the value for messages ("[3 items]", "{2 keys}", or the text).
    std::string brief() const;
};

/// A key of a map with its value and the position of the key.
struct Node::Entry {
    std::string key;
    Position key_position;
    Node value;
};

/// Sets `path` in the whole tree, beginning with `root_path` at its root.
void assign_paths(Node& root, const std::string& root_path = "");

/// Throws UserError at the position and path of `node`.
[[noreturn]] void fail(const Node& node, const Complaint& complaint);

/// Adds the entries of `defaults` that `target` lacks. With `deep`, maps present on both sides are
/// merged the same way; everything else present in `target` wins whole.
void merge_missing(Node& target, const Node& defaults, bool deep);

}  // namespace tessera::spec
