// A report as sections of text, drawings and tables, and its forms: one HTML page that needs
// nothing else, Markdown, or a file for each drawing (SVG) or table (CSV).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tessera::io {

/// A value as people read it, and in full.
struct PageCell {
    std::string text, raw;
};

PageCell page_text(const std::string& text);
/// "12.35 mJ", 0.01235
PageCell page_quantity(double value, const std::string& unit);
PageCell page_plain(double value);
PageCell page_percent(double fraction);

struct PageTable {
    std::string name;  ///< of its CSV file, lower case, unique in the page
    std::string caption;
    std::vector<std::string> columns;
    std::vector<std::vector<PageCell>> rows;
    std::size_t text_columns = 1;  ///< to the left; the others to the right
    bool folded = false;           ///< HTML: shown when asked for
};

struct PageDrawing {
    std::string name;  ///< of its SVG file, as above
    std::string svg;
};

struct PageSection {
    std::string title;
    int level = 2;                   ///< of its heading
    std::vector<std::string> texts;  ///< paragraphs
    std::vector<PageDrawing> drawings;
    std::vector<PageTable> tables;
    std::string code;  ///< lines as they are; folded in HTML
    std::string code_title;
};

struct Page {
    std::string title;
    std::vector<PageSection> sections;
};

/// All text is foreign and escaped; drawings go in as they are.
std::string page_html(const Page& page);
std::string page_markdown(const Page& page);
std::map<std::string, std::string> page_svg_files(const Page& page);
std::map<std::string, std::string> page_csv_files(const Page& page);

/// From <!DOCTYPE html> to <body>: what all pages of the program look like.
std::string html_head(const std::string& title);
/// The first row is the heading. `text_columns` to the left, the others to the right.
std::string html_table(const std::vector<std::vector<std::string>>& rows,
                       const std::string& caption = "", std::size_t text_columns = 1);

}  // namespace tessera::io
