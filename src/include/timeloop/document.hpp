// Timeloop's input files as one tree, before anything is made of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/spec/directives.hpp"
#include "tessera/spec/node.hpp"
#include "timeloop/dialect.hpp"

namespace tessera::timeloop {

enum class Format : std::uint8_t { yaml, libconfig };

/// Several files read as one, as Timeloop does: their contents one after the other, parsed once.
/// Of equal keys the first counts; what follows a second `---` is not read. Positions name the
/// file each value stands in. A value type.
struct Document {
    spec::Node root;  ///< a map; paths assigned
    Format format = Format::yaml;
    Dialect dialect = Dialect::v3_0_3;
    std::vector<std::string> files;
    std::vector<std::string> warnings;  ///< what was left out, with places
    bool from_nodes = false;            ///< the architecture was flattened from `nodes`
};

/// Reads `files` in order. The name of the first decides the format: `.cfg` anywhere in it means
/// libconfig, `.yml` or `.yaml` YAML. Architectures of version 0.4 given as `nodes` are flattened
/// by the rules of Timeloop's Python front end.
///
/// The dialect is the value of the environment variable TESSERA_TIMELOOP_DIALECT (`3.0.3` or
/// `master`). Unset: master if the input was made by the Python front end, or if it has no key
/// spelled with hyphens but some with underscores or version 0.4; else 3.0.3.
///
/// `defines` replace values of the top-level `variables`, the only parameters of these files.
/// \throws UserError, also for a name that `variables` lacks
Document read_document(const std::vector<std::string>& files, const spec::Defines& defines = {});

/// The same for text in memory; `name` decides the format.
Document read_document_text(std::string_view text, const std::string& name);

/// Whether a file looks like Timeloop's: libconfig or YAML with `problem`, `architecture`, or one
/// of the other top-level keys of Timeloop, and none of the native ones. Unreadable files: no.
bool is_timeloop_file(const std::string& path);

/// Equal names but for `-` and `_`.
bool same_key(std::string_view left, std::string_view right);

/// The value of a key in either spelling, or nullptr (also if `map` is none).
const spec::Node* find_key(const spec::Node& map, std::string_view key);

}  // namespace tessera::timeloop
