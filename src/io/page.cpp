#include "io/page.hpp"

#include <cmath>
#include <cstdio>

#include "base/printable.hpp"
#include "base/units.hpp"
#include "io/plot_svg.hpp"

namespace tessera::io {

namespace {

constexpr const char* style = R"(<style>
:root { color-scheme: light; }
body { font-family: sans-serif; max-width: 62em; margin: 1.5em auto; padding: 0 1em; color: #000;
  background: #fff; line-height: 1.4; }
h1 { font-size: 1.5em; } h2 { font-size: 1.25em; margin-top: 2em; border-bottom: 1px solid #888; }
h3 { font-size: 1.08em; margin-top: 1.6em; }
table { border-collapse: collapse; margin: 0.6em 0; font-size: 0.92em; }
caption { text-align: left; font-weight: bold; padding: 0.3em 0; }
th, td { border: 1px solid #999; padding: 0.15em 0.55em; text-align: right;
  font-variant-numeric: tabular-nums; }
th { background: #f2f2f2; }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; }
td:first-child { background: #fff; }
.l { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 7em; }
figure, .wide { margin: 0.8em 0; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; min-width: 40em; }
pre { font-size: 0.82em; overflow-x: auto; background: #f7f7f7; padding: 0.6em; }
summary { cursor: pointer; padding: 0.2em 0; }
nav ul { columns: 2; padding-left: 1.2em; }
@media (max-width: 30em) { nav ul { columns: 1; } body { padding: 0 0.5em; } }
@media print { body { max-width: none; margin: 0; } figure, .wide { overflow: visible; }
  figure svg { min-width: 0; } h2, h3 { break-after: avoid; } tr { break-inside: avoid; }
  nav { display: none; } pre { white-space: pre-wrap; } }
</style>
)";

std::string full(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return std::isfinite(value) ? text : "";
}

std::vector<std::vector<std::string>> texts(const PageTable& table) {
    std::vector<std::vector<std::string>> rows = {table.columns};
    for (const std::vector<PageCell>& row : table.rows) {
        rows.emplace_back();
        for (const PageCell& cell : row) {
            rows.back().push_back(cell.text);
        }
    }
    return rows;
}

std::string anchor(std::size_t section) {
    return "s" + std::to_string(section + 1);
}

std::string contents(const Page& page) {
    std::string text = "<nav aria-label=\"Contents\"><ul>\n";
    for (std::size_t i = 0; i < page.sections.size(); ++i) {
        if (page.sections[i].level == 2) {
            text += "<li><a href=\"#" + anchor(i) + "\">" + xml_text(page.sections[i].title) +
                    "</a></li>\n";
        }
    }
    return text + "</ul></nav>\n";
}

/// Line ends stay, all else that a terminal or a browser would obey is escaped.
std::string lines_text(const std::string& code) {
    std::string text, line;
    for (const char c : code + "\n") {
        if (c == '\n') {
            text += xml_text(line) + "\n";
            line.clear();
        } else {
            line += c;
        }
    }
    text.pop_back();
    return text;
}

std::string section_html(const PageSection& section, std::size_t index) {
    const std::string tag = "h" + std::to_string(section.level);
    std::string text = "<section aria-labelledby=\"" + anchor(index) + "\">\n<" + tag + " id=\"" +
                       anchor(index) + "\">" + xml_text(section.title) + "</" + tag + ">\n";
    for (const std::string& paragraph : section.texts) {
        text += "<p>" + xml_text(paragraph) + "</p>\n";
    }
    for (const PageDrawing& drawing : section.drawings) {
        text += "<figure>" + drawing.svg + "</figure>\n";
    }
    for (const PageTable& table : section.tables) {
        const std::string rows =
            html_table(texts(table), table.folded ? "" : table.caption, table.text_columns);
        text += table.folded ? "<details><summary>" + xml_text(table.caption) + "</summary>\n" +
                                   rows + "</details>\n"
                             : rows;
    }
    if (!section.code.empty()) {
        text += "<details><summary>" + xml_text(section.code_title) + "</summary>\n<pre>" +
                lines_text(section.code) + "</pre></details>\n";
    }
    return text + "</section>\n";
}

std::string markdown_cell(const std::string& text) {
    std::string result;
    for (const char c : base::one_line(text)) {
        result += c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '<' || c == '['
                      ? "\\" + std::string(1, c)
                      : std::string(1, c);
    }
    return result;
}

std::string markdown_table(const PageTable& table) {
    std::string text = table.caption.empty() ? "" : "**" + markdown_cell(table.caption) + "**\n\n";
    std::string rule;
    for (const auto& row : texts(table)) {
        text += "|";
        for (const std::string& cell : row) {
            text += " " + markdown_cell(cell) + " |";
        }
        text += "\n";
        if (rule.empty()) {
            rule = "|";
            for (std::size_t c = 0; c < row.size(); ++c) {
                rule += c < table.text_columns ? "---|" : "---:|";
            }
            text += rule + "\n";
        }
    }
    return text + "\n";
}

std::string csv_cell(const std::string& text) {
    std::string result;
    bool quoted = false;
    for (const char c : base::one_line(text)) {
        quoted = quoted || c == ',' || c == '"';
        result += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted ? "\"" + result + "\"" : result;
}

}  // namespace

PageCell page_text(const std::string& text) {
    return {text, text};
}

PageCell page_quantity(double value, const std::string& unit) {
    return std::isfinite(value) ? PageCell{base::quantity(value, unit), full(value)}
                                : PageCell{"-", ""};
}

PageCell page_plain(double value) {
    return std::isfinite(value) ? PageCell{base::amount(value), full(value)} : PageCell{"-", ""};
}

PageCell page_percent(double fraction) {
    return std::isfinite(fraction) ? PageCell{base::percent(fraction), full(fraction)}
                                   : PageCell{"-", ""};
}

std::string html_head(const std::string& title) {
    return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
           xml_text(title) + "</title>\n" + style + "</head><body>\n";
}

std::string html_table(const std::vector<std::vector<std::string>>& rows,
                       const std::string& caption, std::size_t text_columns) {
    std::string text = "<div class=\"wide\"><table>\n";
    text += caption.empty() ? "" : "<caption>" + xml_text(caption) + "</caption>\n";
    for (const std::vector<std::string>& row : rows) {
        const bool head = &row == &rows.front();
        text += "<tr>";
        for (std::size_t c = 0; c < row.size(); ++c) {
            const std::string left = c > 0 && c < text_columns ? " class=\"l\"" : "";
            text += (head ? "<th scope=\"col\"" + left + ">" : "<td" + left + ">") +
                    xml_text(row[c]) + (head ? "</th>" : "</td>");
        }
        text += "</tr>\n";
    }
    return text + "</table></div>\n";
}

std::string page_html(const Page& page) {
    std::string text =
        html_head(page.title) + "<main>\n<h1>" + xml_text(page.title) + "</h1>\n" + contents(page);
    for (std::size_t i = 0; i < page.sections.size(); ++i) {
        text += section_html(page.sections[i], i);
    }
    return text + "</main></body></html>\n";
}

std::string page_markdown(const Page& page) {
    std::string text = "# " + markdown_cell(page.title) + "\n\n";
    for (const PageSection& section : page.sections) {
        text += std::string(static_cast<std::size_t>(section.level), '#') + " " +
                markdown_cell(section.title) + "\n\n";
        for (const std::string& paragraph : section.texts) {
            text += markdown_cell(paragraph) + "\n\n";
        }
        for (const PageTable& table : section.tables) {
            text += markdown_table(table);
        }
        if (!section.code.empty()) {
            text += markdown_cell(section.code_title) + ":\n\n    ";
            for (const char c : section.code) {
                text += c == '\n' ? "\n    " : std::string(1, c);
            }
            text += "\n\n";
        }
    }
    return text;
}

std::map<std::string, std::string> page_svg_files(const Page& page) {
    std::map<std::string, std::string> files;
    for (const PageSection& section : page.sections) {
        for (const PageDrawing& drawing : section.drawings) {
            files[drawing.name + ".svg"] = drawing.svg;
        }
    }
    return files;
}

std::map<std::string, std::string> page_csv_files(const Page& page) {
    std::map<std::string, std::string> files;
    for (const PageSection& section : page.sections) {
        for (const PageTable& table : section.tables) {
            std::string& text = files[table.name + ".csv"];
            for (const std::string& column : table.columns) {
                text += (&column == &table.columns.front() ? "" : ",") + csv_cell(column);
            }
            text += "\n";
            for (const std::vector<PageCell>& row : table.rows) {
                for (const PageCell& cell : row) {
                    text += (&cell == &row.front() ? "" : ",") + csv_cell(cell.raw);
                }
                text += "\n";
            }
        }
    }
    return files;
}

}  // namespace tessera::io
