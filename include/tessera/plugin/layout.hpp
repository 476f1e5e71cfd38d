// Fingerprints of the C++ types that host and plugin share.
//
// A type is listed once: every member with its name and type, every virtual function of a contract
// in order. The list yields a hash over names, types, offsets and sizes, which plugin and host
// compare before the plugin is loaded. test/unit/plugin_layout_test.cpp holds the lists against the
// types.
//
//     TESSERA_LAYOUT(search::Choice)
//     TESSERA_FIELD(tmpl, std::uint32_t)
//     TESSERA_FIELD(join, std::uint32_t)
//     TESSERA_END
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tessera/base/version.hpp"

namespace tessera::plugin {

/// FNV-1a, 64 bits.
class LayoutHash {
public:
    constexpr void add(std::string_view text) {
        for (const char c : text) {
            value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
        }
        value_ = (value_ ^ 0xff) * 0x100000001b3ull;
    }
    constexpr void add(std::uint64_t number) {
        for (int i = 0; i < 8; ++i) {
            value_ = (value_ ^ (number >> (8 * i) & 0xff)) * 0x100000001b3ull;
        }
    }
    /// A member: spaces in the spelling of its type do not count.
    constexpr void add_member(std::string_view name, std::string_view type) {
        add(name);
        for (const char c : type) {
            if (c != ' ') {
                value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
            }
        }
        add("");
    }
    constexpr std::uint64_t value() const {
        return value_;
    }

private:
    std::uint64_t value_ = 0xcbf29ce484222325ull;
};

/// Result of one list.
struct LayoutList {
    std::uint64_t hash = 0;
    int members = 0;          ///< fields or virtual functions listed
    bool types_right = true;  ///< every listed type is the member's type
};

template <class T>
struct Layout;

template <class Function, class Class>
using MemberFunction = Function Class::*;

/// One line of a fingerprint.
struct LayoutEntry {
    std::string_view name;
    std::uint64_t hash = 0;
};

/// The types that matter to one role.
template <class... Types>
struct TypeList {
    static constexpr auto entries() {
        return std::array<LayoutEntry, sizeof...(Types)>{
            LayoutEntry{Layout<Types>::name, Layout<Types>::list().hash}...};
    }
    template <class Visit>
    static void for_each(const Visit& visit) {
        (visit.template operator()<Types>(), ...);
    }
};

template <class A, class B>
struct Joined;
template <class... A, class... B>
struct Joined<TypeList<A...>, TypeList<B...>> {
    using type = TypeList<A..., B...>;
};

// ---- the record in section .tessera.plugin ----

/// What the compiled code relies on besides the layouts: "libstdc++ cxx11-strings c++20 64-bit
/// plain".
consteval std::string_view standard_library() {
#if defined(_LIBCPP_VERSION)
    return "libc++";
#elif defined(__GLIBCXX__)
    return "libstdc++";
#else
    return "unknown-library";
#endif
}
consteval std::string_view string_abi() {
#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
    return "old-strings";
#else
    return "new-strings";
#endif
}
consteval std::string_view language() {
    return __cplusplus >= 202002L ? "c++20" : "older-c++";
}
consteval std::string_view word_size() {
    return sizeof(void*) == 8 ? "64-bit" : "32-bit";
}
consteval std::string_view instrumentation() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
    return "address-sanitizer";
#elif __has_feature(thread_sanitizer)
    return "thread-sanitizer";
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
    return "address-sanitizer";
#elif defined(__SANITIZE_THREAD__)
    return "thread-sanitizer";
#elif defined(_GLIBCXX_DEBUG)
    return "debug-containers";
#else
    return "plain";
#endif
}

/// Text of one component, lines ending in '\n', padded with zeros.
class Record {
public:
    static constexpr std::size_t size = 8192;

    constexpr void line(std::string_view key, std::string_view value) {
        put(key);
        put(" ");
        put(value);
        put("\n");
    }
    constexpr void put(std::string_view text) {
        for (const char c : text) {
            text_.at(used_++) = c;
        }
    }
    constexpr void hex(std::uint64_t value) {
        for (int i = 15; i >= 0; --i) {
            text_.at(used_++) = "0123456789abcdef"[value >> (4 * i) & 15];
        }
    }
    constexpr void decimal(std::uint32_t value) {
        if (value >= 10) {
            decimal(value / 10);
        }
        text_.at(used_++) = static_cast<char>('0' + value % 10);
    }
    constexpr const std::array<char, size>& text() const {
        return text_;
    }

private:
    std::array<char, size> text_{};
    std::size_t used_ = 0;
};

/// `Contract`: kind, major, minor, Types.
template <class Contract>
consteval std::array<char, Record::size> make_record(std::string_view component) {
    Record r;
    r.line("tessera-plugin", "1");
    r.line("component", component);
    r.line("standard-library", standard_library());
    r.line("strings", string_abi());
    r.line("language", language());
    r.line("words", word_size());
    r.line("instrumentation", instrumentation());
    r.line("built-for", TESSERA_VERSION);
    r.put("interface ");
    r.put(Contract::id);
    r.put(" ");
    r.decimal(Contract::major);
    r.put(".");
    r.decimal(Contract::minor);
    r.put("\n");
    for (const LayoutEntry& entry : Contract::Types::entries()) {
        r.put("layout ");
        r.put(entry.name);
        r.put(" ");
        r.hex(entry.hash);
        r.put("\n");
    }
    r.line("end", component);
    return r.text();
}

}  // namespace tessera::plugin

#define TESSERA_LAYOUT(Type)                                    \
    template <>                                                 \
    struct tessera::plugin::Layout<::tessera::Type> {           \
        using Self = ::tessera::Type;                           \
        static constexpr std::string_view name = #Type;         \
        static constexpr ::tessera::plugin::LayoutList list() { \
            ::tessera::plugin::LayoutHash h;                    \
            ::tessera::plugin::LayoutList result;               \
            h.add(#Type);                                       \
            h.add(sizeof(Self));                                \
            h.add(alignof(Self));

#define TESSERA_FIELD(member, ...)       \
    h.add_member(#member, #__VA_ARGS__); \
    h.add(offsetof(Self, member));       \
    h.add(sizeof(Self::member));         \
    ++result.members;                    \
    result.types_right = result.types_right && std::is_same_v<decltype(Self::member), __VA_ARGS__>;

#define TESSERA_VIRTUAL(member, ...)                                                       \
    h.add_member(#member, #__VA_ARGS__);                                                   \
    static_cast<void>(                                                                     \
        static_cast<::tessera::plugin::MemberFunction<__VA_ARGS__, Self>>(&Self::member)); \
    ++result.members;

#define TESSERA_END          \
    result.hash = h.value(); \
    return result;           \
    }                        \
    }                        \
    ;
