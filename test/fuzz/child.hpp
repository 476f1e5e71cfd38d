// One input in a process of its own, with limits on its time and its memory.
#pragma once

#include <filesystem>
#include <string>

#include "fuzz/input.hpp"

namespace tessera::fuzz {

struct Outcome {
    int code = 0;    ///< exit code, if no signal
    int signal = 0;  ///< that ended it
    bool hung = false;
    bool grew = false;  ///< beyond the limit of memory
    std::string out, err;
    std::map<std::string, std::string> files;  ///< in the folder afterwards
};

enum class Way {
    fork,    ///< the command line of this process, which is warm
    program  ///< the program BUILD/tessera, from its start
};

constexpr double time_limit_s = 10;      ///< of the processor
constexpr double waiting_limit_s = 120;  ///< of the clock on the wall
constexpr std::size_t memory_limit_bytes = std::size_t{1} << 30U;

/// Runs the input's command in `folder`, which is emptied first and holds its files.
Outcome run(const Input& input, const std::filesystem::path& folder, Way way);

/// The folder of the build; this test lies in BUILD/test/.
std::filesystem::path build_folder();

}  // namespace tessera::fuzz
