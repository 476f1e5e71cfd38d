// The glyphs of the three symbol sets, and the way from foreign text to glyphs of one column.
#pragma once

#include <string>
#include <string_view>

namespace tessera::dashboard {

enum class SymbolSet { braille, block, ascii };

struct Symbols {
    SymbolSet set;
    // Lines of boxes.
    char32_t horizontal, vertical, top_left, top_right, bottom_left, bottom_right;
    // States; each has a glyph of its own, so that colour only repeats what is said.
    char32_t improved, running, done, failed, waiting;
    char32_t ellipsis, dash, dotted, up, down, marker;
    std::u32string_view spark;  ///< from empty to full
    std::u32string_view bar;    ///< parts of a column from 1/n to full
};

const Symbols& symbols(SymbolSet set);

/// The set that fits the locale (the value of LC_ALL, LC_CTYPE or LANG) and the terminal: block for
/// UTF-8 except on the Linux console, else ASCII.
SymbolSet default_symbols(std::string_view locale, std::string_view terminal);
/// The same from the environment of this process.
SymbolSet default_symbols();

const char* name(SymbolSet set);

/// UTF-8 to code points that take exactly one column each. Control characters, broken UTF-8 and
/// what may be wider or narrower become '?'; tabs become blanks. `ascii`: nothing beyond ASCII is
/// left, known letters and signs are transliterated.
std::u32string glyphs(std::string_view utf8, bool ascii);

/// Appends one code point as UTF-8.
void append_utf8(std::string& text, char32_t glyph);

/// Columns that `utf8` takes after glyphs().
int columns(std::string_view utf8);

}  // namespace tessera::dashboard
