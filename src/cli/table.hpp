// Tables and lines that follow the width of the terminal.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace tessera::cli {

/// Columns of the terminal that `out` writes to; 0: it writes to a file or a pipe, where lines are
/// as long as they are.
std::size_t terminal_columns(const std::ostream& out);

/// print_table() (output.hpp) for a given width: of a table that is wider, the columns that do not
/// fit follow below it. 0: any width.
void print_table_within(std::ostream& out, std::vector<std::vector<std::string>> rows,
                        std::size_t text_columns, std::size_t width);

/// A line, broken between words where it is wider than the terminal; what follows begins below
/// column `indent`.
void print_line(std::ostream& out, const std::string& line, std::size_t indent);
/// The same for a given width; 0: any.
void print_line_within(std::ostream& out, const std::string& line, std::size_t indent,
                       std::size_t width);

}  // namespace tessera::cli
