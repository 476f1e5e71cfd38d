// JSON documents that are written.
//
// What a search found is written when memory may have run out. The values of the usual library
// (nlohmann) allocate in its destructor, which may not throw, and is left without a value where an
// allocation fails in operator[]: the process ends. Here a failed allocation throws std::bad_alloc,
// changes nothing, and destructors allocate nothing. Strings and numbers are spelled by the
// library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::base {

/// A value: null, true or false, a number, a string, an array, or an object in the order in which
/// its members were added. As deep as the documents of this program, which are written and freed by
/// recursion. Thread rule: as a std::vector.
class Json {
public:
    struct Member;
    using Array = std::vector<Json>;
    using Object = std::vector<Member>;

    Json() = default;
    // As its assignment copies it: g++ 12 destroys the nothing that a variant's copy leaves where
    // memory ran out, as if it were a value.
    Json(const Json& other) : Json() {
        *this = other;
    }
    Json(Json&& other) noexcept = default;
    Json& operator=(const Json& other) = default;
    Json& operator=(Json&& other) noexcept = default;
    ~Json() = default;
    Json(std::nullptr_t) {}
    Json(std::string text) : value_(std::move(text)) {}
    Json(std::string_view text) : value_(std::string(text)) {}
    Json(const char* text) : value_(std::string(text)) {}
    template <class Number>
    requires std::is_arithmetic_v<Number> Json(Number v) {
        if constexpr (std::is_same_v<Number, bool>) {
            value_ = v;
        } else if constexpr (std::is_floating_point_v<Number>) {
            value_ = static_cast<double>(v);
        } else if (v < Number{}) {
            value_ = static_cast<std::int64_t>(v);
        } else {
            value_ = static_cast<std::uint64_t>(v);  // as it is read: equal numbers are equal
        }
    }
    template <class T>
    requires(!std::is_same_v<T, Json>) Json(const std::vector<T>& values) : Json(array()) {
        for (const auto& v : values) {
            push_back(v);
        }
    }
    /// An object if all values are pairs {"key", value}, else an array.
    Json(std::initializer_list<Json> values);
    template <class T>
    Json(const std::map<std::string, T>& members) : Json(object()) {
        for (const auto& [key, value] : members) {
            (*this)[key] = value;
        }
    }

    static Json object();
    static Json array(std::initializer_list<Json> values = {});

    /// The member of that key, null if it is new. Null becomes an object first.
    /// \pre null or an object
    Json& operator[](std::string_view key);
    /// \pre null, which becomes an array, or an array
    void push_back(Json value);
    /// \pre an object
    void erase(std::string_view key);
    bool contains(std::string_view key) const;
    bool is_null() const;
    bool is_object() const;
    /// A string's; null for other values.
    const std::string* text() const;
    /// A number's value.
    std::optional<double> number() const;
    /// \pre an array with a value at that place
    Json& at(std::size_t index);
    /// \pre an object
    const Object& members() const;

    friend bool operator==(const Json& a, const Json& b) = default;

    /// `indent` blanks a level; < 0: one line. Numbers that are not finite become null, what is no
    /// UTF-8 U+FFFD.
    std::string dump(int indent = -1) const;

private:
    void write(std::string& to, int indent, int depth) const;

    std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array,
                 Object>
        value_ = nullptr;
};

struct Json::Member {
    std::string key;
    Json value;
    friend bool operator==(const Member& a, const Member& b) = default;
};

}  // namespace tessera::base
