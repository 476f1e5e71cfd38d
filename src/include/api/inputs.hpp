// What a problem is made of, read from files: shared by the library's front door and the commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/settings.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/customary_renames.hpp"

namespace tessera::api {

/// What is given; empty: nothing.
struct InputNames {
    std::string architecture;  ///< file, or name in arch-specs/
    std::string workload;      ///< file, or name in problem-shapes/
    std::string mapping;       ///< file
    spec::Defines defines;
    std::vector<std::string> einsums = {};  ///< only these of the workload; none named: all
    /// Gives Einsums that name no input, output or weight the customary ones, if the architecture
    /// asks for them.
    bool customary_renames = true;
    /// Single values of architecture and workload, in place of what the files say.
    std::vector<spec::Setting> settings = {};
};

struct Input {
    std::string role;  ///< "architecture", "workload" or "mapping"
    std::string path;
};

struct Inputs {
    std::optional<arch::Architecture> architecture;
    std::optional<workload::Workload> workload;
    std::optional<mapping::Mapping> mapping;
    std::vector<Input> files;  ///< those that were named, without what they include
    std::vector<workload::GuessedRole> guessed_roles;
    std::vector<std::string> warnings;  ///< what the files say without effect: a line each
};

/// A file that was named, with its includes merged.
struct ReadInput {
    Input input;
    spec::Node tree;
};

/// What is named, read and not yet made into anything. \throws UserError, also for a file in the
/// place of another
std::vector<ReadInput> read_inputs(const InputNames& names);

/// A mapping of the problem from a file: Tessera's, or what ZigZag found for one layer
/// (mapping/zigzag.hpp). \throws UserError
mapping::Mapping given_mapping(const std::string& path, const spec::Defines& defines,
                               const workload::Workload& workload,
                               const arch::Architecture& architecture);

/// Of a tree with its includes merged. \throws UserError
workload::Workload read_workload(spec::Node tree, const spec::Defines& defines,
                                 const std::string& name);

/// Of trees: `names` gives defines, Einsums and customary renames alone. \throws UserError
Inputs made_inputs(std::vector<ReadInput> read, const InputNames& names);

/// \throws UserError, also for a file in the place of another and for a define that none declares
Inputs load_inputs(const InputNames& names);

}  // namespace tessera::api
