// Keys that no reader asked for: Timeloop ignores them without a word, here each is named.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/spec/node.hpp"

namespace tessera::timeloop {

/// The maps that the readers of one part of a document looked into, each with the keys that they
/// asked for. Maps are told apart by their address: they must stay where they are.
class AskedKeys {
public:
    struct Map {
        const spec::Node* node = nullptr;
        std::string what;                ///< "a storage level", for messages
        std::vector<std::string> asked;  ///< spelled with underscores
        /// Other tools have keys of their own in here: only slips of the pen are named.
        bool free_form = false;
        /// Another reader comes to the same keys: here they are only named beside an error.
        bool read_later = false;

        void ask(const std::string& key);
    };

    Map& of(const spec::Node& node, const std::string& what);
    /// One warning for each key that no reader asked for, with its place and the nearest key.
    std::vector<std::string> unread() const;
    /// The keys that look like slips of those asked for, where a reader ended in an error: they may
    /// be its cause. A text to be appended, or empty.
    std::string slips() const;

private:
    std::deque<Map> maps_;
    std::map<const spec::Node*, std::size_t> index_;
};

/// Throws `error` again with a text appended.
[[noreturn]] void rethrow_with(const UserError& error, const std::string& note);

/// One warning for each key of the root that is nobody's section.
std::vector<std::string> unknown_sections(const spec::Node& root, bool from_nodes);
/// As AskedKeys::slips(), of the keys of the root.
std::string misspelt_sections(const spec::Node& root);

}  // namespace tessera::timeloop
