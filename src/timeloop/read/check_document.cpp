#include "tessera/spec/position.hpp"
#include "timeloop/read.hpp"

namespace tessera::timeloop {

namespace {

bool has(const Document& document, const char* key) {
    const spec::Node* node = find_key(document.root, key);
    return node != nullptr && !node->is_null();
}

bool has_any(const Document& document, std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
        if (has(document, key)) {
            return true;
        }
    }
    return false;
}

/// Sections that make sense beside others only, or are Accelergy's.
const char* const other_keys[] = {"mapper",          "mapping",    "mapspace",
                                  "constraints",     "variables",  "mapspace_constraints",
                                  "shape",           "model",      "sparse_optimizations",
                                  "globals",         "components", "compound_components",
                                  "classes",         "layout",     "architecture_constraints",
                                  "arch_constraints"};

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
        read_constraints(document, *problem, *architecture, warnings);
        read.emplace_back("constraints");
        if (has(document, "mapping") && read_mapping(document, *problem, *architecture, warnings)) {
            read.emplace_back("mapping");
        }
    }
    for (const char* key : other_keys) {
        if (read.empty() && has(document, key)) {
            warnings.push_back(document.files.front() + ": '" + key +
                               "' is checked together with a problem and an architecture");
            return {key};
        }
    }
    if (read.empty()) {
        const std::vector<std::string> keys = document.root.keys();
        spec::fail(document.root,
                   {"nothing here is an input of Timeloop's", spec::name_list(keys, 6),
                    "problem, architecture, mapping, mapper, ERT, ART, ...", ""});
    }
    return read;
}

}  // namespace tessera::timeloop
