#include "base/parsed_json.hpp"

namespace tessera::base {

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
