#include "report_contenders.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/directory.hpp"
#include "base/printable.hpp"
#include "io/json_text.hpp"
#include "io/plot_svg.hpp"
#include "report_sections.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

using io::ParsedJson;

constexpr std::size_t most_lines_with_markers = 6;

double number(const ParsedJson& object, const char* key) {
    const auto at = object.is_object() ? object.find(key) : object.end();
    return at != object.end() && at->is_number() ? at->get<double>()
                                                 : std::numeric_limits<double>::quiet_NaN();
}

const ParsedJson& list(const ParsedJson& object, const char* key) {
    static const ParsedJson none = ParsedJson::array();
    const auto at = object.is_object() ? object.find(key) : object.end();
    return at != object.end() && at->is_array() ? *at : none;
}

io::PageCell cell(double value) {
    return std::isfinite(value) ? io::page_plain(value) : io::page_text("");
}

io::PageCell seconds(double value) {
    return std::isfinite(value) ? io::page_quantity(value, "s") : io::page_text("");
}

io::PageCell share(double value) {
    return std::isfinite(value) ? io::page_percent(value) : io::page_text("");
}

/// The median, or the value itself where there is one trial.
double median(const ParsedJson& contender) {
    const auto at = contender.is_object() ? contender.find("value") : contender.end();
    return at == contender.end() ? number(contender, "value")
           : at->is_object()     ? number(*at, "median")
                                 : number(contender, "value");
}

io::PageTable ranking(const ParsedJson& result) {
    io::PageTable table{"ranking",
                        "Contenders, the best first",
                        {"name", "value", "to the best", "gap", "best after", "evaluations",
                         "searches with a mapping", "proven", "wall time"},
                        {},
                        1,
                        false};
    for (const ParsedJson& one : list(result, "contenders")) {
        table.rows.push_back({io::page_text(io::text_of(one, "name")), cell(median(one)),
                              cell(number(one, "ratio")), share(number(one, "gap")),
                              seconds(number(one, "time_to_best_s")),
                              cell(number(one, "evaluated")), cell(number(one, "found")),
                              cell(number(one, "proven")), seconds(number(one, "wall_s"))});
    }
    return table;
}

io::PageTable trials(const ParsedJson& result) {
    io::PageTable table{"trials",
                        "All searches",
                        {"name", "status", "stopped by", "seed", "value", "bound", "best after",
                         "evaluations", "valid", "CPU time", "memory"},
                        {},
                        3,
                        true};
    for (const ParsedJson& contender : list(result, "contenders")) {
        for (const ParsedJson& one : list(contender, "trials")) {
            const double bytes = number(one, "memory_bytes");
            const std::string error = io::text_of(one, "error");
            table.rows.push_back(
                {io::page_text(io::text_of(contender, "name")),
                 io::page_text(io::text_of(one, "status") + (error.empty() ? "" : ": " + error)),
                 io::page_text(io::text_of(one, "stopped_by")), cell(number(one, "seed")),
                 cell(number(one, "value")), cell(number(one, "bound")),
                 seconds(number(one, "time_to_best_s")), cell(number(one, "evaluated")),
                 share(number(one, "valid_share")), seconds(number(one, "cpu_s")),
                 bytes > 0 ? io::page_quantity(bytes, "B") : io::page_text("")});
        }
    }
    return table;
}

