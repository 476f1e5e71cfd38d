#include "io/json_text.hpp"

#include "base/printable.hpp"

namespace tessera::io {

std::string dumped(const Json& json) {
    return json.dump(2) + "\n";
}

Json exact(const std::string& text) {
    if (base::is_utf8(text)) {
        return text;
    }
    static constexpr const char* digits = "0123456789abcdef";
    std::string hex;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        hex += digits[byte >> 4U];
        hex += digits[byte & 15U];
    }
    return {{"bytes", hex}};
}

std::optional<std::string> exact_text(const ParsedJson& json) {
    if (json.is_string()) {
        return json.get<std::string>();
    }
    if (!json.is_object() || !json.contains("bytes") || !json["bytes"].is_string()) {
        return std::nullopt;
    }
    const auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    const auto hex = json["bytes"].get<std::string>();
    std::string text;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        const int high = digit(hex[i]), low = digit(hex[i + 1]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        text += static_cast<char>(16 * high + low);
    }
    return hex.size() % 2 == 0 ? std::optional(text) : std::nullopt;
}

std::string text_of(const ParsedJson& json, const char* key) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    return found == json.end() ? "" : exact_text(*found).value_or("");
}

}  // namespace tessera::io
