// From files to one tree.
//
//   Joined, Includer    the contents of all files with the way back from a line to its file
//   read_joined         one parse of them
//   detect_dialect      which Timeloop the input was written for

#include "timeloop/read.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/nearest.hpp"
#include "keys.hpp"
#include "read_parts.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/position.hpp"
#include "values.hpp"

namespace tessera::timeloop {

namespace {

namespace fs = std::filesystem;
using spec::Node;

struct Joined {
    struct Part {
        std::string file;
        int first_line;  ///< in `text`
        int file_line;   ///< in `file`
    };
    std::string text;
    std::vector<Part> parts;
    int lines = 0;

    void add(const std::string& content, const std::string& file) {
        add_part(file, 1);
        // A byte order mark is only one at the start of a text.
        text += content.compare(0, 3, "\xef\xbb\xbf") == 0 ? content.substr(3) : content;
        text += "\n";
        lines = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    }

    void add_part(const std::string& file, int file_line) {
        parts.push_back({file, lines + 1, file_line});
    }

    Position locate(int line, int column) const {
        auto part =
            std::upper_bound(parts.begin(), parts.end(), line,
                             [](int wanted, const Part& one) { return wanted < one.first_line; });
        part -= part == parts.begin() ? 0 : 1;
        return {part->file, line - part->first_line + part->file_line, column};
    }

    /// The line where a second YAML document begins, or 0.
    int second_document() const {
        bool content = false;
        int line = 1;
        for (std::size_t at = 0; at < text.size(); ++line) {
            const std::size_t end = text.find('\n', at);
            const std::string_view one = std::string_view(text).substr(at, end - at);
            const bool mark = one.substr(0, 3) == "---" || one.substr(0, 3) == "...";
            if (mark && (one.size() == 3 || one[3] == ' ' || one[3] == '\r')) {
                if (content) {
                    return line;
                }
            } else if (const std::size_t first = one.find_first_not_of(" \t\r");
                       first != std::string_view::npos && one[first] != '#' && one[0] != '%') {
                content = true;
            }
            at = end + 1;
        }
        return 0;
    }
};

/// Adds YAML files line by line, because they may include others: a line that holds nothing but
/// {{include_text('FILE')}} stands for that file, as in the exercises for Timeloop. Any other
/// template is refused.
class Includer {
public:
    explicit Includer(Joined& joined) : joined_(joined) {}

    void add(const std::string& content, const fs::path& file, int depth = 0) {
        joined_.add_part(file.string(), 1);
        int line = 1;
        for (std::size_t at = 0; at < content.size(); ++line) {
            const std::size_t end = std::min(content.find('\n', at), content.size());
            const std::string one = content.substr(at, end - at);
            at = end + 1;
            const std::size_t open = std::min(one.find("{{"), one.find("{%"));
            if (open == std::string::npos || one.find('#') < open) {
                put(one);
                continue;
            }
            const Position place{file.string(), line, static_cast<int>(open) + 1};
            expand(one.substr(open), place, file, depth);
            joined_.add_part(file.string(), line + 1);
        }
    }

private:
    void put(const std::string& line) {
        joined_.text += line + "\n";
        ++joined_.lines;
    }

    void expand(const std::string& call, const Position& place, const fs::path& file, int depth) {
        const std::string name = between(call, "{{", "(");
        const std::string argument = between(call, "(", ")}}");
        const bool quoted = argument.size() > 2 && argument.front() == argument.back() &&
                            (argument.front() == '\'' || argument.front() == '"');
        const std::string path = quoted ? argument.substr(1, argument.size() - 2) : "";
        if (name == "add_to_path" && (quoted || argument == "cwd()")) {
            folders_.push_back(file.parent_path() / path);
            put("");
        } else if (name == "include_text" && quoted && depth < 16) {
            const fs::path found = find(path, file, place);
            const std::string content = spec::read_bytes(found.string());
            spec::check_text(content, found.string());
            if (++includes_ > max_includes || joined_.text.size() + content.size() > max_bytes) {
                spec::fail(place, "",
                           {"the includes bring more than 1000 files or 16 MiB", path, "",
                            "include a file once"});
            }
            add(content, found, depth + 1);
        } else {
            spec::fail(place, "",
                       {"a template that only Timeloop's Python front end can fill in", call, "",
                        "give the file that it makes of this one (parsed-processed-input.yaml)"});
        }
    }

    /// The text between two marks without blanks around it.
    static std::string between(const std::string& text, const std::string& from,
                               const std::string& to) {
        const std::size_t first = text.find(from);
        const std::size_t last = first == std::string::npos ? first : text.rfind(to);
        if (last == std::string::npos || last < first + from.size()) {
            return "";
        }
        std::string result = text.substr(first + from.size(), last - first - from.size());
        result.erase(0, result.find_first_not_of(" \t"));
        result.erase(result.find_last_not_of(" \t") + 1);
        return result;
    }

