// Map:
//   Signature   a branch without its names: equal ones are drawn once
//   Rows        the tree in order, a row a node, wrapped to the width
//   Drawing     rows to pixels; a rule at the left of each loop spans what it encloses
#include "io/looptree_svg.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/units.hpp"
#include "io/equation.hpp"
#include "io/plot_svg.hpp"
#include "tessera/spec/value.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::io {

namespace {

using mapping::TreeKind;
using mapping::TreeNode;

constexpr double width = 960, margin = 12, row_height = 20, indent = 14, char_width = 7.05;
constexpr double bar_from = 730, bar_width = 90, text_to = 720;
constexpr std::size_t most_rows = 1200;

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

std::size_t count(const TreeNode& node) {
    std::size_t result = 1;
    for (const TreeNode& child : node.children) {
        result += count(child);
    }
    return result;
}

void collect_einsums(const TreeNode& node, std::vector<std::string>& names) {
    if (node.kind == TreeKind::compute) {
        names.push_back(node.einsum);
    }
    for (const TreeNode& child : node.children) {
        collect_einsums(child, names);
    }
}

struct Row {
    TreeKind kind = TreeKind::nested;
    int depth = 0;
    std::string head;                ///< bold
    std::vector<std::string> lines;  ///< the first one follows the head
    double energy_j = -1;            ///< below 0: none
    std::string faint;               ///< a last line
    std::size_t end = 0;             ///< loops and branches: the first row that is outside
};

class Rows {
public:
    Rows(const model::Problem& problem, const std::vector<NodeNote>& notes, const Summary& summary)
        : problem_(problem), notes_(notes) {
        for (const EinsumSummary& einsum : summary.einsums) {
            einsums_.emplace(einsum.name, &einsum);
        }
    }

    std::vector<Row> of(const mapping::Mapping& mapping) {
        int depth = 0;
        add(mapping.root, 0, depth);
        close(0);
        return std::move(rows_);
    }

private:
    /// `at`: pre-order index of the node. `depth` is that of what follows in the same chain.
    void add(const TreeNode& node, std::size_t at, int& depth) {
        switch (node.kind) {
            case TreeKind::storage:
            case TreeKind::toll:
                add_holder(node, notes_[at], depth);
                break;
            case TreeKind::temporal:
            case TreeKind::spatial: {
                Row row{node.kind,
                        depth,
                        node.kind == TreeKind::spatial ? "spatial" : "for",
                        {loop_text(notes_[at])},
                        -1,
                        "",
                        0};
                row.lines.front() += node.kind == TreeKind::spatial
                                         ? " over " + node.component + "." + node.dim
                                         : "";
                open(std::move(row));
                ++depth;
                break;
            }
            case TreeKind::compute:
                add_compute(node, depth);
                break;
            case TreeKind::nested: {
                std::size_t child_at = at + 1;
                for (const TreeNode& child : node.children) {
                    add(child, child_at, depth);
                    child_at += count(child);
                }
                break;
            }
            case TreeKind::sequential:
            case TreeKind::pipeline:
                add_branches(node, at, depth);
                break;
            case TreeKind::reservation:
                break;
        }
    }

    void add_branches(const TreeNode& node, std::size_t at, int depth) {
        struct Drawn {
            std::string signature;
            std::vector<std::string> einsums;
        };
        std::vector<Drawn> drawn;
        std::size_t child_at = at + 1;
        for (const TreeNode& child : node.children) {
            std::size_t cursor = child_at;
            Drawn own{signature(child, cursor), {}};
            collect_einsums(child, own.einsums);
            const auto same = std::find_if(drawn.begin(), drawn.end(), [&](const Drawn& other) {
                return other.signature == own.signature;
            });
            if (same != drawn.end()) {
                fold(own.einsums, same->einsums, depth);
            } else {
                const std::size_t before = rows_.size();
                open({TreeKind::sequential,
                      depth,
                      &child == &node.children.front() ? "first" : "then",
                      {},
                      -1,
                      "",
                      0});
                int inside = depth + 1;
                add(child, child_at, inside);
                close(before);
                drawn.push_back(std::move(own));
            }
            child_at += count(child);
        }
    }

