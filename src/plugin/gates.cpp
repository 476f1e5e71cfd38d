#include "plugin/gates.hpp"

#include <cctype>
#include <cstdio>
#include <map>
#include <sstream>
#include <vector>

#include "plugin/elf_file.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::plugin {

namespace {

/// One component's record (record.hpp).
struct Claims {
    std::map<std::string, std::string> values;   // key -> value
    std::map<std::string, std::string> headers;  // name -> fingerprint
    std::map<std::string, std::string> sizes;    // type -> bytes
};

std::vector<Claims> parse(const std::string& record) {
    std::vector<Claims> all;
    std::string text = record;
    for (char& c : text) {
        c = c == '\0' ? '\n' : c;
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (space == std::string::npos) {
            continue;
        }
        const std::string key = line.substr(0, space), value = line.substr(space + 1);
        if (key == "tessera-plugin") {
            all.emplace_back();
        }
        if (all.empty()) {
            continue;
        }
        const std::size_t last = value.rfind(' ');
        if ((key == "header" || key == "size") && last != std::string::npos) {
            auto& list = key == "header" ? all.back().headers : all.back().sizes;
            list[value.substr(0, last)] = value.substr(last + 1);
        } else {
            all.back().values[key] = value;
        }
    }
    return all;
}

const std::vector<Claims>& own_claims() {
    static const std::vector<Claims> claims = [] {
        std::string text;
        const auto add = [&](const auto& record) { text.append(record.data(), record.size()); };
        static constexpr auto model = make_record<Contract<model::CostModel>>("");
        static constexpr auto strategy = make_record<Contract<search::SearchStrategy>>("");
        static constexpr auto mapper = make_record<Contract<mapper::Mapper>>("");
        add(model);
        add(strategy);
        add(mapper);
        return parse(text);
    }();
    return claims;
}

bool ours(const std::string& symbol) {
    // Older linkers export the ends of the sections of every shared object.
    for (const char* known :
         {TESSERA_PLUGIN_ENTRY, "_init", "_fini", "_edata", "_end", "__bss_start"}) {
        if (symbol == known) {
            return true;
        }
    }
    return false;
}

std::string check_file(const ElfFile& file) {
    if (!file.problem.empty()) {
        return file.problem;
    }
    if (!file.has_record) {
        return "it is no Tessera plugin: it has no section .tessera.plugin, which the macro "
               "TESSERA_PLUGIN makes";
    }
    bool entry = false;
    for (const ElfFile::Export& e : file.exports) {
        entry = entry || e.name == TESSERA_PLUGIN_ENTRY;
        if (e.unique) {
            return "it exports the unique symbol '" + e.name +
                   "', which all plugins would share; compile it with -fno-gnu-unique";
        }
    }
    if (!entry) {
        return std::string("it does not export ") + TESSERA_PLUGIN_ENTRY +
               "; write TESSERA_PLUGIN_LIBRARY in one of its source files";
    }
    for (const ElfFile::Export& e : file.exports) {
        if (!ours(e.name)) {
            return "it exports '" + e.name +
                   "' besides its entry point; link it with the flags of pkg-config tessera-plugin";
        }
    }
    return "";
}

std::string check_toolchain(const Claims& plugin, const Claims& own) {
    static constexpr std::pair<const char*, const char*> tags[] = {
        {"words", "for words of "},
        {"standard-library", "with the C++ standard library "},
        {"strings", "with "},
        {"language", "as "},
        {"instrumentation", "with instrumentation "}};
    for (const auto& [key, with] : tags) {
        const auto theirs = plugin.values.find(key);
        const std::string& wanted = own.values.at(key);
        const std::string found = theirs == plugin.values.end() ? "none" : theirs->second;
        if (found == wanted) {
            continue;
        }
        std::string remedy = "; build both with the same compiler settings";
        if (std::string(key) == "strings") {
            remedy = "; compile it without -D_GLIBCXX_USE_CXX11_ABI=0";
        }
        return std::string("it is built ") + with + found + ", this program " + with + wanted +
               remedy;
    }
    return "";
}

/// A name of `own` that `theirs` lacks or has another value for; empty: there is none.
std::string differing(const std::map<std::string, std::string>& theirs,
                      const std::map<std::string, std::string>& own) {
    for (const auto& [name, value] : own) {
        const auto found = theirs.find(name);
        if (found == theirs.end() || found->second != value) {
            return name;
        }
    }
    return "";
}

std::string check_shared(const Claims& plugin, const Claims& own) {
    const auto built = plugin.values.find("built-for");
    const std::string versions = std::string(" (it is built for tessera ") +
                                 (built == plugin.values.end() ? "?" : built->second) +
                                 ", this is tessera " + version + "); ";
    if (const std::string header = differing(plugin.headers, own.headers); !header.empty()) {
        return "header " + header + " differs" + versions +
               "rebuild it with the headers of this program";
    }
    if (const std::string type = differing(plugin.sizes, own.sizes); !type.empty()) {
        return "type " + type + " has another size" + versions +
               "build both with the same compiler settings";
    }
    return "";
}

/// "search-strategy 1.0" -> name, major, minor.
struct Interface {
    std::string id;
    unsigned major = 0, minor = 0;

    explicit Interface(const std::string& text) {
        const std::size_t space = text.find(' ');
        id = text.substr(0, space);
        if (space != std::string::npos) {
            std::sscanf(text.c_str() + space, "%u.%u", &major, &minor);
        }
    }
    std::string number() const {
        return std::to_string(major) + "." + std::to_string(minor);
    }
};

std::string check_interface(const Interface& theirs, const Interface& own) {
    if (theirs.major != own.major) {
        return "it implements interface " + own.id + " " + theirs.number() + ", this program has " +
               own.number() + "; port it to the new interface (docs/plugin-abi.md)";
    }
    if (theirs.minor > own.minor) {
        return "it needs interface " + own.id + " " + theirs.number() + ", this program has " +
               own.number() + "; use a newer tessera";
    }
    return "";
}

std::string check_claims(const Claims& plugin) {
    const auto text = plugin.values.find("interface");
    if (text == plugin.values.end()) {
        return "its section .tessera.plugin is broken; build it again";
    }
    const Interface theirs(text->second);
    for (const Claims& own : own_claims()) {
        const Interface mine(own.values.at("interface"));
        if (mine.id != theirs.id) {
            continue;
        }
        std::string problem = check_toolchain(plugin, own);
        if (problem.empty()) {
            problem = check_shared(plugin, own);
        }
        return problem.empty() ? check_interface(theirs, mine) : problem;
    }
    return "it holds a component of the unknown kind '" + theirs.id + "'; use a newer tessera";
}

}  // namespace

std::string gate(const std::string& path) {
    const ElfFile file = read_elf(path);
    if (std::string problem = check_file(file); !problem.empty()) {
        return problem;
    }
    const std::vector<Claims> claims = parse(file.record);
    if (claims.empty()) {
        return "its section .tessera.plugin is broken; build it again";
    }
    for (const Claims& one : claims) {
        if (std::string problem = check_claims(one); !problem.empty()) {
            return problem;
        }
    }
    return "";
}

}  // namespace tessera::plugin
