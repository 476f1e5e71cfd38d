// Numbers as people read them: four significant digits. JSON and CSV have exact ones
// (spec::number_text).
#pragma once

#include <cstdint>
#include <string>

namespace tessera::base {

/// Units of SI. What is counted ("words", "cycles") has its prefix apart.
bool takes_prefixes(const std::string& unit);

/// "12.35 mJ", "1.082 mJ s": with an SI prefix. Other units as amount().
std::string quantity(double value, const std::string& unit);

/// What is counted: "9216 words", "16.78 M words", "42".
std::string amount(double value, const std::string& noun = "");

/// What has no unit and is not counted, such as a ratio: "1.068", "3.1e-05".
std::string number(double value);

/// "1 thread", "2 threads"; `nouns`: unless that only adds an s.
std::string counted(std::uint64_t n, const std::string& noun, const std::string& nouns = "");

/// "37.5 %"
std::string percent(double fraction);

/// "16 KiB", "1.5 MiB", "4 bit": a byte has 8 bits.
std::string size(double bits);

/// "312.0 MiB"
std::string memory(double bytes);

}  // namespace tessera::base