    /// A branch that looks like one before it; neighbours of the kind share a row.
    void fold(const std::vector<std::string>& einsums, const std::vector<std::string>& as,
              int depth) {
        const auto joined = [](const std::vector<std::string>& names) {
            std::string text;
            for (const std::string& name : names) {
                text += (text.empty() ? "" : " + ") + name;
            }
            return text;
        };
        const std::string like = "the same as " + joined(as) + ": ";
        if (!rows_.empty() && rows_.back().kind == TreeKind::pipeline &&
            rows_.back().depth == depth && rows_.back().faint == like) {
            rows_.back().lines.front() += ", " + joined(einsums);
            return;
        }
        rows_.push_back({TreeKind::pipeline, depth, "then", {like + joined(einsums)}, -1, like, 0});
        rows_.back().end = rows_.size();
    }

    /// The branch without names, moving `at` on.
    std::string signature(const TreeNode& node, std::size_t& at) const {
        const NodeNote& note = notes_[at++];
        std::string text = std::to_string(static_cast<int>(node.kind)) + node.component + "." +
                           node.dim + (node.persistent ? "p" : "") + (node.line_buffer ? "w" : "");
        for (const LoopNote& loop : note.loops) {
            text += "/" + std::to_string(loop.size) + ":" + std::to_string(loop.tile) + ":" +
                    std::to_string(loop.initial) + "x" + std::to_string(loop.trips);
        }
        for (const TileNote& tile : note.tiles) {
            text += "|" + spec::number_text(tile.bits) + " " + spec::number_text(tile.reads) + " " +
                    spec::number_text(tile.writes) + " " + spec::number_text(tile.energy_j);
        }
        if (const auto known = einsums_.find(node.einsum); known != einsums_.end()) {
            const EinsumSummary& e = *known->second;
            text += spec::number_text(e.latency_s) + " " + spec::number_text(e.energy_j) + e.limit;
        }
        if (const int einsum = problem_.workload->find_einsum(node.einsum); einsum >= 0) {
            text += equation_form(*problem_.workload, einsum);
        }
        text += "(";
        for (const TreeNode& child : node.children) {
            text += signature(child, at);
        }
        return text + ")";
    }

    void add_holder(const TreeNode& node, const NodeNote& note, int depth) {
        Row row{node.kind, depth, node.component, {}, 0, "", 0};
        std::string line = node.kind == TreeKind::toll ? "passes"
                           : node.line_buffer          ? "windows"
                                                       : "holds";
        const std::size_t columns = columns_at(depth);
        std::size_t used = row.head.size() + 1;
        std::string end = node.persistent ? " (persistent)" : "";
        for (const std::string& einsum : node.einsums) {
            end += (&einsum == &node.einsums.front() ? " for " : ", ") + einsum;
        }
        for (const TileNote& tile : note.tiles) {
            row.energy_j += tile.energy_j;
            const std::string one =
                " " + tile_text(tile) + (&tile == &note.tiles.back() ? end : ",");
            if (used + line.size() + one.size() > columns && &tile != &note.tiles.front()) {
                row.lines.push_back(line);
                line = "  ";
                used = 0;
            }
            line += one;
        }
        row.lines.push_back(line);
        push(std::move(row));
    }

    void add_compute(const TreeNode& node, int depth) {
        Row row{node.kind, depth, node.einsum, {"on " + node.component}, -1, "", 0};
        const int einsum = problem_.workload->find_einsum(node.einsum);
        if (einsum >= 0) {
            row.faint = equation(*problem_.workload, einsum);
        }
        if (const auto known = einsums_.find(node.einsum); known != einsums_.end()) {
            const EinsumSummary& e = *known->second;
            row.energy_j = e.energy_j;
            row.lines.front() += ", " + base::quantity(e.latency_s, unit("s")) +
                                 (e.limit.empty() ? "" : ", limited by " + e.limit);
        }
        push(std::move(row));
    }

    static std::size_t columns_at(int depth) {
        const double left = margin + depth * indent + 10;
        return static_cast<std::size_t>(std::max(24.0, (text_to - left) / char_width));
    }

    std::string unit(const char* name) const {
        return problem_.architecture->arbitrary_units() ? "" : name;
    }

