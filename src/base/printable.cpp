#include "base/printable.hpp"

#include <algorithm>
#include <cstdio>

namespace tessera::base {

namespace {

/// How many bytes the code point that begins with this byte has; 0: none begins with it.
std::size_t length_of(unsigned char first) {
    return first < 0x80                     ? 1
           : first >= 0xc2 && first <= 0xdf ? 2
           : first >= 0xe0 && first <= 0xef ? 3
           : first >= 0xf0 && first <= 0xf4 ? 4
                                            : 0;
}

bool is_obeyed(char32_t c) {
    const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    const bool direction = c == 0x61c || c == 0x200e || c == 0x200f ||
                           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    const bool line_end = c == 0x2028 || c == 0x2029;
    return control || direction || line_end || c == 0xfeff;
}

std::string shown(std::string_view text, std::string_view kept) {
    std::string result;
    result.reserve(text.size());
    char code[12];
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t c = next_code_point(text, at);
        if (c == no_code_point) {
            std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(text[begin]));
            result += code;
        } else if (c == U'\n' && kept.empty()) {
            result += "\\n";
        } else if (is_obeyed(c) && (c >= 0x80 || kept.find(static_cast<char>(c)) == kept.npos)) {
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            result += code;
        } else {
            result.append(text, begin, at - begin);
        }
    }
    return result;
}

/// Bytes at the end of `text` that may be the beginning of a code point.
std::size_t unfinished(std::string_view text) {
    for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xc0U) != 0x80U) {
            return length_of(byte) > back ? back : 0;
        }
    }
    return 0;
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = length_of(first);
    const std::size_t begin = at++;
    if (length < 2) {
        return length == 1 ? first : no_code_point;
    }
    if (text.size() - begin < length) {
        return no_code_point;
    }
    char32_t result = first & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        const auto byte = static_cast<unsigned char>(text[begin + i]);
        if ((byte & 0xc0U) != 0x80U) {
            return no_code_point;
        }
        result = (result << 6U) | (byte & 0x3fU);
    }
    constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = result >= 0xd800 && result <= 0xdfff;
    if (result < least[length] || surrogate || result > 0x10ffff) {
        return no_code_point;
    }
    at = begin + length;
    return result;
}

bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        if (next_code_point(text, at) == no_code_point) {
            return false;
        }
    }
    return true;
}

std::string printable(std::string_view text) {
    return shown(text, "\n\t");
}

std::string one_line(std::string_view text) {
    return shown(text, {});
}

std::string yaml_quoted(std::string_view text) {
    std::string result = "\"";
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t c = next_code_point(text, at);
        const std::string piece(text.substr(begin, at - begin));
        if (c == U'"' || c == U'\\') {
            result += "\\" + piece;
        } else if (c == no_code_point || one_line(piece) == piece) {
            result += piece;
        } else {
            char number[16];
            std::snprintf(number, sizeof number, "\\u%04X", static_cast<unsigned>(c));
            result += number;
        }
    }
    return result + "\"";
}

PrintableOutput::PrintableOutput(std::ostream& stream)
    : stream_(stream), before_(stream.rdbuf()), buffer_(before_) {
    const std::ios::iostate state = stream.rdstate();
    stream_.rdbuf(&buffer_);
    stream_.setstate(state);
}

PrintableOutput::~PrintableOutput() {
    const std::ios::iostate state = stream_.rdstate();
    stream_.rdbuf(before_);
    stream_.setstate(state);
}

PrintableOutput::Buffer::~Buffer() {
    const std::string rest = printable(begun_);
    to_->sputn(rest.data(), static_cast<std::streamsize>(rest.size()));
}

bool PrintableOutput::Buffer::put(std::string_view text) {
    const std::lock_guard guard(lock_);
    used_ = true;
    // Most text, without a copy: what was found can be told when there is no memory for one.
    const bool plain = std::all_of(text.begin(), text.end(),
                                   [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
    if (begun_.empty() && plain) {
        const auto size = static_cast<std::streamsize>(text.size());
        return to_->sputn(text.data(), size) == size;
    }
    begun_ += text;
    const std::size_t whole = begun_.size() - unfinished(begun_);
    const std::string ready = printable(std::string_view(begun_).substr(0, whole));
    begun_.erase(0, whole);
    const auto size = static_cast<std::streamsize>(ready.size());
    return to_->sputn(ready.data(), size) == size;
}

PrintableOutput::Buffer::int_type PrintableOutput::Buffer::overflow(int_type character) {
    if (traits_type::eq_int_type(character, traits_type::eof())) {
        return traits_type::not_eof(character);
    }
    const char c = traits_type::to_char_type(character);
    return put({&c, 1}) ? character : traits_type::eof();
}

std::streamsize PrintableOutput::Buffer::xsputn(const char* text, std::streamsize size) {
    return put({text, static_cast<std::size_t>(size)}) ? size : 0;
}

int PrintableOutput::Buffer::sync() {
    const std::lock_guard guard(lock_);
    return to_->pubsync();
}

void write_unchanged(std::ostream& stream, const std::string& text) {
    const auto* filter = dynamic_cast<PrintableOutput::Buffer*>(stream.rdbuf());
    if (filter == nullptr) {
        stream << text;
        return;
    }
    const auto size = static_cast<std::streamsize>(text.size());
    if (filter->target()->sputn(text.data(), size) != size) {
        stream.setstate(std::ios::badbit);
    }
}

}  // namespace tessera::base
