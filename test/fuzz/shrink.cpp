#include "fuzz/shrink.hpp"

#include <algorithm>
#include <sstream>

namespace tessera::fuzz {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line + "\n");
    }
    return lines;
}

std::string joined(const std::vector<std::string>& lines, std::size_t without, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        text += i >= without && i < without + count ? "" : lines[i];
    }
    return text;
}

}  // namespace

Input shrunk(Input input, const std::function<bool(const Input&)>& fails, int tries) {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : input.files) {
        names.push_back(name);
    }
    for (const std::string& name : names) {
        std::vector<std::string> lines = lines_of(input.files[name]);
        for (std::size_t part = (lines.size() + 1) / 2; part > 0; part /= 2) {
            for (std::size_t at = 0; at < lines.size() && tries > 0;) {
                Input smaller = input;
                smaller.files[name] = joined(lines, at, part);
                --tries;
                if (fails(smaller)) {
                    input = std::move(smaller);
                    lines = lines_of(input.files[name]);
                } else {
                    at += part;
                }
            }
        }
    }
    return input;
}

}  // namespace tessera::fuzz