    void push(Row row) {
        rows_.push_back(std::move(row));
        rows_.back().end = rows_.size();
    }
    void open(Row row) {
        rows_.push_back(std::move(row));
        rows_.back().end = 0;  // open
    }
    /// Loops and branches opened from that row on end here.
    void close(std::size_t from) {
        for (std::size_t i = from; i < rows_.size(); ++i) {
            rows_[i].end = rows_[i].end == 0 ? rows_.size() : rows_[i].end;
        }
    }

    const model::Problem& problem_;
    const std::vector<NodeNote>& notes_;
    std::map<std::string, const EinsumSummary*> einsums_;
    std::vector<Row> rows_;
};

const char* fill(TreeKind kind) {
    switch (kind) {
        case TreeKind::storage:
            return "#dff3df";
        case TreeKind::toll:
            return "#ffe3c2";
        case TreeKind::temporal:
            return "#fce4ef";
        case TreeKind::spatial:
            return "#e9dcf7";
        case TreeKind::compute:
            return "#e0eeff";
        default:
            return "#f2f2f2";
    }
}

class Drawing {
public:
    Drawing(std::vector<Row> rows, double energy_j, std::string joule)
        : rows_(std::move(rows)), energy_j_(energy_j), joule_(std::move(joule)) {}

    std::string text(const std::string& title) {
        const bool cut = rows_.size() > most_rows;
        const std::size_t shown = std::min(rows_.size(), most_rows);
        std::vector<double> tops;
        for (std::size_t i = 0; i < shown; ++i) {
            tops.push_back(y_);
            draw(rows_[i]);
        }
        tops.resize(rows_.size() + 1, y_);
        for (std::size_t i = 0; i < shown; ++i) {
            enclose(rows_[i], tops[i], tops[std::min(rows_[i].end, shown)]);
        }
        if (cut) {
            write(margin, y_ + 14, std::to_string(rows_.size() - shown) + " more rows are left out",
                  "");
            y_ += row_height;
        }
        legend();
        const std::string size = number(width) + " " + number(y_ + margin);
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size + "\" width=\"" +
               number(width) + "\" height=\"" + number(y_ + margin) +
               "\" role=\"img\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" "
               "font-size=\"11.7\">\n<title>" +
               xml_text(title) +
               "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + svg_ +
               "</svg>\n";
    }

private:
    void write(double x, double y, const std::string& text, const std::string& more) {
        svg_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + more + ">" +
                xml_text(text) + "</text>\n";
    }

    void box(double x, double y, double w, double h, TreeKind kind) {
        const std::string place = "x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
                                  number(w) + "\" height=\"" + number(h) + "\"";
        const bool round = kind == TreeKind::compute || kind == TreeKind::storage;
        svg_ += "<rect " + place + " fill=\"" + fill(kind) + "\" stroke=\"#777\"" +
                (round ? " rx=\"" + number(kind == TreeKind::compute ? 9 : 4) + "\"" : "") +
                (kind == TreeKind::toll || kind == TreeKind::pipeline ? " stroke-dasharray=\"4 3\""
                                                                      : "") +
                "/>\n";
        if (kind == TreeKind::spatial) {  // a second edge, as without colour
            svg_ += "<rect x=\"" + number(x + 2) + "\" y=\"" + number(y + 2) + "\" width=\"" +
                    number(w - 4) + "\" height=\"" + number(h - 4) +
                    "\" fill=\"none\" stroke=\"#777\"/>\n";
        }
    }

