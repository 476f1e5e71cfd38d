// One line per item:
//   refuted 0x1.8p-3
//   evaluated 0x1p20
//   class_bounds EINSUM COUNTED SIZE EVALUATED DONE LEAST...
//     DONE: one digit per template; LEAST: a pair per class
//   tightened UNIT UNIT NUMBER...           of the class bounds above: six numbers per template
//   search NUMBER...
//   rows EINSUM INDEX EVALUATED N TILE... OBJECTIVE...
//     of the search above; N: tiles, the rest are objectives
//   join CUTOFF BEGUN
//   perfect LINE                         a line of the state of the search without partial tiles
//   later LINE                           the same of the search by the later metric
#include "saved.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <span>
#include <sstream>

#include "tessera/base/error.hpp"

namespace tessera::ffm {
namespace {

/// A checkpoint may have a million of them, so no text of its own for each.
void add_exact(std::string& out, double value) {
    if (!std::isfinite(value)) {
        out += value > 0 ? "inf" : value < 0 ? "-inf" : "nan";
        return;
    }
    char text[64];
    char* at = text;
    if (std::signbit(value)) {
        *at++ = '-';
    }
    *at++ = '0';
    *at++ = 'x';
    at = std::to_chars(at, text + sizeof text, std::abs(value), std::chars_format::hex).ptr;
    out.append(text, at);
}

std::string exact(double value) {
    std::string text;
    add_exact(text, value);
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

SavedClassBounds read_class_bounds(std::istringstream& words) {
    SavedClassBounds out;
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

std::vector<double> numbers(std::istringstream& words) {
    std::vector<double> out;
    for (std::string word; words >> word;) {
        out.push_back(number(word));
    }
    return out;
}

void read_tightened(std::istringstream& words, std::vector<SavedClassBounds>& class_bounds) {
    const std::vector<double> all = numbers(words);
    if (class_bounds.empty() || all.size() != 2 + 6 * class_bounds.back().done.size()) {
        refuse();
    }
    SavedClassBounds& out = class_bounds.back();
    out.scalarised_unit = {all[0], all[1]};
    out.tightened.resize(out.done.size());
    for (std::size_t i = 0; i < 6 * out.tightened.size(); ++i) {
        out.tightened[i / 6][i % 6] = all[2 + i];
    }
}

void read_rows(std::istringstream& words, std::vector<SavedSearch>& searches) {
    SavedRows out;
    std::string evaluated;
    std::size_t n = 0;
    if (searches.empty() || !(words >> out.einsum >> out.index >> evaluated >> n)) {
        refuse();
    }
    out.evaluated = number(evaluated);
    for (std::int64_t tile = 0; out.tiles.size() < n; out.tiles.push_back(tile)) {
        if (!(words >> tile) || tile < 1) {
            refuse();
        }
    }
    out.objectives = numbers(words);
    searches.back().rows.push_back(std::move(out));
}

void add_numbers(std::string& text, std::span<const double> values) {
    for (const double value : values) {
        text += ' ';
        add_exact(text, value);
    }
}

void add_class_bounds(std::string& text, const SavedClassBounds& class_bounds) {
    text += "class_bounds " + std::to_string(class_bounds.einsum) +
            (class_bounds.counted ? " 1 " : " 0 ") + class_bounds.size + " " +
            exact(class_bounds.evaluated) + " ";
    for (const char done : class_bounds.done) {
        text += done ? '1' : '0';
    }
    for (const std::array<double, 2>& least : class_bounds.least) {
        add_numbers(text, least);
    }
    text += "\n";
    if (class_bounds.tightened.empty()) {
        return;
    }
    text += "tightened";
    add_numbers(text, class_bounds.scalarised_unit);
    for (const std::array<double, 6>& tightened : class_bounds.tightened) {
        add_numbers(text, tightened);
    }
    text += "\n";
}

void add_search(std::string& text, const SavedSearch& search) {
    text += "search";
    add_numbers(text, search.key);
    text += "\n";
    for (const SavedRows& rows : search.rows) {
        text += "rows " + std::to_string(rows.einsum) + " " + std::to_string(rows.index) + " " +
                exact(rows.evaluated) + " " + std::to_string(rows.tiles.size());
        for (const std::int64_t tile : rows.tiles) {
            char digits[24];
            text += ' ';
            text.append(digits, std::to_chars(digits, digits + sizeof digits, tile).ptr);
        }
        add_numbers(text, rows.objectives);
        text += "\n";
    }
}

/// Of a state inside the state.
void add_lines(std::string& text, const std::string& kind, const std::string& inner) {
    std::istringstream lines(inner);
    for (std::string line; std::getline(lines, line);) {
        text += kind + " " + line + "\n";
    }
}

}  // namespace

std::string to_text(const SavedState& state) {
    std::string text = "refuted " + exact(state.refuted_cutoff) + "\n";
    text += "evaluated " + exact(state.evaluated) + "\n";
    for (const SavedClassBounds& class_bounds : state.class_bounds) {
        add_class_bounds(text, class_bounds);
    }
    for (const SavedSearch& search : state.searches) {
        add_search(text, search);
    }
    for (const SavedJoin& join : state.joins) {
        text += "join " + exact(join.cutoff) + " " + std::to_string(join.begun) + "\n";
    }
    add_lines(text, "perfect", state.perfect);
    add_lines(text, "later", state.later);
    return text;
}

SavedState read_saved_state(const std::string& text) {
    SavedState state;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string kind, value;
        words >> kind;
        if (kind == "class_bounds") {
            state.class_bounds.push_back(read_class_bounds(words));
        } else if (kind == "tightened") {
            read_tightened(words, state.class_bounds);
        } else if (kind == "search") {
            state.searches.push_back({numbers(words), {}});
        } else if (kind == "rows") {
            read_rows(words, state.searches);
        } else if (kind == "join" && words >> value) {
            state.joins.push_back({number(value), 0});
            if (!(words >> state.joins.back().begun)) {
                refuse();
            }
        } else if ((kind == "perfect" || kind == "later") && line.size() > kind.size()) {
            (kind == "later" ? state.later : state.perfect) += line.substr(kind.size() + 1) + "\n";
        } else if (kind == "evaluated" && words >> value) {
            state.evaluated = number(value);
        } else if (kind == "refuted" && words >> value) {
            state.refuted_cutoff = number(value);
        } else {
            refuse();
        }
    }
    for (const std::string& inner : {state.perfect, state.later}) {
        if (!inner.empty()) {
            read_saved_state(inner);
        }
    }
    return state;
}

}  // namespace tessera::ffm
