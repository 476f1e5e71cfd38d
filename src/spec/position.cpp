#include "tessera/spec/position.hpp"

#include <algorithm>
#include <cctype>

#include "base/nearest.hpp"
#include "base/printable.hpp"
#include "spec/limits.hpp"

namespace tessera::spec {

namespace {

/// Cut between characters if it is long.
std::string shortened(const std::string& value) {
    if (value.size() <= max_quote) {
        return value;
    }
    std::size_t end = max_quote;
    while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    return value.substr(0, end) + "...";
}

}  // namespace

std::string complaint_text(std::string_view path, const Complaint& complaint) {
    std::string result;
    if (!path.empty()) {
        result += base::one_line(path) + ": ";
    }
    result += complaint.what;
    if (!complaint.value.empty()) {
        result += ": '" + base::one_line(shortened(complaint.value)) + "'";
    }
    if (!complaint.expected.empty()) {
        result += " (expected " + complaint.expected + ")";
    }
    if (!complaint.remedy.empty()) {
        result += "; " + complaint.remedy;
    }
    return result;
}

void fail(const Position& position, std::string_view path, const Complaint& complaint) {
    throw UserError(position, complaint_text(path, complaint));
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
    std::string best = nearest(name, candidates);
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) ==
               std::tolower(static_cast<unsigned char>(b));
    };
    // Any two names of one or two letters are near each other.
    if (name.size() <= 2 && !std::equal(name.begin(), name.end(), best.begin(), best.end(), same)) {
        best.clear();
    }
    return best.empty() ? "" : "did you mean '" + base::one_line(best) + "'?";
}

std::string name_list(const std::vector<std::string>& names, std::size_t at_most) {
    if (names.empty()) {
        return "none";
    }
    std::string result;
    for (std::size_t i = 0; i < names.size() && i < at_most; ++i) {
        result += (i == 0 ? "" : ", ") + base::one_line(names[i]);
    }
    if (names.size() > at_most) {
        result += " and " + std::to_string(names.size() - at_most) + " more";
    }
    return result;
}

}  // namespace tessera::spec
