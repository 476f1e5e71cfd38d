// What a plugin's file says of itself, for the host to read before anything of it runs: text in
// the section .tessera.plugin.
//
// The headers that both sides share are compared by fingerprints, which the build takes from the
// headers themselves (tools/fingerprints.py). A few sizes show what headers cannot: compiler
// settings that change types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/base/version.hpp"
#include "tessera/plugin/fingerprints.hpp"

namespace tessera::plugin {

// What the compiled code relies on besides the headers. Their language is C++20 in any case, and
// the machine is told by the file.
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
    constexpr void decimal(std::uint64_t value) {
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

/// Size of a type that both sides share: compiler settings may change it.
struct TypeSize {
    std::string_view type;
    std::size_t size = 0;
};

/// `Contract`: kind, major, minor, headers, sizes.
template <class Contract>
consteval std::array<char, Record::size> make_record(std::string_view component) {
    Record r;
    r.line("tessera-plugin", "2");
    r.line("component", component);
    r.line("standard-library", standard_library());
    r.line("strings", string_abi());
    r.line("instrumentation", instrumentation());
    r.line("built-for", TESSERA_VERSION);
    r.put("interface ");
    r.put(Contract::id);
    r.put(" ");
    r.decimal(Contract::major);
    r.put(".");
    r.decimal(Contract::minor);
    r.put("\n");
    for (const HeaderPrint& print : Contract::headers) {
        r.put("header ");
        r.line(print.header, print.fingerprint);
    }
    for (const TypeSize& type : Contract::sizes) {
        r.put("size ");
        r.put(type.type);
        r.put(" ");
        r.decimal(type.size);
        r.put("\n");
    }
    r.line("end", component);
    return r.text();
}

}  // namespace tessera::plugin

/// One entry of a contract's list of sizes.
#define TESSERA_SIZE(...)                 \
    ::tessera::plugin::TypeSize {         \
#__VA_ARGS__, sizeof(__VA_ARGS__) \
    }
