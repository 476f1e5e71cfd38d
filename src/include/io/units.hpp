// Quantities as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::io {

/// "12.35 mJ": four significant digits with an SI prefix, the plain number without a unit.
std::string quantity(double value, const std::string& unit);

/// Six significant digits, then the unit if there is one: "1.23457e-05 J s".
std::string plain(double value, const std::string& unit);

/// "1 thread", "2 threads"; `nouns`: unless that only adds an s.
std::string counted(std::uint64_t n, const std::string& noun, const std::string& nouns = "");

/// "37.5 %"
std::string percent(double fraction);

/// "16 KiB", "1.5 MiB", "4 bit": four significant digits, a byte has 8 bits.
std::string size(double bits);

/// "312.0 MiB"
std::string memory(double bytes);

}  // namespace tessera::io
