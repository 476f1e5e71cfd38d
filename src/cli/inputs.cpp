#include "cli/inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "io/sha256.hpp"
#include "tessera/base/data_path.hpp"
#include "tessera/spec/reader.hpp"

namespace tessera::cli {

namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// Every file that `include` reaches from a tree, in order of appearance.
void included(const spec::Node& node, const fs::path& folder, std::vector<fs::path>& found) {
    for (const spec::Node& item : node.items) {
        included(item, folder, found);
    }
    for (const spec::Node::Entry& entry : node.entries) {
        if (entry.key != "include") {
            included(entry.value, folder, found);
            continue;
        }
        std::vector<spec::Node> names = entry.value.items;
        if (entry.value.is_scalar()) {
            names.push_back(entry.value);
        }
        for (const spec::Node& name : names) {
            const fs::path path = (folder / name.text).lexically_normal();
            std::error_code ignored;
            if (fs::is_regular_file(path, ignored) &&
                std::find(found.begin(), found.end(), path) == found.end()) {
                found.push_back(path);
                included(spec::read_file(path.string()), path.parent_path(), found);
            }
        }
    }
}

void record(const std::string& role, const fs::path& path, std::vector<InputFile>& files) {
    std::vector<fs::path> all = {path};
    included(spec::read_file(path.string()), path.parent_path(), all);
    for (const fs::path& one : all) {
        files.push_back({role, one.string(), io::sha256(content(one))});
    }
}

}  // namespace

Inputs::Inputs(const Arguments& arguments, arch::Compat compat_mode) : compat(compat_mode) {
    struct Source {
        const char* role;
        const char* option;
        std::string path;
    };
    std::vector<Source> sources;
    if (arguments.has("arch")) {
        sources.push_back(
            {"architecture", "arch", find_data("arch-specs", arguments.text("arch")).string()});
    }
    if (arguments.has("workload")) {
        sources.push_back({"workload", "workload",
                           find_data("problem-shapes", arguments.text("workload")).string()});
    }
    if (arguments.has("mapping")) {
        sources.push_back({"mapping", "mapping", arguments.text("mapping")});
    }
    const spec::Defines defines = arguments.defines();
    std::vector<std::string> declared;
    for (const Source& source : sources) {
        for (const std::string& name : spec::declared_variables(spec::load_tree(source.path))) {
            declared.push_back(name);
        }
    }
    spec::check_defines(defines, declared);
    for (const Source& source : sources) {
        if (source.option == std::string("arch")) {
            architecture.emplace(arch::load_architecture(source.path, defines));
        } else if (source.option == std::string("workload")) {
            workload.emplace(workload::load_workload(source.path, defines));
        } else {
            mapping.emplace(mapping::load_mapping(source.path, defines));
        }
        record(source.role, source.path, files);
    }
}

}  // namespace tessera::cli
