// Changes to the files of an input.
#pragma once

#include <string>
#include <vector>

#include "fuzz/input.hpp"
#include "fuzz/tree_writer.hpp"

namespace tessera::fuzz {

/// Trees whose parts, keys, tags and texts end up in other files.
struct Donors {
    std::vector<spec::Node> trees;
    std::vector<std::string> keys, tags, texts;
    std::vector<std::string> files;  ///< names to include

    void add(const spec::Node& tree);
};

/// Changes one to four places of the tree.
void mutate_tree(Random& random, spec::Node& root, const Donors& donors);

/// Changes one to eight places of the bytes: flips, cuts, copies, hostile texts.
void mutate_bytes(Random& random, std::string& bytes);

/// The same in units of lines.
void mutate_lines(Random& random, std::string& text);

}  // namespace tessera::fuzz
