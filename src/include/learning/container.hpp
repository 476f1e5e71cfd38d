// Files of the learning methods: a line that says what it is, a JSON header, numbers, a checksum.
//
//   tessera KIND FORMAT\n
//   BYTES NUMBERS\n          of the header; how many numbers
//   the header               JSON
//   the numbers              IEEE 754, 4 bytes, the lowest first
//   CRC32\n                  of everything before, 8 hexadecimal digits
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/parsed_json.hpp"
#include "tessera/base/json.hpp"

namespace tessera::learning {

inline constexpr int container_format = 1;

struct Container {
    base::ParsedJson header;
    std::vector<float> numbers;
};

/// `kind`: one word.
std::string container_bytes(const std::string& kind, const base::Json& header,
                            std::span<const float> numbers);

/// `name`: of the file, for messages. \throws UserError saying what is wrong: no such file of ours,
/// another kind, of a later format, cut short, changed, no JSON
Container read_container(const std::string& bytes, const std::string& kind,
                         const std::string& name);

/// Members of the header. \throws UserError naming file, member and what was expected
std::vector<std::string> strings_of(const Container& file, const std::string& member,
                                    const std::string& name);
std::vector<float> numbers_of(const Container& file, const std::string& member,
                              const std::string& name);

/// How many numbers of a layout are bounds of the problem: those it begins with.
std::size_t n_bounds(const std::vector<std::string>& layout);

}  // namespace tessera::learning
