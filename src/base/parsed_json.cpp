#include "base/parsed_json.hpp"

namespace tessera::base {

namespace {

constexpr int most_nested = 200;

bool nested_too_deeply(std::string_view text) {
    int depth = 0;
    bool string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (string) {
            i += c == '\\' ? 1 : 0;
            string = c != '"';
        } else {
            string = c == '"';
            depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
            if (depth > most_nested) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

ParsedJson parsed_json(std::string_view text) {
    return nested_too_deeply(text) ? ParsedJson(ParsedJson::value_t::discarded)
                                   : ParsedJson::parse(text, nullptr, false);
}

Json written(const ParsedJson& read) {
    using Type = ParsedJson::value_t;
    switch (read.type()) {
        case Type::boolean:
            return read.get<bool>();
        case Type::number_integer:
            return read.get<std::int64_t>();
        case Type::number_unsigned:
            return read.get<std::uint64_t>();
        case Type::number_float:
            return read.get<double>();
        case Type::string:
            return read.get<std::string>();
        case Type::array: {
            Json items = Json::array();
            for (const auto& item : read) {
                items.push_back(written(item));
            }
            return items;
        }
        case Type::object: {
            Json members = Json::object();
            for (const auto& [key, value] : read.items()) {
                members[key] = written(value);
            }
            return members;
        }
        default:
            return nullptr;
    }
}

}  // namespace tessera::base