    fs::path find(const std::string& path, const fs::path& file, const Position& place) const {
        std::vector<fs::path> folders = {file.parent_path()};
        folders.insert(folders.end(), folders_.begin(), folders_.end());
        for (const fs::path& folder : folders) {
            std::error_code ignored;
            if (fs::is_regular_file(folder / path, ignored)) {
                return (folder / path).lexically_normal();
            }
        }
        spec::fail(place, "",
                   {"the included file does not exist", path, "",
                    "paths are relative to the file that includes"});
    }

    static constexpr std::size_t max_includes = 1000, max_bytes = std::size_t{16} << 20U;

    Joined& joined_;
    std::vector<fs::path> folders_;
    std::size_t includes_ = 0;
};

Format format_of(const std::string& file) {
    if (file.find(".cfg") != std::string::npos) {
        return Format::libconfig;
    }
    if (file.find(".yml") == std::string::npos && file.find(".yaml") == std::string::npos) {
        throw UserError(file +
                        ": the ending of the first file decides how all are read (expected .yaml, "
                        ".yml or .cfg); rename the file, or give another one first");
    }
    return Format::yaml;
}

// Identifiers that Timeloop 3.0.3 spells with hyphens and its successors with underscores.
constexpr std::string_view respelled[] = {"word-bits",
                                          "block-size",
                                          "cluster-size",
                                          "cluster-area",
                                          "num-ports",
                                          "num-banks",
                                          "multiple-buffering",
                                          "min-utilization",
                                          "network-type",
                                          "network-word-bits",
                                          "router-energy",
                                          "wire-energy",
                                          "energy-per-hop",
                                          "tile-width",
                                          "vector-access-energy",
                                          "addr-gen-energy",
                                          "adder-energy",
                                          "data-spaces",
                                          "read-write",
                                          "num-threads",
                                          "optimization-metric",
                                          "optimization-metrics",
                                          "search-size",
                                          "victory-condition",
                                          "sync-interval",
                                          "log-interval",
                                          "log-suboptimal",
                                          "log-all",
                                          "log-stats",
                                          "log-oaves",
                                          "log-oaves-mappings",
                                          "live-status",
                                          "emit-whoop-nest",
                                          "filter-revisits",
                                          "max-permutations-per-if-visit",
                                          "penalize-consecutive-bypass-fails"};

struct Spelling {
    int hyphens = 0, underscores = 0;
};

void count_spelling(const Node& node, Spelling& spelling) {
    for (const Node& item : node.items) {
        count_spelling(item, spelling);
    }
    for (const Node::Entry& entry : node.entries) {
        for (const std::string_view word : respelled) {
            if (same_key(entry.key, word)) {
                const bool hyphens = entry.key.find('-') != std::string::npos;
                ++(hyphens ? spelling.hyphens : spelling.underscores);
            }
        }
        count_spelling(entry.value, spelling);
    }
}

bool is_version_0_4(const Node& root) {
    for (const char* section : {"architecture", "arch", "problem", "mapper", "components"}) {
        const Node* node = root.find(section);
        const Node* version = node == nullptr ? nullptr : node->find("version");
        if (version != nullptr && version->text == "0.4") {
            return true;
        }
    }
    return false;
}

Dialect detect_dialect(const Node& root, const std::vector<std::string>& files) {
    if (const char* wanted = std::getenv("TESSERA_TIMELOOP_DIALECT")) {
        const std::string_view value = wanted;
        if (value == "3.0.3" || value == "master") {
            return value == "master" ? Dialect::master : Dialect::v3_0_3;
        }
        throw UserError("environment variable TESSERA_TIMELOOP_DIALECT: unknown dialect: '" +
                        std::string(value) +
                        "' (expected 3.0.3 or master); set one of these, or "
                        "unset it to have the dialect chosen by the spelling of the input");
    }
    for (const std::string& file : files) {
        if (fs::path(file).filename().string().rfind("parsed-processed-input", 0) == 0) {
            return Dialect::master;
        }
    }
    Spelling spelling;
    count_spelling(root, spelling);
    const bool underscores = spelling.underscores > 0 || is_version_0_4(root);
    return spelling.hyphens == 0 && underscores ? Dialect::master : Dialect::v3_0_3;
}

Document read_joined(const Joined& joined, Format format) {
    Document document;
    document.format = format;
    spec::ReadOptions options;
    options.first_key_wins = true;
    options.first_document_only = true;
    options.deep_merge_keys = true;
    options.locate = [&](int line, int column) { return joined.locate(line, column); };
    options.repeated = [&](const std::string& key, const Position& first, const Position& later) {
        // Of several files the first to say something wins; within one it is likely a slip.
        if (first.file == later.file) {
            document.warnings.push_back(later.text() + ": the key '" + key +
                                        "' was given before, at " + first.text() +
                                        "; the first one counts, remove one of them");
        }
    };
    const std::string& name = joined.parts.front().file;
    if (format == Format::libconfig) {
        document.root = spec::read_libconfig(joined.text, name, options);
    } else {
        document.root = spec::read_text(joined.text, name, options);
        if (const int line = joined.second_document(); line > 0) {
            document.warnings.push_back(
                joined.locate(line, 1).text() +
                ": a second YAML document begins; it and everything after it, further files "
                "included, is left out, as by Timeloop; remove the line");
        }
    }
    if (!document.root.is_map()) {
        spec::fail(document.root, {"the input holds " + document.root.describe(), "",
                                   "a map with keys such as 'problem' and 'architecture'", ""});
    }
    return document;
}

}  // namespace

bool same_key(std::string_view left, std::string_view right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](char a, char b) { return (a == '-' ? '_' : a) == (b == '-' ? '_' : b); });
}

