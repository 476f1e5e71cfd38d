#include "dashboard/symbols.hpp"

#include <cstdlib>

#include "base/printable.hpp"

namespace tessera::dashboard {

namespace {

constexpr Symbols with_lines(SymbolSet set) {
    return {set,  U'─', U'│', U'┌', U'┐', U'└', U'┘', U'*', U'●',         U'■',
            U'×', U'○', U'…', U'–', U'·', U'▲', U'▼', U'▶', U" ▁▂▃▄▅▆▇█", U"▏▎▍▌▋▊▉█"};
}

constexpr Symbols braille_symbols = with_lines(SymbolSet::braille);
constexpr Symbols block_symbols = with_lines(SymbolSet::block);
constexpr Symbols ascii_symbols = {SymbolSet::ascii,
                                   U'-',
                                   U'|',
                                   U'+',
                                   U'+',
                                   U'+',
                                   U'+',
                                   U'*',
                                   U'o',
                                   U'#',
                                   U'x',
                                   U'.',
                                   U'~',
                                   U'-',
                                   U'.',
                                   U'^',
                                   U'v',
                                   U'>',
                                   U" ._-:=+*#",
                                   U"#"};

struct Range {
    char32_t first, last;
};

// Blocks of which every assigned character takes one column in every terminal we know of. A list of
// what is allowed is safe where a list of what is forbidden ages with Unicode.
constexpr Range narrow[] = {
    {0x20, 0x7e},     {0xa1, 0xac},     {0xae, 0x24f},    {0x391, 0x3a1},   {0x3a3, 0x3c9},
    {0x400, 0x45f},   {0x2010, 0x2015}, {0x2018, 0x2027}, {0x2030, 0x205e}, {0x2070, 0x2071},
    {0x2074, 0x208e}, {0x2090, 0x209c}, {0x20ac, 0x20ac}, {0x2190, 0x21ff}, {0x2200, 0x22ff},
    {0x2500, 0x25fc}, {0x25ff, 0x25ff}, {0x2800, 0x28ff},
};

bool is_narrow(char32_t glyph) {
    for (const Range& range : narrow) {
        if (glyph >= range.first && glyph <= range.last) {
            return true;
        }
    }
    return false;
}

char32_t to_ascii(char32_t glyph) {
    switch (glyph) {
        case U'µ':
        case U'μ':
            return U'u';
        case U'·':
            return U'.';
        case U'×':
            return U'x';
        case U'–':
        case U'—':
        case U'−':
        case U'─':
            return U'-';
        case U'│':
            return U'|';
        case U'…':
            return U'~';
        case U'‘':
        case U'’':
            return U'\'';
        case U'“':
        case U'”':
            return U'"';
        case U'²':
            return U'2';
        case U'→':
            return U'>';
        case U'←':
            return U'<';
        case U'●':
            return U'o';
        case U'■':
            return U'#';
        case U'≤':
            return U'<';
        case U'≥':
            return U'>';
        default:
            return U'?';
    }
}

}  // namespace

const Symbols& symbols(SymbolSet set) {
    return set == SymbolSet::braille ? braille_symbols
           : set == SymbolSet::block ? block_symbols
                                     : ascii_symbols;
}

SymbolSet default_symbols(std::string_view locale, std::string_view terminal) {
    std::string lower;
    for (const char c : locale) {
        if (c != '-') {
            lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        }
    }
    const bool utf8 = lower.find("utf8") != std::string::npos;
    return utf8 && terminal != "linux" ? SymbolSet::block : SymbolSet::ascii;
}

SymbolSet default_symbols() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string_view(value ? value : "");
    };
    std::string_view locale = variable("LC_ALL");
    locale = locale.empty() ? variable("LC_CTYPE") : locale;
    locale = locale.empty() ? variable("LANG") : locale;
    return default_symbols(locale, variable("TERM"));
}

const char* name(SymbolSet set) {
    return set == SymbolSet::braille ? "braille" : set == SymbolSet::block ? "block" : "ascii";
}

std::u32string glyphs(std::string_view utf8, bool ascii) {
    std::u32string result;
    result.reserve(utf8.size());
    for (std::size_t i = 0; i < utf8.size();) {
        const char32_t glyph = base::next_code_point(utf8, i);
        if (glyph == U'\t') {
            result += U' ';
        } else if (!is_narrow(glyph)) {
            result += U'?';
        } else {
            result += ascii && glyph > 0x7e ? to_ascii(glyph) : glyph;
        }
    }
    return result;
}

void append_utf8(std::string& text, char32_t glyph) {
    const auto tail = [&](unsigned shift) {
        text += static_cast<char>(0x80U | ((glyph >> shift) & 0x3fU));
    };
    if (glyph < 0x80) {
        text += static_cast<char>(glyph);
    } else if (glyph < 0x800) {
        text += static_cast<char>(0xc0U | (glyph >> 6U));
        tail(0);
    } else if (glyph < 0x10000) {
        text += static_cast<char>(0xe0U | (glyph >> 12U));
        tail(6);
        tail(0);
    } else {
        text += static_cast<char>(0xf0U | (glyph >> 18U));
        tail(12);
        tail(6);
        tail(0);
    }
}

int columns(std::string_view utf8) {
    int count = 0;
    for (std::size_t i = 0; i < utf8.size(); ++count) {
        base::next_code_point(utf8, i);
    }
    return count;
}

}  // namespace tessera::dashboard
