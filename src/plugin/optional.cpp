// Plugins that are loaded once they are named.
#include <filesystem>
#include <fstream>

#include "base/directory.hpp"
#include "base/printable.hpp"
#include "tessera/plugin/loader.hpp"

namespace tessera::plugin {

namespace {

namespace fs = std::filesystem;

std::vector<Optional> found_in(const fs::path& folder) {
    const std::string before = "tessera-";
    std::vector<Optional> found;
    std::error_code failed;
    for (const std::string& name : base::names_in(folder.string(), failed)) {
        const fs::path file = folder / name;
        const std::string stem = file.stem().string();
        if (file.extension() == ".so" && stem.rfind(before, 0) == 0) {
            found.push_back({stem.substr(before.size()), file.string(), ""});
        } else if (file.extension() == ".absent") {
            std::string missing;
            std::getline(std::ifstream(file) >> std::ws, missing);
            found.push_back({stem, "", base::one_line(missing)});
        }
    }
    return found;
}

std::vector<Optional> look() {
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);
    if (program.empty()) {
        return {};
    }
    const fs::path place = program.parent_path();
    std::vector<Optional> found = found_in(place / "optional");
    return found.empty() && place.filename() == "bin"
               ? found_in(place.parent_path() / "lib/tessera/optional")
               : found;
}

const Optional* find(const std::string& name) {
    for (const Optional& plugin : optional_plugins()) {
        if (plugin.name == name) {
            return &plugin;
        }
    }
    return nullptr;
}

}  // namespace

const std::vector<Optional>& optional_plugins() {
    static const std::vector<Optional> plugins = look();
    return plugins;
}

void load_optional(const std::string& name) {
    const Optional* plugin = find(name);
    if (plugin != nullptr && !plugin->file.empty()) {
        load_file(plugin->file);
    }
}

std::string why_absent(const std::string& name) {
    const Optional* plugin = find(name);
    return plugin != nullptr && plugin->file.empty()
               ? "; '" + name + "' was left out when this program was built: " + plugin->missing +
                     " is missing (make deps)"
               : "";
}

}  // namespace tessera::plugin
