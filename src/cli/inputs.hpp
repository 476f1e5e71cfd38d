// What -a, -w, -m and -D name, loaded.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "api/inputs.hpp"
#include "cli/arguments.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {

/// A file that took part, for run.json.
struct InputFile {
    std::string role;  ///< architecture, workload or mapping
    std::string path;
    std::string sha256;
};

/// Those that were named, and what they include.
std::vector<InputFile> input_files(const std::vector<api::Input>& named);

/// "a,b" as two words; an empty text has none.
std::vector<std::string> words_at_commas(const std::string& text);

/// Says which roles were guessed, if any: a line.
void print_guessed(std::ostream& err, const std::vector<workload::GuessedRole>& roles);

/// The same for documents: a line each.
std::vector<std::string> guessed_lines(const std::vector<workload::GuessedRole>& roles);

/// What files say without effect: a line each.
void print_file_warnings(std::ostream& err, const std::vector<std::string>& warnings);

/// Says what passes a memory by: a line each.
void print_left_out(std::ostream& err, const std::vector<std::string>& left_out);

/// A mapping of the problem from a file, as the hardware runs it: `err` hears what passes a memory
/// by. \throws UserError
mapping::Mapping given_mapping(const std::string& path, const spec::Defines& defines,
                               const model::Problem& problem, std::ostream& err);

/// Not movable: problem() points into it.
class Inputs {
public:
    /// Loads what is given, -m only if it is asked for. A -D that no file declares is an error.
    /// \throws UserError
    Inputs(const Arguments& arguments, arch::Compat compat, bool with_mapping = true);
    Inputs(const Inputs&) = delete;
    Inputs& operator=(const Inputs&) = delete;

    /// The mapping becomes the one that the hardware runs.
    /// \pre architecture, workload and mapping
    void settle_mapping();

    std::optional<arch::Architecture> architecture;
    std::optional<workload::Workload> workload;
    std::optional<mapping::Mapping> mapping;
    std::vector<InputFile> files;  ///< included files too
    arch::Compat compat;
    std::vector<workload::GuessedRole> guessed_roles;
    std::vector<std::string> warnings;  ///< what the files say without effect: a line each
    std::vector<std::string> left_out;  ///< what passes a memory by; see settle_mapping()

    /// \pre architecture and workload
    model::Problem problem() const {
        return {&*workload, &*architecture, compat};
    }
};

}  // namespace tessera::cli
