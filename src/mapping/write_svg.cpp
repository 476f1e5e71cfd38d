// LoopTree -> SVG, without any drawing tool.
//
//   Box       one node with its text, measured
//   Column    a chain of boxes, then the columns of its branches side by side
//   measure   widths and heights from the leaves up
//   draw      from the root down: connectors first, boxes on top of them
//
// Loops are boxes (spatial ones with a double edge), memories are cylinders, tolls point to the
// right, computes are ellipses. Every tensor keeps one colour throughout the picture.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "base/printable.hpp"
#include "tessera/mapping/mapping.hpp"

namespace tessera::mapping {

namespace {

constexpr double char_width = 7.2, line_height = 16, padding = 9;
constexpr double gap_x = 22, gap_y = 16, margin = 20;
constexpr std::size_t line_chars = 40;

struct Span {
    std::string text;
    std::string colour;  ///< empty: default
};
using Line = std::vector<Span>;

struct Box {
    TreeKind kind = TreeKind::nested;
    std::vector<Line> lines;
    double width = 0, height = 0;
};

struct Column {
    std::vector<Box> boxes;
    std::vector<Column> branches;
    double width = 0, height = 0;
};

/// XML has no form for control characters, so they are drawn as escapes.
std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : base::one_line(text)) {
        result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    }
    return result;
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

// Dark colours, spread by the golden angle so that neighbours in the list differ.
std::string colour(std::size_t index) {
    const double hue = std::fmod(210 + 137.508 * static_cast<double>(index), 360.0) / 60;
    const double light = index % 2 == 0 ? 0.36 : 0.30, chroma = 2 * light * 0.75;
    const double x = chroma * (1 - std::abs(std::fmod(hue, 2.0) - 1)), base = light - chroma / 2;
    const double table[6][3] = {{chroma, x, 0}, {x, chroma, 0}, {0, chroma, x},
                                {0, x, chroma}, {x, 0, chroma}, {chroma, 0, x}};
    const double* rgb = table[static_cast<int>(hue) % 6];
    char text[16];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<int>(255 * (rgb[0] + base)),
                  static_cast<int>(255 * (rgb[1] + base)), static_cast<int>(255 * (rgb[2] + base)));
    return text;
}

void collect_tensors(const TreeNode& node, std::set<std::string>& tensors) {
    tensors.insert(node.tensors.begin(), node.tensors.end());
    for (const TreeNode& child : node.children) {
        collect_tensors(child, tensors);
    }
}

std::size_t length(const Line& line) {
    std::size_t result = 0;
    for (const Span& span : line) {
        result += span.text.size();
    }
    return result;
}

class Drawing {
public:
    explicit Drawing(const Mapping& mapping) {
        std::set<std::string> tensors;
        collect_tensors(mapping.root, tensors);
        for (const std::string& tensor : tensors) {
            colours_.emplace(tensor, colour(colours_.size()));
        }
    }

    std::string run(const Mapping& mapping);

private:
    Column column(const std::vector<TreeNode>& nodes) const;
    void fill(const std::vector<TreeNode>& nodes, Column& column) const;
    Box box(const TreeNode& node) const;
    static void measure(Column& column);
    void draw(const Column& column, double x, double y);
    void draw_box(const Box& box, double x, double y);
    void connect(double x1, double y1, double x2, double y2);

    std::map<std::string, std::string> colours_;
    std::string lines_, shapes_;
};

