// Single values of a spec file that the user sets from outside: PATH=VALUE.
#pragma once

#include <string>

#include "tessera/spec/node.hpp"

namespace tessera::spec {

/// `path`: `arch.GlobalBuffer.size`, `arch.GlobalBuffer.actions.read.energy`,
/// `workload.rank_sizes.M`, `arch.nodes[2].size`: keys, names of list items (`name: ...`), and
/// places in lists. An item below counts without the lists that it is in: `arch.GlobalBuffer` is
/// the node of that name, however deep. `text`: as it would stand in the file; what begins with
/// `[` or `{` is YAML.
struct Setting {
    std::string path, text;
};

/// The first part of the path, `arch` or `workload`: which file is meant.
/// \throws UserError for another part, or a path of one part
std::string section_of(const Setting& setting);

/// Replaces the value, or adds the last key to a map that lacks it: the reader of the file judges
/// it. The place in messages about it is `--set PATH=VALUE`. \pre includes are merged, paths
/// assigned \throws UserError if a part names nothing, or several things
void apply(Node& root, const Setting& setting);

}  // namespace tessera::spec
