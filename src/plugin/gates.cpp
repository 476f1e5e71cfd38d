#include "plugin/gates.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <vector>

#include "plugin/elf_file.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::plugin {

namespace {

/// One component's record (record.hpp): its lines up to the last blank, and what follows that.
using Claims = std::map<std::string, std::string>;

std::vector<Claims> parse(std::string record) {
    std::replace(record.begin(), record.end(), '\0', '\n');
    std::vector<Claims> all;
    std::istringstream lines(record);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t blank = line.rfind(' ');
        if (line.rfind("tessera-plugin ", 0) == 0) {
            all.emplace_back();
        }
        if (blank != std::string::npos && !all.empty()) {
            all.back()[line.substr(0, blank)] = line.substr(blank + 1);
        }
    }
    return all;
}

/// Of a claim that is missing: nothing.
std::string value_of(const Claims& claims, const std::string& key) {
    const auto found = claims.find(key);
    return found == claims.end() ? "" : found->second;
}

const std::vector<Claims>& own_claims() {
    static constexpr std::array<char, Record::size> records[] = {
        make_record<Contract<model::CostModel>>(""),
        make_record<Contract<search::SearchStrategy>>(""),
        make_record<Contract<mapper::Mapper>>("")};
    static const std::vector<Claims> claims = parse(std::string(records[0].data(), sizeof records));
    return claims;
}

bool ours(const std::string& symbol) {
    // Older linkers export the ends of the sections of every shared object.
    static constexpr std::string_view known[] = {
        TESSERA_PLUGIN_ENTRY, "_init", "_fini", "_edata", "_end", "__bss_start"};
    return std::find(std::begin(known), std::end(known), symbol) != std::end(known);
}

std::string check_file(const ElfFile& file) {
    if (!file.problem.empty()) {
        return file.problem;
    }
    if (!file.record) {
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
        {"standard-library", "with the C++ standard library "},
        {"strings", "with "},
        {"instrumentation", "with instrumentation "}};
    for (const auto& [key, with] : tags) {
        const std::string found = value_of(plugin, key), wanted = value_of(own, key);
        if (found != wanted) {
            return std::string("it is built ") + with + (found.empty() ? "none" : found) +
                   ", this program " + with + wanted +
                   (std::string(key) == "strings"
                        ? "; compile it without -D_GLIBCXX_USE_CXX11_ABI=0"
                        : "; build both with the same compiler settings");
        }
    }
    return "";
}

/// The first claim of this kind ("header") that the plugin lacks or has another value for, without
/// its kind; empty: there is none.
std::string differing(const std::string& kind, const Claims& plugin, const Claims& own) {
    for (const auto& [key, value] : own) {
        if (key.rfind(kind + " ", 0) == 0 && value_of(plugin, key) != value) {
            return key.substr(kind.size() + 1);
        }
    }
    return "";
}

std::string check_shared(const Claims& plugin, const Claims& own) {
    const std::string built = value_of(plugin, "built-for");
    const std::string versions = " (it is built for tessera " + (built.empty() ? "?" : built) +
                                 ", this is tessera " + version + "); ";
    if (const std::string header = differing("header", plugin, own); !header.empty()) {
        return "header " + header + " differs" + versions +
               "rebuild it with the headers of this program";
    }
    if (const std::string type = differing("size", plugin, own); !type.empty()) {
        return "type " + type + " has another size" + versions +
               "build both with the same compiler settings";
    }
    return "";
}

std::string check_interface(const std::string& id, const std::string& theirs,
                            const std::string& own) {
    unsigned major = 0, minor = 0, own_major = 0, own_minor = 0;
    std::sscanf(theirs.c_str(), "%u.%u", &major, &minor);
    std::sscanf(own.c_str(), "%u.%u", &own_major, &own_minor);
    if (major != own_major) {
        return "it implements interface " + id + " " + theirs + ", this program has " + own +
               "; port it to the new interface (docs/plugin-abi.md)";
    }
    if (minor > own_minor) {
        return "it needs interface " + id + " " + theirs + ", this program has " + own +
               "; use a newer tessera";
    }
    return "";
}

std::string check_claims(const Claims& plugin) {
    const auto interface = plugin.lower_bound("interface ");
    if (interface == plugin.end() || interface->first.rfind("interface ", 0) != 0) {
        return "its section .tessera.plugin is broken; build it again";
    }
    const auto& [key, theirs] = *interface;
    const std::string id = key.substr(key.find(' ') + 1);
    for (const Claims& own : own_claims()) {
        if (own.count(key) == 0) {
            continue;
        }
        std::string problem = check_toolchain(plugin, own);
        if (problem.empty()) {
            problem = check_shared(plugin, own);
        }
        return problem.empty() ? check_interface(id, theirs, own.at(key)) : problem;
    }
    return "it holds a component of the unknown kind '" + id + "'; use a newer tessera";
}

}  // namespace

std::string gate(const std::string& path) {
    const ElfFile file = read_elf(path);
    if (std::string problem = check_file(file); !problem.empty()) {
        return problem;
    }
    const std::vector<Claims> claims = parse(*file.record);
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
