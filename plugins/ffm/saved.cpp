// One line per item:
//   beaten 0x1.8p-3
//   floors EINSUM COUNTED SIZE EVALUATED DONE LEAST...
//     DONE: one digit per template; LEAST: a pair per class
#include "saved.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tessera/base/error.hpp"

namespace tessera::ffm {
namespace {

std::string exact(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%a", value);
    return text;
}

[[noreturn]] void refuse() {
    throw UserError("the saved state is not one of mapper 'ffm'");
}

double number(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || std::isnan(value)) {
        refuse();
    }
    return value;
}

SavedFloors read_floors(std::istringstream& words) {
    SavedFloors out;
    std::string evaluated, done;
    if (!(words >> out.einsum >> out.counted >> out.size >> evaluated >> done) ||
        out.size.find_first_not_of("0123456789") != std::string::npos ||
        done.find_first_not_of("01") != std::string::npos) {
        refuse();
    }
    out.evaluated = number(evaluated);
    for (const char digit : done) {
        out.done.push_back(digit == '1' ? 1 : 0);
    }
    for (std::string first, second; words >> first;) {
        if (!(words >> second)) {
            refuse();
        }
        out.least.push_back({number(first), number(second)});
    }
    return out;
}

}  // namespace

std::string to_text(const SavedState& state) {
    std::string text = "beaten " + exact(state.beaten_guess) + "\n";
    for (const SavedFloors& floors : state.floors) {
        text += "floors " + std::to_string(floors.einsum) + (floors.counted ? " 1 " : " 0 ") +
                floors.size + " " + exact(floors.evaluated) + " ";
        for (const char done : floors.done) {
            text += done ? '1' : '0';
        }
        for (const std::array<double, 2>& least : floors.least) {
            text += " " + exact(least[0]) + " " + exact(least[1]);
        }
        text += "\n";
    }
    return text;
}

SavedState read_saved_state(const std::string& text) {
    SavedState state;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string kind, value;
        words >> kind;
        if (kind == "floors") {
            state.floors.push_back(read_floors(words));
        } else if (kind == "beaten" && words >> value) {
            state.beaten_guess = number(value);
        } else {
            refuse();
        }
    }
    return state;
}

}  // namespace tessera::ffm