Box Drawing::box(const TreeNode& node) const {
    Box box;
    box.kind = node.kind;
    if (node.kind == TreeKind::storage || node.kind == TreeKind::toll) {
        std::string head = node.component + (node.persistent ? " (persistent)" : "") +
                           (node.line_buffer ? " (line-buffer)" : "");
        for (std::size_t i = 0; i < node.einsums.size(); ++i) {
            head += (i == 0 ? " for " : ", ") + node.einsums[i];
        }
        box.lines.push_back({{head, ""}});
        box.lines.emplace_back();
        for (const std::string& tensor : node.tensors) {
            if (length(box.lines.back()) + tensor.size() > line_chars) {
                box.lines.emplace_back();
            }
            box.lines.back().push_back(
                {(box.lines.back().empty() ? "" : "  ") + tensor, colours_.at(tensor)});
        }
    } else if (node.kind == TreeKind::compute) {
        box.lines = {{{node.einsum, ""}}, {{"on " + node.component, "#555555"}}};
    } else {
        const std::string place =
            node.kind == TreeKind::spatial ? " on " + node.component + "." + node.dim : "";
        const std::string word = node.kind == TreeKind::spatial ? "spatial " : "for ";
        if (node.uses.empty()) {
            std::string variables;
            for (const std::string& variable : node.rank_variables) {
                variables += (variables.empty() ? "" : ", ") + variable;
            }
            box.lines.push_back(
                {{word + variables + ", tile " + std::to_string(node.tile_shape) + place, ""}});
        }
        for (const LoopUse& use : node.uses) {
            box.lines.push_back(
                {{word + use.rank_variable + ", tile " + std::to_string(use.tile_shape) +
                      (use.initial_tile_shape > 0
                           ? ", first " + std::to_string(use.initial_tile_shape)
                           : "") +
                      place + "  (" + use.einsum + ")",
                  ""}});
        }
    }
    std::size_t widest = 4;
    for (const Line& line : box.lines) {
        widest = std::max(widest, length(line));
    }
    const double extra = node.kind == TreeKind::compute || node.kind == TreeKind::toll ? 24 : 0;
    box.width = static_cast<double>(widest) * char_width + 2 * padding + extra;
    box.height = static_cast<double>(box.lines.size()) * line_height + 2 * padding;
    return box;
}

void Drawing::fill(const std::vector<TreeNode>& nodes, Column& column) const {
    for (const TreeNode& node : nodes) {
        if (node.kind == TreeKind::nested) {
            fill(node.children, column);
        } else if (node.kind == TreeKind::sequential || node.kind == TreeKind::pipeline) {
            for (const TreeNode& branch : node.children) {
                column.branches.push_back(this->column(branch.children));
            }
        } else if (node.kind != TreeKind::reservation) {
            column.boxes.push_back(box(node));
        }
    }
}

Column Drawing::column(const std::vector<TreeNode>& nodes) const {
    Column result;
    fill(nodes, result);
    measure(result);
    return result;
}

void Drawing::measure(Column& column) {
    for (const Box& box : column.boxes) {
        column.width = std::max(column.width, box.width);
        column.height += box.height + gap_y;
    }
    double width = 0, height = 0;
    for (const Column& branch : column.branches) {
        width += branch.width + (width > 0 ? gap_x : 0);
        height = std::max(height, branch.height);
    }
    column.width = std::max(column.width, width);
    column.height += height + (column.branches.empty() ? 0 : gap_y);
}

void Drawing::connect(double x1, double y1, double x2, double y2) {
    const double middle = (y1 + y2) / 2;
    lines_ += "<path d=\"M" + number(x1) + " " + number(y1) + " C" + number(x1) + " " +
              number(middle) + " " + number(x2) + " " + number(middle) + " " + number(x2) + " " +
              number(y2) + "\"/>\n";
}

void Drawing::draw(const Column& column, double x, double y) {
    const double centre = x + column.width / 2;
    double last = y;
    for (std::size_t i = 0; i < column.boxes.size(); ++i) {
        if (i > 0) {
            connect(centre, last, centre, y);
        }
        draw_box(column.boxes[i], centre, y);
        last = y + column.boxes[i].height;
        y = last + gap_y;
    }
    double total = 0;
    for (const Column& branch : column.branches) {
        total += branch.width + gap_x;
    }
    double left = centre - (total - gap_x) / 2;
    y += column.branches.empty() ? 0 : gap_y;
    for (const Column& branch : column.branches) {
        if (!column.boxes.empty()) {
            connect(centre, last, left + branch.width / 2, y);
        }
        draw(branch, left, y);
        left += branch.width + gap_x;
    }
}

