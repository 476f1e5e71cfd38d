// Text of any bytes in JSON, which holds UTF-8 only.
#pragma once

#include <optional>
#include <string>

#include "base/parsed_json.hpp"
#include "io/report_json.hpp"

namespace tessera::io {

using base::ParsedJson;

/// The document, two blanks a level; what is no UTF-8 in it becomes U+FFFD.
std::string dumped(const Json& json);

/// A text that must come back as it is (a path, an argument): a string, or {"bytes": "hex"} if it
/// is no UTF-8.
Json exact(const std::string& text);
/// The text that exact() made this of; nothing if it made no such thing.
std::optional<std::string> exact_text(const ParsedJson& json);
/// That of a member; "" if there is none, or `json` is no object.
std::string text_of(const ParsedJson& json, const char* key);

}  // namespace tessera::io
