#include "base/nearest.hpp"

#include <algorithm>
#include <cctype>

namespace tessera {

namespace {

// Costs count in half edits, so that a wrong case is nearer than a wrong letter.
constexpr int edit_cost = 2;
constexpr int case_cost = 1;

char lower(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

int replace_cost(char a, char b) {
    if (a == b) {
        return 0;
    }
    return lower(a) == lower(b) ? case_cost : edit_cost;
}

int distance(std::string_view a, std::string_view b) {
    const std::size_t width = b.size() + 1;
    std::vector<int> before(width);
    std::vector<int> last(width);
    std::vector<int> row(width);
    for (std::size_t j = 0; j < width; ++j) {
        last[j] = static_cast<int>(j) * edit_cost;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = static_cast<int>(i) * edit_cost;
        for (std::size_t j = 1; j < width; ++j) {
            row[j] = std::min({last[j] + edit_cost, row[j - 1] + edit_cost,
                               last[j - 1] + replace_cost(a[i - 1], b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + edit_cost);
            }
        }
        before.swap(last);
        last.swap(row);
    }
    return last.back();
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
    std::string best;
    int best_distance = 0;
    constexpr std::size_t longest = 200;  // of what people call a name
    for (const std::string& candidate : candidates) {
        if (name.size() > longest || candidate.size() > longest) {
            continue;
        }
        const int d = distance(name, candidate);
        // At most a third of the letters, but one edit always, may differ.
        const int limit =
            edit_cost *
            std::max<int>(1, static_cast<int>(std::max(name.size(), candidate.size())) / 3);
        if (d <= limit && (best.empty() || d < best_distance)) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}

}  // namespace tessera
