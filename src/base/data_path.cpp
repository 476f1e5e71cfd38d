#include "base/data_path.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <system_error>

#include "base/directory.hpp"
#include "base/nearest.hpp"
#include "base/printable.hpp"
#include "tessera/base/error.hpp"

namespace tessera {

namespace fs = std::filesystem;

namespace {

/// Set before main().
fs::path& checkout() {
    static fs::path folder;
    return folder;
}

/// PREFIX/share/tessera of PREFIX/bin/program or PREFIX/lib/libtessera.so; empty: there is none.
fs::path share_of(const fs::path& binary) {
    std::error_code ignored;
    const fs::path folder = binary.parent_path().parent_path() / "share" / "tessera";
    return !binary.empty() && fs::is_directory(folder, ignored) ? folder : fs::path();
}

/// The file that holds this code.
fs::path own_file() {
    Dl_info info{};
    std::error_code ignored;
    if (::dladdr(reinterpret_cast<const void*>(&data_folders), &info) == 0 ||
        info.dli_fname == nullptr) {
        return {};
    }
    const fs::path real = fs::canonical(info.dli_fname, ignored);
    return ignored ? fs::path() : real;
}

}  // namespace

void set_checkout(const std::filesystem::path& folder) {
    checkout() = folder;
}

std::vector<fs::path> data_folders() {
    std::vector<fs::path> folders;
    if (const char* listed = std::getenv("TESSERA_DATA_PATH")) {
        std::istringstream entries(listed);
        for (std::string entry; std::getline(entries, entry, ':');) {
            if (!entry.empty()) {
                folders.emplace_back(entry);
            }
        }
    }
    std::error_code ignored;
    bool installed = false;
    for (const fs::path& binary : {fs::read_symlink("/proc/self/exe", ignored), own_file()}) {
        const fs::path folder = share_of(binary);
        if (!folder.empty() && std::find(folders.begin(), folders.end(), folder) == folders.end()) {
            folders.push_back(folder);
            installed = true;
        }
    }
    // What is installed must not depend on the checkout that it was built from.
    if (!installed && !checkout().empty()) {
        folders.push_back(checkout());
    }
    return folders;
}

namespace {

/// The specs in `folder` / `below` and its folders, without their ending; what can be read is
/// listed.
void add_names(const fs::path& folder, const fs::path& below, std::set<std::string>& names) {
    std::error_code ignored;
    for (const std::string& name : base::names_in(folder / below, ignored)) {
        const fs::path path = below / name;
        if (fs::is_directory(fs::symlink_status(folder / path, ignored))) {
            add_names(folder, path, names);
        } else if (path.extension() == ".yaml" && fs::is_regular_file(folder / path, ignored)) {
            names.insert(fs::path(path).replace_extension().string());
        }
    }
}

}  // namespace

std::vector<std::string> list_data(const std::string& kind) {
    std::set<std::string> names;
    for (const fs::path& folder : data_folders()) {
        add_names(folder / kind, {}, names);
    }
    return {names.begin(), names.end()};
}

fs::path find_data(const std::string& kind, const std::string& name) {
    std::error_code ignored;
    // A pipe or /dev/stdin is a file, too.
    if (fs::exists(name, ignored) && !fs::is_directory(name, ignored)) {
        return name;
    }
    for (const fs::path& folder : data_folders()) {
        for (const char* ending : {"", ".yaml"}) {
            const fs::path candidate = folder / kind / (name + ending);
            if (!name.empty() && fs::is_regular_file(candidate, ignored)) {
                return candidate;
            }
        }
    }

    const std::vector<std::string> known = list_data(kind);
    std::string message =
        "'" + base::one_line(name) + "' is neither a file nor a name in " + kind + "/";
    const std::string meant = nearest(name, known);
    if (!meant.empty()) {
        message += "; did you mean '" + meant + "'?";
    } else if (!known.empty()) {
        message += "; known:";
        for (const std::string& each : known) {
            message += " " + each;
        }
    }
    throw UserError(message);
}

}  // namespace tessera
