// Where inputs come from: for every reader its files as they are shipped, and what is done to them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/mutation.hpp"
#include "fuzz/verdict.hpp"

namespace tessera::fuzz {

struct Reader {
    std::string name;
    Place place;
    std::function<Input(Random&)> make;
};

/// Architectures and workloads with includes, variables, expressions; `check` and short searches.
Reader specs();
/// LoopTree mappings; `model`, `explain`, `check`.
Reader mappings();
/// Mappings as ZigZag writes them; `model`, `explain`, `check`.
Reader zigzag();
/// Timeloop's inputs, energies and maps; both programs, and `map`, `model`, `check`, `explain`.
Reader timeloop();
/// Options and knobs, and files of knobs.
Reader knobs();
/// Folders of runs. `scratch`: a folder where some are made first.
Reader run_folders(const std::filesystem::path& scratch);
/// Records and tables of shared objects.
Reader plugin_records();

/// A text with its tree.
struct Source {
    std::string text;
    spec::Node tree;
    Format format = Format::yaml;

    explicit Source(std::string text);
    /// By its tree, its bytes or its lines.
    std::string mutated(Random& random, const Donors& donors) const;
};

std::string read_bytes(const std::filesystem::path& file);
/// The files of a folder by name, those whose name ends in `ending`.
std::map<std::string, std::string> shipped(const std::filesystem::path& folder,
                                           const std::string& ending);

}  // namespace tessera::fuzz
