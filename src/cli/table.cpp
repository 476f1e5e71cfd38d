#include "cli/table.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "base/printable.hpp"
#include "cli/output.hpp"

namespace tessera::cli {

namespace {

/// Characters, of UTF-8.
std::size_t characters(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

using Rows = std::vector<std::vector<std::string>>;

/// The columns from `first` on that fit beside the text columns; at least one.
std::size_t fitting(const std::vector<std::size_t>& widths, std::size_t text_columns,
                    std::size_t first, std::size_t width) {
    std::size_t used = 0;
    for (std::size_t c = 0; c < text_columns && c < widths.size(); ++c) {
        used += widths[c] + 2;
    }
    std::size_t end = first;
    while (end < widths.size() && (end == first || width == 0 || used + widths[end] <= width)) {
        used += widths[end++] + 2;
    }
    return end;
}

std::string cell(const std::vector<std::string>& row, std::size_t c, std::size_t width, bool left) {
    const std::string text = c < row.size() ? row[c] : "";
    const std::string space(width - characters(text), ' ');
    return left ? text + space : space + text;
}

}  // namespace

std::size_t terminal_columns(const std::ostream& out) {
    winsize window{};
    const bool terminal = &out == &std::cout && ::isatty(STDOUT_FILENO) == 1 &&
                          ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0;
    return terminal ? window.ws_col : 0;
}

void print_table(std::ostream& out, Rows rows, std::size_t text_columns) {
    print_table_within(out, std::move(rows), text_columns, terminal_columns(out));
}

void print_table_within(std::ostream& out, Rows rows, std::size_t text_columns, std::size_t width) {
    std::vector<std::size_t> widths;
    for (std::vector<std::string>& row : rows) {
        for (std::string& text : row) {
            text = base::one_line(text);
        }
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t c = 0; c < row.size(); ++c) {
            widths[c] = std::max(widths[c], characters(row[c]));
        }
    }
    std::size_t first = std::min(text_columns, widths.size());
    do {
        const std::size_t end = fitting(widths, text_columns, first, width);
        for (const std::vector<std::string>& row : rows) {
            std::string line;
            for (std::size_t c = 0; c < end; c += c + 1 == text_columns ? first - c : 1) {
                line += (c == 0 ? "" : "  ") + cell(row, c, widths[c], c < text_columns);
            }
            line.erase(line.find_last_not_of(' ') + 1);
            out << line << "\n";
        }
        first = end;
    } while (first < widths.size());
}

void print_line(std::ostream& out, const std::string& line, std::size_t indent) {
    print_line_within(out, line, indent, terminal_columns(out));
}

void print_line_within(std::ostream& out, const std::string& line, std::size_t indent,
                       std::size_t width) {
    std::string rest = line;
    while (width > indent && characters(rest) > width) {
        // Names may have more bytes than characters: such a line is broken a little early.
        const std::size_t blank = rest.rfind(' ', width);
        if (blank == std::string::npos || rest.find_last_not_of(' ', blank) == std::string::npos ||
            blank <= indent) {
            break;
        }
        out << rest.substr(0, blank) << "\n";
        rest = std::string(indent, ' ') + rest.substr(blank + 1);
    }
    out << rest << "\n";
}

void print_indented(std::ostream& out, const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        out << "  " << line << "\n";
    }
}

}  // namespace tessera::cli
