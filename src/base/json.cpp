#include "tessera/base/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tessera::base {
namespace {

/// Numbers and strings of the library hold no further values: their destructors allocate nothing.
template <class T>
std::string scalar(const T& value) {
    return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Json::Json(std::initializer_list<Json> values) {
    const bool pairs = std::all_of(values.begin(), values.end(), [](const Json& v) {
        const auto* const pair = std::get_if<Array>(&v.value_);
        return pair != nullptr && pair->size() == 2 &&
               std::holds_alternative<std::string>(pair->front().value_);
    });
    if (!pairs) {
        value_ = Array(values);
        return;
    }
    Object members;
    for (const Json& v : values) {
        const Array& pair = std::get<Array>(v.value_);
        members.push_back({std::get<std::string>(pair[0].value_), pair[1]});
    }
    value_ = std::move(members);
}

Json Json::object() {
    Json out;
    out.value_ = Object();
    return out;
}

Json Json::array(std::initializer_list<Json> values) {
    Json out;
    out.value_ = Array(values);
    return out;
}

Json& Json::operator[](std::string_view key) {
    if (is_null()) {
        value_ = Object();
    }
    Object& members = std::get<Object>(value_);
    const auto found = std::ranges::find_if(members, [&](const Member& m) { return m.key == key; });
    if (found != members.end()) {
        return found->value;
    }
    members.push_back({std::string(key), {}});
    return members.back().value;
}

void Json::push_back(Json value) {
    if (is_null()) {
        value_ = Array();
    }
    std::get<Array>(value_).push_back(std::move(value));
}

void Json::erase(std::string_view key) {
    std::erase_if(std::get<Object>(value_), [&](const Member& m) { return m.key == key; });
}

bool Json::contains(std::string_view key) const {
    const Object* const members = std::get_if<Object>(&value_);
    return members != nullptr &&
           std::ranges::any_of(*members, [&](const Member& m) { return m.key == key; });
}

bool Json::is_null() const {
    return std::holds_alternative<std::nullptr_t>(value_);
}

bool Json::is_object() const {
    return std::holds_alternative<Object>(value_);
}

const std::string* Json::text() const {
    return std::get_if<std::string>(&value_);
}

std::optional<double> Json::number() const {
    return std::visit(
        [](const auto& v) -> std::optional<double> {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
                return static_cast<double>(v);
            }
            return std::nullopt;
        },
        value_);
}

Json& Json::at(std::size_t index) {
    return std::get<Array>(value_).at(index);
}

const Json::Object& Json::members() const {
    return std::get<Object>(value_);
}

namespace {

/// `indent` blanks a level, < 0: one line.
struct Layout {
    int indent = 0, depth = 0;

    void line(std::string& to, int levels) const {
        if (indent >= 0) {
            to += '\n';
            to.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(levels), ' ');
        }
    }
};

/// `brackets`: the opening and the closing one.
template <class Items, class Write>
void write_list(std::string& to, const Layout& layout, const char* brackets, const Items& items,
                const Write& write) {
    to += brackets[0];
    bool first = true;
    for (const auto& item : items) {
        if (!first) {
            to += ',';
        }
        first = false;
        layout.line(to, layout.depth + 1);
        write(item);
    }
    if (!first) {
        layout.line(to, layout.depth);
    }
    to += brackets[1];
}

}  // namespace

void Json::write(std::string& to, int indent, int depth) const {
    if (const Array* const items = std::get_if<Array>(&value_)) {
        write_list(to, {indent, depth}, "[]", *items,
                   [&](const Json& item) { item.write(to, indent, depth + 1); });
    } else if (const Object* const members = std::get_if<Object>(&value_)) {
        write_list(to, {indent, depth}, "{}", *members, [&](const Member& m) {
            to += scalar(m.key);
            to += indent >= 0 ? ": " : ":";
            m.value.write(to, indent, depth + 1);
        });
    } else {
        std::visit(
            [&](const auto& v) {
                using T = std::decay_t<decltype(v)>;
                if constexpr (!std::is_same_v<T, Array> && !std::is_same_v<T, Object>) {
                    to += scalar(v);
                }
            },
            value_);
    }
}

std::string Json::dump(int indent) const {
    std::string out;
    write(out, indent, 0);
    return out;
}

}  // namespace tessera::base
