#include "api/inputs.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/data_path.hpp"
#include "base/directory.hpp"
#include "mapping/read_file.hpp"
#include "mapping/zigzag.hpp"
#include "spec/kept_files.hpp"
#include "spec/warnings.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/customary_renames.hpp"
#include "workload/select.hpp"

namespace tessera::api {

namespace {

namespace fs = std::filesystem;

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
    if (spec::kept_text(name)) {
        return name;
    }
    std::error_code ignored;
    if (!fs::exists(name, ignored) && !among(list_data(folder)) && among(list_data(other_folder))) {
        throw UserError("'" + name + "' is a name in " + other_folder + "/, so it belongs to " +
                        other_option + ", not to " + option + "; are the two swapped?");
    }
    return find_data(folder, name).string();
}

std::vector<Source> sources_of(const InputNames& names) {
    std::vector<Source> sources;
    if (!names.architecture.empty()) {
        sources.push_back(
            {"architecture", "arch", "arch",
             find_named("arch-specs", "-a", names.architecture, "problem-shapes", "-w")});
    }
    if (!names.workload.empty()) {
        sources.push_back({"workload", "workload", "workload",
                           find_named("problem-shapes", "-w", names.workload, "arch-specs", "-a")});
    }
    if (!names.mapping.empty()) {
        sources.push_back({"mapping", "mapping", "mapping", names.mapping});
    }
    return sources;
}

/// Whether a text below the node names one of the customary sets, as in `keep: input | output`.
bool asks_for_customary_names(const spec::Node& node) {
    std::string word;
    for (const char c : node.text + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
            word += c;
            continue;
        }
        const std::vector<std::string>& names = workload::customary_names();
        if (std::find(names.begin(), names.end(), word) != names.end()) {
            return true;
        }
        word.clear();
    }
    return std::any_of(node.items.begin(), node.items.end(), asks_for_customary_names) ||
           std::any_of(node.entries.begin(), node.entries.end(),
                       [](const auto& entry) { return asks_for_customary_names(entry.value); });
}

/// What the file says if it is another tool's.
std::optional<std::string> foreign_text(const std::string& path) {
    std::error_code ignored;
    std::optional<std::string> text = spec::kept_text(path);
    if (!text && fs::is_regular_file(path, ignored)) {
        text = base::read_regular_file(path);
    }
    return text && mapping::is_zigzag(*text) ? text : std::nullopt;
}

}  // namespace

mapping::Mapping given_mapping(const std::string& path, const spec::Defines& defines,
                               const workload::Workload& workload,
                               const arch::Architecture& architecture) {
    const std::optional<std::string> foreign = foreign_text(path);
    return foreign ? mapping::from_zigzag(*foreign, path, workload, architecture)
                   : mapping::load_mapping(path, defines);
}

std::vector<ReadInput> read_inputs(const InputNames& names) {
    std::vector<ReadInput> result;
    for (const Source& source : sources_of(names)) {
        spec::Node tree = spec::load_tree(source.path);
        check_role(source, tree);
        result.push_back({{source.role, source.path}, std::move(tree)});
    }
    return result;
}

workload::Workload read_workload(spec::Node tree, const spec::Defines& defines,
                                 const std::string& name) {
    spec::check_sections(tree);
    const spec::Document document = spec::expand_document(std::move(tree), defines);
    workload::Workload workload = workload::read_workload(document);
    workload.name = name;
    return workload;
}

namespace {

/// \throws UserError also for a value of a file that is not given
void apply_settings(std::vector<ReadInput>& read, const std::vector<spec::Setting>& settings) {
    for (const spec::Setting& setting : settings) {
        const std::string role = spec::section_of(setting) == "arch" ? "architecture" : "workload";
        const auto file = std::ranges::find_if(
            read, [&](const ReadInput& one) { return one.input.role == role; });
        if (file == read.end()) {
            throw UserError("--set " + setting.path + ": there is no " + role +
                            " to set it in; give one with " + (role == "workload" ? "-w" : "-a"));
        }
        spec::assign_paths(file->tree);
        spec::apply(file->tree, setting);
    }
}

/// What the architecture asks for, and which variables the files declare.
struct Asked {
    std::vector<std::string> declared;
    bool customary_names = false;
};

Asked asked_by(const std::vector<ReadInput>& read) {
    Asked result;
    for (const auto& [source, tree] : read) {
        const spec::Node* const arch =
            source.role == "architecture" && tree.is_map() ? tree.find("arch") : nullptr;
        result.customary_names =
            result.customary_names || (arch != nullptr && asks_for_customary_names(*arch));
        for (const std::string& name : spec::declared_variables(tree)) {
            result.declared.push_back(name);
        }
    }
    return result;
}

/// \throws UserError for values of an Einsum that the workload has not
void check_per_einsum(const std::vector<ReadInput>& read, const workload::Workload& workload) {
    std::vector<std::string> known;
    for (const workload::Einsum& einsum : workload.einsums) {
        known.push_back(einsum.name);
    }
    for (const auto& [source, tree] : read) {
        const spec::Node* const given = tree.is_map() ? tree.find("per_einsum") : nullptr;
        for (const std::string& name :
             given != nullptr ? given->keys() : std::vector<std::string>()) {
            if (std::find(known.begin(), known.end(), name) == known.end()) {
                spec::fail(given->find_entry(name)->key_position, "per_einsum",
                           {"the workload has no Einsum of this name", name, spec::name_list(known),
                            spec::did_you_mean(name, known)});
            }
        }
    }
}

Inputs loaded(const InputNames& names) {
    const std::optional<std::string> foreign = foreign_text(names.mapping);
    InputNames own = names;
    own.mapping = foreign ? "" : names.mapping;
    Inputs result = made_inputs(read_inputs(own), names);
    if (foreign) {
        if (!result.workload || !result.architecture) {
            throw UserError(
                names.mapping +
                ": a mapping of ZigZag needs the workload and the architecture: -w, -a");
        }
        result.files.push_back({"mapping", names.mapping});
        result.mapping.emplace(
            mapping::from_zigzag(*foreign, names.mapping, *result.workload, *result.architecture));
    }
    return result;
}

}  // namespace

Inputs made_inputs(std::vector<ReadInput> read, const InputNames& names) {
    apply_settings(read, names.settings);
    const Asked asked = asked_by(read);
    spec::check_defines(names.defines, asked.declared);
    Inputs result;
    for (auto& [source, tree] : read) {
        const std::string name = fs::path(source.path).stem().string();
        if (source.role == "architecture") {
            result.architecture.emplace(tree, names.defines, name);
        } else if (source.role == "workload") {
            result.workload = read_workload(std::move(tree), names.defines, name);
        } else {
            result.mapping.emplace(mapping::mapping_of(std::move(tree), names.defines));
        }
        result.files.push_back(source);
    }
    if (result.workload) {
        check_per_einsum(read, *result.workload);
    }
    if (result.workload && asked.customary_names && names.customary_renames) {
        result.guessed_roles = workload::add_customary_renames(*result.workload);
    }
    if (result.workload && !names.einsums.empty()) {
        result.workload = workload::selected(*result.workload, names.einsums);
    }
    return result;
}

Inputs load_inputs(const InputNames& names) {
    const spec::HeardWarnings heard;
    Inputs result = loaded(names);
    result.warnings = heard.lines();
    return result;
}

}  // namespace tessera::api