    void draw(const Row& row) {
        const double x = margin + row.depth * indent;
        const bool faint = !row.faint.empty() && row.kind == TreeKind::compute;
        const std::size_t lines = std::max<std::size_t>(1, row.lines.size()) + (faint ? 1 : 0);
        const double h = static_cast<double>(lines) * 15 + 4;
        std::size_t longest = row.head.size() + 1 + (row.lines.empty() ? 0 : row.lines[0].size());
        for (const std::string& line : row.lines) {
            longest = std::max(longest, line.size());
        }
        longest = std::max(longest, faint ? row.faint.size() : 0);
        const bool plain_row = row.kind == TreeKind::sequential;
        const double room = text_to - x;
        const double w = std::min(room, static_cast<double>(longest) * char_width + 14);
        if (!plain_row) {
            box(x, y_, w, h, row.kind);
        }
        std::string first =
            "<tspan font-weight=\"bold\">" + xml_text(cut(row.head, w)) + "</tspan>";
        if (!row.lines.empty()) {
            first += " " + xml_text(cut(row.lines[0],
                                        w - 7 - char_width * static_cast<double>(row.head.size())));
        }
        svg_ += "<text x=\"" + number(x + 6) + "\" y=\"" + number(y_ + 14) +
                "\" xml:space=\"preserve\">" + first + "</text>\n";
        for (std::size_t l = 1; l < row.lines.size(); ++l) {
            write(x + 6, y_ + 14 + static_cast<double>(l) * 15, cut(row.lines[l], w),
                  " xml:space=\"preserve\"");
        }
        if (faint) {
            write(x + 6, y_ + h - 5, cut(row.faint, w), " fill=\"#444\"");
        }
        if (row.energy_j >= 0) {
            energy(row.energy_j, row.kind);
        }
        y_ += h + 3;
    }

    static std::string cut(const std::string& text, double room) {
        const auto most = static_cast<std::size_t>(std::max(8.0, (room - 8) / char_width));
        return text.size() <= most ? text : text.substr(0, most - 3) + "...";
    }

    void energy(double value_j, TreeKind kind) {
        const double part = energy_j_ > 0 ? value_j / energy_j_ : 0;
        svg_ += "<rect x=\"" + number(bar_from) + "\" y=\"" + number(y_ + 4) + "\" width=\"" +
                number(bar_width) + "\" height=\"11\" fill=\"none\" stroke=\"#bbb\"/>\n<rect x=\"" +
                number(bar_from) + "\" y=\"" + number(y_ + 4) + "\" width=\"" +
                number(std::min(1.0, part) * bar_width) + "\" height=\"11\" fill=\"" +
                (kind == TreeKind::compute ? "#0072b2" : "#555") + "\"/>\n";
        char share[16];
        std::snprintf(share, sizeof share, "%.1f %%", 100 * part);
        write(bar_from + bar_width + 6, y_ + 14, base::quantity(value_j, joule_) + "  " + share,
              "");
    }

    /// A rule from a loop or branch down to the end of what it encloses.
    void enclose(const Row& row, double from, double to) {
        if (row.kind != TreeKind::temporal && row.kind != TreeKind::spatial &&
            row.kind != TreeKind::sequential) {
            return;
        }
        const double x = margin + row.depth * indent + 5, y = from + 19 + 3;
        if (to - 4 > y) {
            svg_ += "<path d=\"M" + number(x) + " " + number(y) + " V" + number(to - 4) + " h5\"" +
                    " fill=\"none\" stroke=\"#999\"" +
                    (row.kind == TreeKind::spatial ? " stroke-width=\"3\"" : "") + "/>\n";
        }
    }

    void legend() {
        y_ += 8;
        double x = margin;
        for (const auto& [kind, text] :
             {std::pair{TreeKind::storage, "memory"}, std::pair{TreeKind::toll, "toll"},
              std::pair{TreeKind::temporal, "loop in time"},
              std::pair{TreeKind::spatial, "loop in space"},
              std::pair{TreeKind::compute, "Einsum"}}) {
            box(x, y_, 18, 13, kind);
            write(x + 24, y_ + 11, text, "");
            x += 24 + 7.2 * static_cast<double>(std::string(text).size()) + 22;
        }
        write(bar_from - 150, y_ + 11, "energy: memories (grey), Einsums with all (blue)", "");
        y_ += 16;
    }

    std::vector<Row> rows_;
    double energy_j_;
    std::string joule_;
    double y_ = margin;
    std::string svg_;
};

}  // namespace

std::string looptree_svg(const model::Problem& problem, const mapping::Mapping& mapping,
                         const std::vector<NodeNote>& notes, const Summary& summary) {
    return Drawing(Rows(problem, notes, summary).of(mapping), summary.energy_j,
                   problem.architecture->arbitrary_units() ? "" : "J")
        .text("LoopTree of " + problem.workload->name + " on " + problem.architecture->name());
}

}  // namespace tessera::io
