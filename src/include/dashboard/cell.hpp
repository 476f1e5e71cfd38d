// What a screen is made of: cells of one glyph, one colour and a few attributes.
#pragma once

#include <cstdint>

namespace tessera::dashboard {

/// The Okabe-Ito colours (told apart by colour-blind readers) plus the terminal's own.
enum class Ink : std::uint8_t { text, grey, orange, sky, green, yellow, blue, vermillion, purple };

inline constexpr int ink_count = 9;

/// Bits of Style::attributes.
enum Attribute : std::uint8_t { plain = 0, bold = 1, dim = 2, reverse = 4 };

struct Style {
    Ink ink = Ink::text;
    std::uint8_t attributes = plain;

    bool operator==(const Style&) const = default;
};

/// `glyph`: a code point that takes one column.
struct Cell {
    char32_t glyph = U' ';
    Style style;

    bool operator==(const Cell&) const = default;
};

struct Size {
    int width = 0;
    int height = 0;

    bool operator==(const Size&) const = default;
};

struct Rect {
    int x = 0, y = 0, width = 0, height = 0;

    bool operator==(const Rect&) const = default;
};

// Who uses which colour. State is always told by a glyph or a word as well.
namespace style {
inline constexpr Style text{};
inline constexpr Style label{Ink::grey};
inline constexpr Style frame{Ink::grey};
inline constexpr Style title{Ink::text, bold};
inline constexpr Style focused{Ink::orange, bold};
inline constexpr Style value{Ink::text, bold};
inline constexpr Style best{Ink::orange, bold};
inline constexpr Style bound{Ink::sky};
inline constexpr Style good{Ink::green};
inline constexpr Style warning{Ink::yellow, bold};
inline constexpr Style bad{Ink::vermillion, bold};
inline constexpr Style bar{Ink::blue};
inline constexpr Style key{Ink::text, reverse};
}  // namespace style

}  // namespace tessera::dashboard
