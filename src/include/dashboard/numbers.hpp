// Numbers of constant width, so that columns stand still while values change.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::dashboard {

/// Five columns, right aligned: "    7", "  999", "1.23k", "12.3M", " 123G"; "    -" if not finite.
std::string count(double value);

/// "-4.1%", "12.0%", "100%", "0.02%"; "-" if not finite. Not padded.
std::string percent(double fraction);

/// Four significant digits with an SI prefix and unit, or, for a product of units (one with a
/// blank), in scientific notation: "159.3 mJ", "1.082e-03 J s". Without a unit: scientific.
std::string quantity(double value, const std::string& unit);

/// Eight columns at most: "4.10e-03".
std::string short_number(double value);

/// "00:12:41", "3d 04:05:06".
std::string clock(double seconds);

/// "1.500 s" below a minute, then as clock().
std::string duration(double seconds);

/// At most four columns: "0s", "59s", "12m", "3h", "9d"; "-" if negative or not finite.
std::string age(double seconds);

/// "312.0 MiB".
std::string memory(double bytes);

/// Right aligned in `width` columns.
std::string pad_left(const std::string& utf8, int width);
std::string pad_right(const std::string& utf8, int width);

}  // namespace tessera::dashboard
