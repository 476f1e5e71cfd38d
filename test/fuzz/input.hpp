// One input of the fuzzer: the files of a folder and the words of a command that reads them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace tessera::fuzz {

using Random = std::mt19937_64;

/// A number from 0 to `n` - 1. \pre n > 0
inline std::size_t below(Random& random, std::size_t n) {
    return static_cast<std::size_t>(random() % n);
}

inline bool one_in(Random& random, std::size_t n) {
    return below(random, n) == 0;
}

template <class List>
auto& pick(Random& random, List& list) {
    return list[below(random, std::size(list))];
}

struct Input {
    std::map<std::string, std::string> files;  ///< path in the folder -> bytes
    std::vector<std::string> words;            ///< the program's name first

    /// Writes the files below `folder`.
    void put_into(const std::filesystem::path& folder) const;
    /// The same with a file `command` that holds one word a line.
    void save(const std::filesystem::path& folder) const;
    static Input load(const std::filesystem::path& folder);
};

/// What lies in `folder`, as Input::files.
std::map<std::string, std::string> files_in(const std::filesystem::path& folder);

}  // namespace tessera::fuzz
