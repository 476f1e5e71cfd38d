#include <algorithm>

#include "tessera/spec/position.hpp"
#include "timeloop/model/machine.hpp"
#include "timeloop/read.hpp"
#include "values.hpp"

namespace tessera::timeloop {

namespace {

bool has(const Document& document, const char* key) {
    const spec::Node* node = find_key(document.root, key);
    return node != nullptr && !node->is_null();
}

bool has_any(const Document& document, Keys keys) {
    return std::any_of(keys.begin(), keys.end(),
                       [&](const char* key) { return has(document, key); });
}

/// What a document without a problem or an architecture cannot be checked for. \return whether
/// there is any such section
bool warn_unchecked(const Document& document, const std::vector<std::string>& read,
                    Warnings& warnings) {
    // The last two lines hold nothing by themselves.
    const std::vector<const char*> keys = {"mapper",
                                           "mapping",
                                           "mapspace",
                                           "mapspace_constraints",
                                           "architecture_constraints",
                                           "arch_constraints",
                                           "constraints",
                                           "variables",
                                           "shape",
                                           "globals",
                                           "components",
                                           "classes",
                                           "compound_components",
                                           "sparse_optimizations",
                                           "layout"};
    const std::size_t sections = read.empty() ? keys.size() : 7;
    bool found = false;
    for (std::size_t k = 0; k < sections; ++k) {
        const char* const key = keys[k];
        const bool of_nodes = document.from_nodes && std::string(key) == "architecture_constraints";
        if (!of_nodes && has(document, key) &&
            std::find(read.begin(), read.end(), key) == read.end()) {
            found = true;
            warnings.push_back(document.files.front() + ": '" + key +
                               "' is checked together with a problem and an architecture");
        }
    }
    return found;
}

}  // namespace

std::vector<std::string> check_document(const Document& document, Warnings& warnings) {
    std::vector<std::string> read;
    std::optional<Problem> problem;
    std::optional<Architecture> architecture;
    if (has(document, "problem")) {
        problem = read_problem(document, warnings);
        read.emplace_back("problem");
    }
    if (has_any(document, {"arch", "architecture"})) {
        architecture = read_architecture(document, warnings);
        read.emplace_back("architecture");
    }
    if (read_ert(document, warnings)) {
        read.emplace_back("ERT");
    }
    if (read_art(document, warnings)) {
        read.emplace_back("ART");
    }
    if (architecture && has(document, "mapper")) {
        read_mapper_settings(document, *architecture, warnings);
        read.emplace_back("mapper");
    }
    if (architecture && problem) {
        with_place(architecture_of(document.root)->position,
                   [&] { Machine(*problem, *architecture, {}); });
        if (read_sparse(document, *problem, *architecture, warnings)) {
            read.emplace_back("sparse_optimizations");
        }
        const Constraints found = read_constraints(document, *problem, *architecture, warnings);
        if (!found.loops.empty() || !found.bypasses.empty() || !found.parallelism.empty()) {
            read.emplace_back("constraints");
        }
        if (has(document, "mapping") && read_mapping(document, *problem, *architecture, warnings)) {
            read.emplace_back("mapping");
        }
    }
    if (has(document, "model")) {
        read_model_settings(document, warnings);
        read.emplace_back("model");
    }
    const bool unchecked = (!architecture || !problem) && warn_unchecked(document, read, warnings);
    if (read.empty() && !unchecked) {
        const std::vector<std::string> keys = document.root.keys();
        spec::fail(document.root,
                   {"nothing here is an input of Timeloop's", spec::name_list(keys, 6),
                    "problem, architecture, mapping, mapper, ERT, ART, ...", ""});
    }
    return read;
}

}  // namespace tessera::timeloop
