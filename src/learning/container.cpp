#include "learning/container.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/printable.hpp"
#include "tessera/base/error.hpp"

namespace tessera::learning {

namespace {

static_assert(std::endian::native == std::endian::little, "files hold numbers lowest byte first");

constexpr std::size_t checksum_bytes = 9;  // eight digits and the end of the line

std::string checksum(std::string_view bytes) {
    uLong crc = crc32(0, nullptr, 0);
    constexpr std::size_t piece = std::size_t{1} << 30U;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data() + at),
                    static_cast<uInt>(std::min(piece, bytes.size() - at)));
    }
    static constexpr const char* digits = "0123456789abcdef";
    std::string text(8, '0');
    for (std::size_t i = 8; i-- > 0; crc >>= 4U) {
        text[i] = digits[crc & 15U];
    }
    return text + "\n";
}

/// Reads the two lines at the beginning.
class Lines {
public:
    explicit Lines(std::string_view bytes) : bytes_(bytes) {}

    /// The next word; empty: none, or longer than a word here may be.
    std::string_view word(char end) {
        const std::size_t stop = bytes_.substr(at_, 64).find(end);
        if (stop == std::string_view::npos) {
            return {};
        }
        const std::string_view found = bytes_.substr(at_, stop);
        at_ += stop + 1;
        return found;
    }
    bool number(char end, std::size_t& out) {
        const std::string_view text = word(end);
        const auto [last, code] = std::from_chars(text.data(), text.data() + text.size(), out);
        return !text.empty() && code == std::errc() && last == text.data() + text.size();
    }
    std::size_t at() const {
        return at_;
    }

private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

}  // namespace

std::string container_bytes(const std::string& kind, const base::Json& header,
                            std::span<const float> numbers) {
    const std::string text = header.dump();
    std::string bytes = "tessera " + kind + " " + std::to_string(container_format) + "\n" +
                        std::to_string(text.size()) + " " + std::to_string(numbers.size()) + "\n" +
                        text;
    bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
    return bytes + checksum(bytes);
}

Container read_container(const std::string& bytes, const std::string& kind,
                         const std::string& name) {
    const auto refuse = [&](const std::string& why) { throw UserError(name + ": " + why); };
    Lines lines(bytes);
    if (lines.word(' ') != "tessera") {
        refuse("this is no file of 'tessera train'; expected one that begins with 'tessera " +
               kind + "'");
    }
    if (const std::string_view found = lines.word(' '); found != kind) {
        refuse("the file holds '" + base::one_line(found) + "', expected '" + kind + "'");
    }
    std::size_t format = 0, header_bytes = 0, n = 0;
    if (!lines.number('\n', format) || format == 0) {
        refuse("the number of its format cannot be read; the file is damaged");
    }
    if (format > container_format) {
        refuse("the file has format " + std::to_string(format) +
               ", this program reads up to format " + std::to_string(container_format) +
               "; use the newer tessera that wrote it, or train again");
    }
    if (!lines.number(' ', header_bytes) || !lines.number('\n', n)) {
        refuse("its second line cannot be read; the file is damaged");
    }
    const std::size_t left = bytes.size() - lines.at();
    if (header_bytes > left || n > left / sizeof(float) ||
        header_bytes + n * sizeof(float) + checksum_bytes > left) {
        refuse("the file is cut short: it should have " +
               std::to_string(lines.at() + checksum_bytes) + " + " + std::to_string(header_bytes) +
               " + 4 * " + std::to_string(n) + " bytes, it has " + std::to_string(bytes.size()));
    }
    const std::size_t end = lines.at() + header_bytes + n * sizeof(float);
    if (end + checksum_bytes != bytes.size() ||
        checksum(std::string_view(bytes).substr(0, end)) != std::string_view(bytes).substr(end)) {
        refuse("its checksum is wrong: the file has been changed or damaged; train again");
    }
    Container file;
    file.header = base::parsed_json(std::string_view(bytes).substr(lines.at(), header_bytes));
    if (!file.header.is_object()) {
        refuse("its header is no JSON object");
    }
    file.numbers.resize(n);
    std::memcpy(file.numbers.data(), bytes.data() + end - n * sizeof(float), n * sizeof(float));
    for (const float x : file.numbers) {
        if (!std::isfinite(x)) {
            refuse("one of its numbers is not finite");
        }
    }
    return file;
}

std::size_t n_bounds(const std::vector<std::string>& layout) {
    const auto is_bound = [](const std::string& name) { return name.starts_with("bound "); };
    return static_cast<std::size_t>(std::find_if_not(layout.begin(), layout.end(), is_bound) -
                                    layout.begin());
}

namespace {

const base::ParsedJson& list_of(const Container& file, const std::string& member,
                                const std::string& name) {
    const auto found = file.header.find(member);
    if (found == file.header.end() || !found->is_array()) {
        throw UserError(name + ": its header has no list '" + member + "'");
    }
    return *found;
}

}  // namespace

std::vector<std::string> strings_of(const Container& file, const std::string& member,
                                    const std::string& name) {
    std::vector<std::string> all;
    for (const base::ParsedJson& one : list_of(file, member, name)) {
        if (!one.is_string()) {
            throw UserError(name + ": '" + member + "' in its header has an entry that is no text");
        }
        all.push_back(one.get<std::string>());
    }
    return all;
}

std::vector<float> numbers_of(const Container& file, const std::string& member,
                              const std::string& name) {
    std::vector<float> all;
    for (const base::ParsedJson& one : list_of(file, member, name)) {
        const float value = one.is_number() ? one.get<float>() : NAN;
        if (!std::isfinite(value)) {
            throw UserError(name + ": '" + member +
                            "' in its header has an entry that is no finite number");
        }
        all.push_back(value);
    }
    return all;
}

}  // namespace tessera::learning
