#include "dashboard/settings.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "dashboard/viewer.hpp"

namespace tessera::dashboard {

namespace {

const char* environment(const char* name) {
    const char* value = std::getenv(name);
    return value && *value ? value : nullptr;
}

}  // namespace

const char* name(Theme theme) {
    return theme == Theme::color ? "colour" : theme == Theme::light ? "light" : "mono";
}

std::string settings_file() {
    if (const char* config = environment("XDG_CONFIG_HOME")) {
        return std::string(config) + "/tessera/dashboard";
    }
    const char* home = environment("HOME");
    return home ? std::string(home) + "/.config/tessera/dashboard" : "";
}

void load_settings(View& view) {
    std::ifstream file(settings_file());
    std::string key, equals, value;
    while (file >> key >> equals >> value) {
        if (key == "theme") {
            for (const Theme theme : {Theme::color, Theme::light, Theme::mono}) {
                view.theme = value == name(theme) ? theme : view.theme;
            }
        }
        for (const SymbolSet set : {SymbolSet::block, SymbolSet::braille, SymbolSet::ascii}) {
            // A choice made on another terminal must not spoil one that only knows ASCII.
            if (key == "symbols" && value == name(set) && view.symbols != SymbolSet::ascii) {
                view.symbols = set;
            }
        }
    }
}

void save_settings(const View& view) {
    const std::filesystem::path path = settings_file();
    if (path.empty()) {
        return;
    }
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored);
    const std::filesystem::path draft = path.string() + ".new";
    std::ofstream file(draft);
    file << "theme = " << name(view.theme) << "\n"
         << "symbols = " << name(view.symbols) << "\n";
    file.close();
    if (file) {
        std::filesystem::rename(draft, path, ignored);
    }
}

namespace {

/// As many terminals tell it: COLORFGBG is "foreground;background", of 16 colours.
bool on_light_background() {
    const char* const colors = environment("COLORFGBG");
    const std::string text = colors ? colors : "";
    const std::string background = text.substr(text.rfind(';') + 1);
    return background == "7" || background == "15";
}

}  // namespace

View initial_view() {
    View view;
    view.theme = on_light_background() ? Theme::light : Theme::color;
    view.symbols = default_symbols();
    load_settings(view);
    if (environment("NO_COLOR")) {
        view.theme = Theme::mono;
    }
    return view;
}

}  // namespace tessera::dashboard