void Drawing::draw_box(const Box& box, double centre, double y) {
    const double x = centre - box.width / 2, w = box.width, h = box.height;
    const std::string rect = "x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
                             number(w) + "\" height=\"" + number(h) + "\"";
    if (box.kind == TreeKind::storage) {
        const std::string radius = number(w / 2) + " 5";
        shapes_ += "<path fill=\"#dff3df\" d=\"M" + number(x) + " " + number(y + 5) + " a" +
                   radius + " 0 0 1 " + number(w) + " 0 v" + number(h - 10) + " a" + radius +
                   " 0 0 1 -" + number(w) + " 0 z M" + number(x) + " " + number(y + 5) + " a" +
                   radius + " 0 0 0 " + number(w) + " 0\"/>\n";
    } else if (box.kind == TreeKind::toll) {
        shapes_ += "<path fill=\"#ffe3c2\" d=\"M" + number(x) + " " + number(y) + " h" +
                   number(w - 14) + " l14 " + number(h / 2) + " l-14 " + number(h / 2) + " h-" +
                   number(w - 14) + " z\"/>\n";
    } else if (box.kind == TreeKind::compute) {
        shapes_ += "<ellipse fill=\"#e0eeff\" cx=\"" + number(centre) + "\" cy=\"" +
                   number(y + h / 2) + "\" rx=\"" + number(w / 2) + "\" ry=\"" + number(h / 2) +
                   "\"/>\n";
    } else {
        shapes_ += "<rect fill=\"" +
                   std::string(box.kind == TreeKind::spatial ? "#f3dcf7" : "#fce4ef") + "\" " +
                   rect + "/>\n";
        if (box.kind == TreeKind::spatial) {
            shapes_ += "<rect fill=\"none\" x=\"" + number(x + 3) + "\" y=\"" + number(y + 3) +
                       "\" width=\"" + number(w - 6) + "\" height=\"" + number(h - 6) + "\"/>\n";
        }
    }
    double baseline = y + padding + 12;
    for (std::size_t i = 0; i < box.lines.size(); ++i) {
        const bool head = i == 0 && box.lines.size() > 1 && box.kind != TreeKind::temporal;
        shapes_ += "<text x=\"" + number(centre) + "\" y=\"" + number(baseline) + "\"" +
                   (head ? " font-weight=\"bold\"" : "") +
                   " stroke=\"none\" fill=\"#222222\" xml:space=\"preserve\">";
        for (const Span& span : box.lines[i]) {
            shapes_ += span.colour.empty() ? escaped(span.text)
                                           : "<tspan fill=\"" + span.colour + "\">" +
                                                 escaped(span.text) + "</tspan>";
        }
        shapes_ += "</text>\n";
        baseline += line_height;
    }
}

std::string Drawing::run(const Mapping& mapping) {
    const Column root = column(mapping.root.children);
    draw(root, margin, margin);
    const std::string width = number(root.width + 2 * margin);
    const std::string height = number(root.height + 2 * margin);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
           "\" viewBox=\"0 0 " + width + " " + height + "\">\n" +
           "<title>LoopTree</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
           "<g fill=\"none\" stroke=\"#888888\" stroke-width=\"1.2\">\n" + lines_ + "</g>\n" +
           "<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"12\" "
           "text-anchor=\"middle\">\n<g stroke=\"#777777\">\n" +
           shapes_ + "</g>\n</g>\n</svg>\n";
}

}  // namespace

std::string to_svg(const Mapping& mapping) {
    return Drawing(mapping).run(mapping);
}

}  // namespace tessera::mapping
