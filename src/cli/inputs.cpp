#include "cli/inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/data_path.hpp"
#include "io/sha256.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

namespace fs = std::filesystem;

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
        files.push_back({role, one.string(), io::sha256(spec::read_bytes(one.string()))});
    }
}

struct Source {
    const char* role;
    const char* option;
    const char* key;  // of a file of this role
    std::string path;
};

/// \throws UserError if the file is what another option takes
void check_role(const Source& source, const spec::Node& tree) {
    if (!tree.is_map() || tree.find(source.key) != nullptr) {
        return;
    }
    for (const auto& [key, option] :
         {std::pair{"arch", "-a"}, {"workload", "-w"}, {"mapping", "-m"}}) {
        if (tree.find(key) != nullptr) {
            throw UserError(source.path + ": this file has no '" + source.key + ":' but '" + key +
                            ":', so it belongs to " + option + ", not to --" + source.option);
        }
    }
}

/// A name of the other folder in place of one of this.
std::string find_named(const char* folder, const char* option, const std::string& name,
                       const char* other_folder, const char* other_option) {
    const auto among = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    std::error_code ignored;
    if (!fs::exists(name, ignored) && !among(list_data(folder)) && among(list_data(other_folder))) {
        throw UserError("'" + name + "' is a name in " + other_folder + "/, so it belongs to " +
                        other_option + ", not to " + option + "; are the two swapped?");
    }
    return find_data(folder, name).string();
}

}  // namespace

Inputs::Inputs(const Arguments& arguments, arch::Compat compat_mode) : compat(compat_mode) {
    std::vector<Source> sources;
    if (arguments.has("arch")) {
        sources.push_back(
            {"architecture", "arch", "arch",
             find_named("arch-specs", "-a", arguments.text("arch"), "problem-shapes", "-w")});
    }
    if (arguments.has("workload")) {
        sources.push_back(
            {"workload", "workload", "workload",
             find_named("problem-shapes", "-w", arguments.text("workload"), "arch-specs", "-a")});
    }
    if (arguments.has("mapping")) {
        sources.push_back({"mapping", "mapping", "mapping", arguments.text("mapping")});
    }
    const spec::Defines defines = arguments.defines();
    std::vector<std::string> declared;
    for (const Source& source : sources) {
        const spec::Node tree = spec::load_tree(source.path);
        check_role(source, tree);
        for (const std::string& name : spec::declared_variables(tree)) {
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
