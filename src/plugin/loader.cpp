// Which files are looked at, in which order, and what becomes of them.
#include "tessera/plugin/loader.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/directory.hpp"
#include "base/printable.hpp"
#include "plugin/gates.hpp"
#include "plugin/library.hpp"
#include "plugin/scan.hpp"
#include "plugin/trust.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::plugin {

namespace {

namespace fs = std::filesystem;

void tell(const std::string& line) {
    static const char* wanted = std::getenv("TESSERA_PLUGIN_VERBOSE");
    if (wanted != nullptr && std::string(wanted) == "1") {
        std::fprintf(stderr, "tessera: plugins: %s\n", base::one_line(line).c_str());
    }
}

std::set<std::string>& loaded_files() {
    static std::set<std::string> files;
    return files;
}

/// Loads one file; returns why not. `named`: by the user, not merely found.
std::string load(const std::string& given, bool named) {
    std::error_code failed;
    const std::string path = fs::canonical(given, failed).string();
    if (failed) {
        return "there is no such file";
    }
    if (loaded_files().count(path) > 0) {
        return "";
    }
    std::string problem = named ? distrust_of_named_file(path) : distrust_of_found_file(given);
    if (problem.empty()) {
        problem = gate(path);
    }
    if (problem.empty()) {
        problem = examine(path);
    }
    if (!problem.empty()) {
        return problem;
    }
    const tessera_plugin* plugin = open_library(path, problem);
    if (plugin == nullptr) {
        return problem;
    }
    try {
        add_library(*plugin, path);
    } catch (const PluginError& taken) {
        return taken.what();
    }
    loaded_files().insert(path);
    tell("loaded " + path);
    return "";
}

std::vector<std::string> folders() {
    std::vector<std::string> list;
    if (const char* listed = std::getenv("TESSERA_PLUGIN_PATH")) {
        std::istringstream entries(listed);
        for (std::string entry; std::getline(entries, entry, ':');) {
            if (!entry.empty()) {
                list.push_back(entry);
            }
        }
    }
    if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && data[0] == '/') {
        list.push_back(std::string(data) + "/tessera/plugins");
    } else if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
        list.push_back(std::string(home) + "/.local/share/tessera/plugins");
    }
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);
    const fs::path installed = program.parent_path().parent_path() / "lib/tessera/plugins";
    if (!program.empty() && program.parent_path().filename() == "bin" &&
        fs::is_directory(installed, failed)) {
        list.push_back(installed.string());
    }
    return list;
}

std::vector<std::string> plugins_in(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code failed;
    for (const std::string& name : base::names_in(folder, failed)) {
        if (name.rfind("tessera-", 0) == 0 && fs::path(name).extension() == ".so") {
            files.push_back((fs::path(folder) / name).string());
        }
    }
    return files;
}

std::vector<Refusal> look_everywhere() {
    std::vector<Refusal> refused;
    const auto refuse = [&](const std::string& file, const std::string& reason) {
        refused.push_back({file, reason});
        tell("refused " + file + ": " + reason);
    };
    std::set<std::string> seen;
    for (const std::string& folder : folders()) {
        std::error_code failed;
        if (!fs::exists(folder, failed)) {
            tell("no folder " + folder);
            continue;
        }
        if (std::string reason = distrust_of_folder(folder); !reason.empty()) {
            refuse(folder, reason);
            continue;
        }
        const std::string path = fs::canonical(folder, failed).string();
        if (failed || !seen.insert(path).second) {
            continue;
        }
        tell("looking in " + path);
        for (const std::string& file : plugins_in(path)) {
            if (std::string reason = load(file, false); !reason.empty()) {
                refuse(file, reason);
            }
        }
    }
    return refused;
}

}  // namespace

void load_file(const std::string& path) {
    if (const std::string reason = load(path, true); !reason.empty()) {
        throw PluginError(Refusal{path, reason}.message());
    }
}

const std::vector<Refusal>& discover() {
    static const std::vector<Refusal> refused = look_everywhere();
    return refused;
}

}  // namespace tessera::plugin
