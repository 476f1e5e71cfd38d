// Numbers as text, bit by bit, for the states that strategies save. What is read is hostile: it is
// refused where a number is missing, not finite, or one of a list of another length.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::search {

/// Words of hexadecimal digits; a list of `float` is its length and one word of eight digits a
/// number, a text one word of two digits a character.
class StateWriter {
public:
    void put(std::uint64_t number) {
        char digits[20];
        text_.append(digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr);
        text_ += ' ';
    }
    void put(double number) {
        finite_ = finite_ && std::isfinite(number);
        put(std::bit_cast<std::uint64_t>(number));
    }
    void put(std::span<const float> numbers) {
        put(std::uint64_t{numbers.size()});
        for (const float number : numbers) {
            finite_ = finite_ && std::isfinite(number);
            put_digits(std::bit_cast<std::uint32_t>(number), 8);
        }
        text_ += ' ';
    }
    /// A word a number.
    void put(std::span<const double> numbers) {
        put(std::uint64_t{numbers.size()});
        for (const double number : numbers) {
            put(number);
        }
    }
    void put(std::string_view text) {
        for (const char c : text) {
            put_digits(static_cast<unsigned char>(c), 2);
        }
        text_ += ' ';
    }
    /// Empty if a number was not finite: nothing good comes of going on from there.
    std::string text() const {
        return finite_ ? text_ : "";
    }

private:
    void put_digits(std::uint32_t bits, unsigned n) {
        for (unsigned i = n; i-- > 0;) {
            text_ += "0123456789abcdef"[(bits >> (4 * i)) & 15U];
        }
    }

    std::string text_;
    bool finite_ = true;
};

/// Reads what a StateWriter wrote, which must outlive it. After the first failure all fail.
class StateReader {
public:
    explicit StateReader(std::string_view text) : rest_(text) {}

    bool get(std::uint64_t& number) {
        return parse(word(), number);
    }
    /// Finite.
    bool get(double& number) {
        std::uint64_t bits = 0;
        if (!get(bits)) {
            return false;
        }
        number = std::bit_cast<double>(bits);
        return std::isfinite(number) || fail();
    }
    /// Finite numbers, as many as `length` says.
    bool get(std::vector<float>& numbers, std::uint64_t length) {
        std::uint64_t n = 0;
        if (!get(n) || n != length) {
            return fail();
        }
        return get_list(numbers, n);
    }
    /// Finite numbers, any number of lists of `length`.
    bool get_lists(std::vector<float>& numbers, std::uint64_t length) {
        std::uint64_t n = 0;
        if (!get(n) || length == 0 || n % length != 0) {
            return fail();
        }
        return get_list(numbers, n);
    }
    /// Finite numbers, at most so many.
    bool get_at_most(std::vector<double>& numbers, std::uint64_t most) {
        std::uint64_t n = 0;
        numbers.clear();
        if (!get(n) || n > most) {
            return fail();
        }
        for (double number = 0; numbers.size() < n; numbers.push_back(number)) {
            if (!get(number)) {
                return false;
            }
        }
        return true;
    }
    bool get(std::string& text) {
        const std::string_view digits = word();
        text.clear();
        for (std::size_t at = 0; at < digits.size(); at += 2) {
            std::uint8_t c = 0;
            if (!parse(digits.substr(at, 2), c)) {
                return false;
            }
            text += static_cast<char>(c);
        }
        return good_;
    }
    /// Whether all was read.
    bool ended() const {
        return good_ && rest_.empty();
    }

private:
    static constexpr std::size_t digits_each = 8;

    bool fail() {
        good_ = false;
        return false;
    }
    std::string_view word() {
        const std::size_t end = rest_.find(' ');
        if (!good_ || end == std::string_view::npos) {
            good_ = false;
            return {};
        }
        const std::string_view found = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return found;
    }
    template <class Number>
    bool parse(std::string_view digits, Number& number) {
        const char* const last = digits.data() + digits.size();
        const auto [end, code] = std::from_chars(digits.data(), last, number, 16);
        return (good_ && !digits.empty() && code == std::errc() && end == last) || fail();
    }
    bool get_list(std::vector<float>& numbers, std::uint64_t n) {
        const std::string_view digits = word();
        numbers.clear();
        if (!good_ || n > digits.size() || digits.size() != n * digits_each) {
            return fail();
        }
        numbers.reserve(n);
        for (std::size_t i = 0; i < n; ++i) {
            std::uint32_t bits = 0;
            if (!parse(digits.substr(i * digits_each, digits_each), bits) ||
                !std::isfinite(std::bit_cast<float>(bits))) {
                return fail();
            }
            numbers.push_back(std::bit_cast<float>(bits));
        }
        return true;
    }

    std::string_view rest_;
    bool good_ = true;
};

}  // namespace tessera::search
