#include "rooms/rooms.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

namespace tessera::rooms_test {

namespace {

bool starts_with(const std::string& text, const std::string& beginning) {
    return text.rfind(beginning, 0) == 0;
}

std::vector<std::string> parts_of(const std::string& path) {
    std::vector<std::string> parts;
    std::istringstream in(path);
    for (std::string part; std::getline(in, part, '/');) {
        parts.push_back(part);
    }
    return parts;
}

std::string folder_of(const std::string& path) {
    return path.substr(0, path.rfind('/') + 1);
}

int place_of(const std::string& room) {
    return static_cast<int>(std::find(rooms().begin(), rooms().end(), room) - rooms().begin());
}

/// The files of the repository that a file includes, as the compiler finds them.
std::vector<std::string> included(const std::string& path, const std::string& text,
                                  const Files& files) {
    static const std::regex line("^#include [\"<]([^\">]+)[\">]");
    std::vector<std::string> found;
    std::istringstream in(text);
    for (std::string one; std::getline(in, one);) {
        std::smatch match;
        if (!std::regex_search(one, match, line)) {
            continue;
        }
        for (const std::string& where :
             {folder_of(path), std::string("include/"), std::string("src/include/"),
              std::string("src/"), std::string()}) {
            const std::string other =
                std::filesystem::path(where + match[1].str()).lexically_normal().string();
            if (files.count(other) > 0) {
                found.push_back(other);
                break;
            }
        }
    }
    return found;
}

/// Why a file must not include another; empty: it may.
std::string objection(const std::string& from, const std::string& to) {
    const std::string own = room_of(from), other = room_of(to);
    if (starts_with(from, "include/") && !starts_with(to, "include/")) {
        return "a public header includes one that is not installed";
    }
    if (own == "plugins" && other == "plugins") {
        return parts_of(from)[1] == parts_of(to)[1] ? "" : "it belongs to another plugin";
    }
    if (own == other) {
        return "";
    }
    // The engine's own plugins are parts of it. The others show what one from outside can do.
    static const std::set<std::string> engine = {"ffm", "looptree", "timeloop"};
    if (own == "plugins" && !starts_with(to, "include/") && engine.count(parts_of(from)[1]) == 0) {
        return "a plugin from outside could not";
    }
    if (other == "plugins" || (!starts_with(to, "include/") && !starts_with(to, "src/include/"))) {
        return "it is private to " + other;
    }
    return place_of(other) > place_of(own) ? other + " comes after " + own : "";
}

/// Walks along includes; a file that is met again on its own way closes a circle.
class Circles {
public:
    explicit Circles(const Files& files) : files_(files) {
        for (const auto& [path, text] : files) {
            visit(path);
        }
    }
    const std::vector<std::string>& found() const {
        return found_;
    }

private:
    void visit(const std::string& path) {
        const auto on_way = std::find(way_.begin(), way_.end(), path);
        if (on_way != way_.end()) {
            std::string circle = "circle of includes: ";
            for (auto it = on_way; it != way_.end(); ++it) {
                circle += *it + " > ";
            }
            found_.push_back(circle + path);
            return;
        }
        if (!seen_.insert(path).second) {
            return;
        }
        way_.push_back(path);
        for (const std::string& next : included(path, files_.at(path), files_)) {
            visit(next);
        }
        way_.pop_back();
    }

    const Files& files_;
    std::set<std::string> seen_;
    std::vector<std::string> way_, found_;
};

}  // namespace

const std::vector<std::string>& rooms() {
    static const std::vector<std::string> order = {
        "base",      "ranks",    "schedule", "transfusion", "fusecu",    "sparsity",
        "spec",      "workload", "arch",     "mapping",     "model",     "mapspace",
        "telemetry", "search",   "learning", "mapper",      "plugin",    "testing",
        "io",        "timeloop", "plugins",  "api",         "dashboard", "cli"};
    return order;
}

std::string room_of(const std::string& path) {
    const std::vector<std::string> parts = parts_of(path);
    if (parts.size() < 2) {
        return "";
    }
    if (parts[0] == "plugins") {
        return parts.size() > 3 && parts[2] == "test" ? "" : "plugins";
    }
    if (parts[0] == "include") {
        return parts.size() == 3 ? "api" : parts[2];
    }
    if (parts[0] == "src") {
        return parts[1] == "include" ? parts.at(2) : parts[1];
    }
    return "";
}

std::vector<std::string> offences(const Files& files) {
    std::vector<std::string> all;
    for (const auto& [path, text] : files) {
        const std::string room = room_of(path);
        if (room.empty()) {
            continue;
        }
        if (place_of(room) == static_cast<int>(rooms().size())) {
            all.push_back(path + ": the room " + room + " has no place in the order");
            continue;
        }
        for (const std::string& other : included(path, text, files)) {
            if (const std::string why = objection(path, other); !why.empty()) {
                all.push_back(path + " includes " + other + ": " + why);
            }
        }
    }
    const Circles circles(files);
    all.insert(all.end(), circles.found().begin(), circles.found().end());
    return all;
}

std::vector<std::string> crowded_folders(const Files& files, std::size_t most) {
    std::map<std::string, std::size_t> count;
    for (const auto& [path, text] : files) {
        const std::string folder = std::filesystem::path(path).parent_path().string();
        const bool source = path.ends_with(".cpp") || path.ends_with(".hpp");
        if (source && (path.starts_with("src/") || path.starts_with("include/") ||
                       path.starts_with("plugins/"))) {
            ++count[folder];
        }
    }
    std::vector<std::string> all;
    for (const auto& [folder, n] : count) {
        if (n > most) {
            all.push_back(folder + " has " + std::to_string(n) + " files");
        }
    }
    return all;
}

}  // namespace tessera::rooms_test