const Node* find_key(const Node& map, std::string_view key) {
    for (const Node::Entry& entry : map.entries) {
        if (same_key(entry.key, key)) {
            return &entry.value;
        }
    }
    return nullptr;
}

namespace {

Document read_files(const std::vector<std::string>& files) {
    if (files.empty()) {
        throw UserError("no input file is given");
    }
    const Format format = format_of(files.front());
    Joined joined;
    Includer includer(joined);
    for (const std::string& file : files) {
        std::error_code ignored;
        if (fs::is_directory(file, ignored)) {
            throw UserError(file + ": is a folder (expected a file)");
        }
        const std::string content = spec::read_bytes(file);
        spec::check_text(content, file);
        const bool template_text =
            format == Format::yaml &&
            (content.find("{{") != std::string::npos || content.find("{%") != std::string::npos);
        template_text ? includer.add(content, file) : joined.add(content, file);
    }
    Document document = read_joined(joined, format);
    document.files = files;
    return document;
}

void flatten(Document& document) {
    const Node* architecture = document.root.find("architecture");
    const bool nodes = architecture != nullptr && architecture->find("nodes") != nullptr;
    for (const std::string& text : unknown_sections(document.root, nodes)) {
        document.warnings.push_back(text);
    }
    try {
        flatten_nodes(document);
    } catch (const UserError& error) {
        rethrow_with(error, misspelt_sections(document.root));
    }
}

}  // namespace

Document read_document(const std::vector<std::string>& files, const spec::Defines& defines) {
    Document document = read_files(files);
    define_variables(document.root, defines);
    document.dialect = detect_dialect(document.root, files);
    flatten(document);
    return document;
}

Document read_document_text(std::string_view text, const std::string& name) {
    const Format format = format_of(name);
    spec::check_text(text, name);
    Joined joined;
    joined.add(std::string(text), name);
    Document document = read_joined(joined, format);
    document.files = {name};
    document.dialect = detect_dialect(document.root, document.files);
    flatten(document);
    return document;
}

namespace {

/// A slip must not turn a file into one of another kind.
bool misspells_section(const Node& root) {
    return std::any_of(root.entries.begin(), root.entries.end(), [](const Node::Entry& entry) {
        return entry.key.size() > 4 &&
               !nearest(entry.key, {"problem", "architecture", "mapspace", "mapspace_constraints",
                                    "architecture_constraints", "arch_constraints"})
                    .empty();
    });
}

}  // namespace

bool fits_beside_timeloop(const std::string& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
        return fs::path(path).has_extension();  // no name of ours; that it is missing is told later
    }
    try {
        const Node root = read_files({path}).root;
        return root.find("arch") == nullptr && root.find("workload") == nullptr;
    } catch (const Error&) {
        return false;
    }
}

bool is_timeloop_file(const std::string& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored) || fs::is_directory(path, ignored)) {
        return false;
    }
    try {
        // Most files need not be parsed for this.
        const std::string text = spec::read_bytes(path);
        const auto mentions = [&](const char* word) {
            return text.find(word) != std::string::npos;
        };
        if (!mentions("problem") && !mentions("arch") && !mentions("mapping") &&
            !mentions("mapspace") && !mentions("ERT") && !mentions("ART") && !mentions("layout")) {
            return false;
        }
        const Document document = read_files({path});
        const auto any = [&](std::initializer_list<const char*> keys) {
            return std::any_of(keys.begin(), keys.end(),
                               [&](const char* key) { return document.root.find(key) != nullptr; });
        };
        if (any({"problem", "architecture", "ERT", "ART", "mapspace", "mapspace_constraints",
                 "architecture_constraints", "arch_constraints", "layout"})) {
            return true;
        }
        if (!any({"arch", "workload"}) && misspells_section(document.root)) {
            return true;
        }
        // Both tools have these; Timeloop's hold other things.
        const Node* arch = document.root.find("arch");
        const Node* mapping = document.root.find("mapping");
        return (arch != nullptr && (arch->find("arithmetic") || arch->find("subtree"))) ||
               (mapping != nullptr && mapping->is_sequence());
    } catch (const Error&) {
        return false;
    }
}

}  // namespace tessera::timeloop