/// A line for each search; of several seeds the first has the name.
io::Plot curves(const ParsedJson& result) {
    io::Plot plot{"Best mapping over time",
                  "seconds",
                  io::text_of(result, "metric"),
                  true,
                  false,
                  {},
                  760,
                  420};
    std::vector<double> values;
    const bool markers = list(result, "contenders").size() <= most_lines_with_markers;
    for (const ParsedJson& contender : list(result, "contenders")) {
        bool first = true;
        for (const ParsedJson& trial : list(contender, "trials")) {
            io::PlotSeries line{first ? io::text_of(contender, "name") : "",
                                {},
                                true,
                                markers && first,
                                true,
                                !first};
            for (const ParsedJson& point : list(trial, "curve")) {
                if (point.is_array() && point.size() >= 2 && point[0].is_number() &&
                    point[1].is_number()) {
                    line.points.emplace_back(point[0].get<double>(), point[1].get<double>());
                    values.push_back(line.points.back().second);
                }
            }
            const double end_s = number(trial, "wall_s");
            if (!line.points.empty() && end_s > line.points.back().first) {
                line.points.emplace_back(end_s, line.points.back().second);
            }
            first = false;
            plot.series.push_back(std::move(line));
        }
    }
    plot.y_log = io::suits_log(values);
    return plot;
}

void provenance(io::Page& page, const ParsedJson& run) {
    std::vector<std::string> words;
    for (const ParsedJson& one : list(run, "command")) {
        words.push_back(io::exact_text(one).value_or(""));
    }
    std::vector<InputFile> files;
    for (const ParsedJson& one : list(run, "inputs")) {
        files.push_back(
            {io::text_of(one, "role"), io::text_of(one, "path"), io::text_of(one, "sha256")});
    }
    io::PageSection section;
    section.title = provenance_title;
    section.texts.push_back("Command: " + command_line(words));
    section.texts.push_back("Started in " + io::text_of(run, "directory") + " on " +
                            io::text_of(run, "host") + " at " + io::text_of(run, "started") +
                            " with tessera " + io::text_of(run, "tessera_version") + ".");
    section.tables.push_back(input_table("", files));
    page.sections.push_back(std::move(section));
}

}  // namespace

std::optional<io::Page> contenders_page(const std::string& name) {
    const std::filesystem::path path = std::filesystem::absolute(name);
    const base::Directory folder(path);
    const ParsedJson result = base::parsed_json(folder.read("result.json").value_or(""));
    if (io::text_of(result, "status") != "compared") {
        return std::nullopt;
    }
    if (list(result, "contenders").empty()) {
        throw UserError(base::one_line((path / "result.json").string()) +
                        ": names no contenders; a comparison on many problems has its report in "
                        "its folder already");
    }
    const ParsedJson run = base::parsed_json(folder.read("run.json").value_or(""));
    io::Page page;
    page.title = io::text_of(result, "workload") + " on " + io::text_of(result, "architecture") +
                 ": " + std::to_string(list(result, "contenders").size()) + " contenders";
    io::PageSection section;
    section.title = "Result";
    const ParsedJson& first = list(result, "contenders").front();
    section.texts.push_back(
        io::text_of(first, "name") + " leads with a median of " +
        io::page_plain(median(first)).text + " (" + io::text_of(result, "metric") + ", model " +
        io::text_of(result, "model") + ", mapspace " + io::text_of(result, "mapspace") + ")" +
        (number(first, "proven") > 0 ? ", proven optimal." : "."));
    section.tables.push_back(ranking(result));
    page.sections.push_back(std::move(section));
    io::PageSection course;
    course.title = "Search";
    course.drawings.push_back({"curves", io::plot_svg(curves(result))});
    course.tables.push_back(trials(result));
    page.sections.push_back(std::move(course));
    // Names come from the file: only those of this folder are read.
    const std::vector<std::string> names = folder.names();
    for (const ParsedJson& one : list(result, "contenders")) {
        const std::string file = io::text_of(one, "name") + ".mapping.yaml";
        if (std::find(names.begin(), names.end(), file) == names.end()) {
            continue;
        }
        if (const std::optional<std::string> text = folder.read(file)) {
            io::PageSection mapping;
            mapping.title = "Mapping of " + io::text_of(one, "name");
            mapping.code_title = file;
            mapping.code = *text;
            page.sections.push_back(std::move(mapping));
        }
    }
    provenance(page, run);
    return page;
}

}  // namespace tessera::cli
