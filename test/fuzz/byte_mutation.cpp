#include <algorithm>

#include "fuzz/hostile.hpp"
#include "fuzz/mutation.hpp"

namespace tessera::fuzz {

namespace {

void change_bytes(Random& random, std::string& bytes) {
    const std::size_t at = bytes.empty() ? 0 : below(random, bytes.size());
    const std::size_t length =
        bytes.empty() ? 0 : 1 + below(random, std::min<std::size_t>(bytes.size() - at, 64));
    switch (below(random, 8)) {
        case 0:
            bytes.insert(at, hostile_text(random));
            break;
        case 1:
            bytes.replace(at, length, hostile_number(random));
            break;
        case 2:
            bytes.erase(at, length);
            break;
        case 3:
            bytes.insert(bytes.empty() ? 0 : below(random, bytes.size()), bytes.substr(at, length));
            break;
        case 4:
            if (one_in(random, 4)) {
                bytes.resize(at);
            }
            break;
        case 5:
            bytes.insert(at, 1, "{}[]()<>\"'\\:,;=#&*!|%@`~\t\n\r "[below(random, 29)]);
            break;
        default:
            if (!bytes.empty()) {
                bytes[at] = one_in(random, 2)
                                ? static_cast<char>(bytes[at] ^ (1 << below(random, 8)))
                                : static_cast<char>(random());
            }
    }
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        lines.push_back(text.substr(at, end - at));
        at = end;
    }
    return lines;
}

}  // namespace

void mutate_bytes(Random& random, std::string& bytes) {
    const std::size_t count = 1 + below(random, one_in(random, 3) ? 8 : 1);
    for (std::size_t i = 0; i < count; ++i) {
        change_bytes(random, bytes);
    }
}

void mutate_lines(Random& random, std::string& text) {
    std::vector<std::string> lines = lines_of(text);
    if (lines.empty()) {
        return;
    }
    const auto at = [&] {
        return lines.begin() + static_cast<std::ptrdiff_t>(below(random, lines.size()));
    };
    switch (below(random, 4)) {
        case 0:
            lines.erase(at());
            break;
        case 1: {
            const std::string copy = *at();
            lines.insert(at(), copy);
            break;
        }
        case 2:
            std::iter_swap(at(), at());
            break;
        default: {
            std::string& line = *at();
            line.insert(one_in(random, 2) ? 0 : below(random, line.size() + 1),
                        one_in(random, 3) ? "\t" : "  ");
        }
    }
    text.clear();
    for (const std::string& line : lines) {
        text += line;
    }
}

}  // namespace tessera::fuzz
