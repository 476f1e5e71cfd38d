// Points of a sweep from a file: CSV, or a YAML list of maps.
#include <algorithm>
#include <set>

#include "spec/reader.hpp"
#include "sweep_space.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

/// A line of a CSV file (RFC 4180) with the places of its cells.
struct Line {
    int number = 0;
    std::vector<std::string> cells;
    std::vector<int> columns;
};

[[noreturn]] void refuse(const std::string& file, int line, int column, const std::string& what) {
    throw UserError(Position{file, line, column}, what);
}

class CsvReader {
public:
    CsvReader(const std::string& text, const std::string& file) : text_(text), file_(file) {}

    std::vector<Line> lines() {
        std::vector<Line> result;
        while (at_ < text_.size()) {
            Line line = read_line();
            const bool blank = line.cells.size() == 1 && line.cells.front().empty();
            if (!blank) {
                result.push_back(std::move(line));
            }
        }
        return result;
    }

private:
    char next() {
        const char c = text_[at_++];
        column_ = c == '\n' ? 1 : column_ + 1;
        line_ += c == '\n';
        return c;
    }

    Line read_line() {
        Line line{line_, {""}, {column_}};
        while (at_ < text_.size()) {
            const char c = next();
            if (c == '\n') {
                break;
            }
            if (c == '"' && line.cells.back().empty()) {
                read_quoted(line.cells.back());
            } else if (c == ',') {
                line.cells.emplace_back();
                line.columns.push_back(column_);
            } else if (c != '\r') {
                line.cells.back() += c;
            }
        }
        return line;
    }

    void read_quoted(std::string& cell) {
        const int line = line_, column = column_ - 1;
        while (at_ < text_.size()) {
            const char c = next();
            if (c != '"') {
                cell += c;
            } else if (at_ < text_.size() && text_[at_] == '"') {
                cell += next();
            } else {
                return;
            }
        }
        refuse(file_, line, column, "the quoted value does not end");
    }

    const std::string& text_;
    const std::string& file_;
    std::size_t at_ = 0;
    int line_ = 1, column_ = 1;
};

/// Axes from the names; \throws UserError through `refuse_name(index, what)`.
template <class Refuse>
void name_axes(const std::vector<std::string>& names, SweepSpace& space,
               const Refuse& refuse_name) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string& name = names[i];
        const bool setting = name.find('.') != std::string::npos;
        const auto same = [&](const SweepAxis& axis) { return axis.name == name; };
        if (name.empty()) {
            refuse_name(i, "a name is missing");
        }
        if (std::any_of(space.axes.begin(), space.axes.end(), same)) {
            refuse_name(i, "'" + name + "' is there twice");
        }
        if (std::any_of(space.fixed.begin(), space.fixed.end(), same)) {
            refuse_name(i, "'" + name + "' is given on the command line, too");
        }
        if (setting) {
            try {
                spec::section_of({name, ""});
            } catch (const UserError& error) {
                refuse_name(i, error.what());
            }
        }
        space.axes.push_back({name, setting, {}});
    }
}

void read_csv(const std::string& file, SweepSpace& space) {
    const std::string text = spec::read_bytes(file);
    spec::check_text(text, file);
    const std::vector<Line> lines = CsvReader(text, file).lines();
    if (lines.size() < 2) {
        refuse(file, 1, 1, "a line of names and a line for each point are expected");
    }
    const Line& head = lines.front();
    name_axes(head.cells, space, [&](std::size_t i, const std::string& what) {
        refuse(file, head.number, head.columns[i], what);
    });
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const Line& line = lines[i];
        if (line.cells.size() != head.cells.size()) {
            refuse(file, line.number, 1,
                   std::to_string(line.cells.size()) + " values for " +
                       std::to_string(head.cells.size()) + " names");
        }
        const auto empty = std::find(line.cells.begin(), line.cells.end(), "");
        if (empty != line.cells.end()) {
            const auto place = static_cast<std::size_t>(empty - line.cells.begin());
            refuse(file, line.number, line.columns[place],
                   "a value of '" + head.cells[place] + "' is missing");
        }
        space.points.push_back(line.cells);
    }
}

void read_yaml(const std::string& file, SweepSpace& space) {
    spec::Node root = spec::read_file(file);
    spec::assign_paths(root);
    if (!root.is_sequence() || root.items.empty() || !root.items.front().is_map()) {
        spec::fail(root,
                   {"the points of a sweep", root.describe(), "a list of maps, {NAME: VALUE}", ""});
    }
    const spec::Node& first = root.items.front();
    const std::vector<std::string> names = first.keys();
    name_axes(names, space, [&](std::size_t i, const std::string& what) {
        throw UserError(first.entries[i].key_position, what);
    });
    for (const spec::Node& item : root.items) {
        std::vector<std::string> point;
        for (const std::string& name : names) {
            const spec::Node* const value = item.find(name);
            if (value == nullptr || !value->is_scalar() || value->text.empty()) {
                spec::fail(value != nullptr ? *value : item,
                           {"a point has no value of '" + name + "'", "",
                            "one value of each name of the first point", ""});
            }
            point.push_back(value->text);
        }
        if (item.entries.size() != names.size()) {
            spec::fail(
                item, {"a point has names that the first has not", "", spec::name_list(names), ""});
        }
        space.points.push_back(std::move(point));
    }
}

}  // namespace

SweepSpace points_of(const std::string& file, const std::vector<SweepAxis>& fixed) {
    SweepSpace space;
    space.order = "file";
    space.fixed = fixed;
    for (const SweepAxis& axis : fixed) {
        if (axis.values.size() > 1) {
            throw UserError(std::string(axis.setting ? "--set " : "-D ") + axis.name +
                            ": with --points it takes one value for all points; put several into "
                            "the file");
        }
    }
    if (file.ends_with(".csv")) {
        read_csv(file, space);
    } else {
        read_yaml(file, space);
    }
    if (space.points.size() > most_sweep_points) {
        throw UserError(file + ": more than 100000 points");
    }
    for (std::size_t a = 0; a < space.axes.size(); ++a) {
        std::set<std::string> seen;
        for (const std::vector<std::string>& point : space.points) {
            if (seen.insert(point[a]).second) {
                space.axes[a].values.push_back(point[a]);
            }
        }
    }
    return space;
}

}  // namespace tessera::cli
