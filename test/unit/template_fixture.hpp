// Templates of a hand-built path as text.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>

#include "template_path.hpp"
#include "tessera/mapspace/template.hpp"

namespace template_test {

using namespace tessera;
using mapping::NodeKind;
using mapspace::MapSpaceOptions;
using mapspace::Template;

inline std::vector<Template> templates(
    const Path& path, const MapSpaceOptions& options = MapSpaceOptions::accelforge()) {
    std::vector<Template> found;
    const std::size_t n = mapspace::enumerate_templates(
        path, options, [&](Template&& tmpl) { found.push_back(std::move(tmpl)); });
    BOOST_TEST(n == found.size());
    return found;
}

/// "DRAM:T0 | m n0* | GLB:T0 | S.n1"; `*` marks an unknown tile shape.
inline std::string text(const Path& path, const Template& tmpl) {
    std::string result;
    for (const mapping::PmappingNode& node : tmpl.nodes) {
        result += result.empty() ? "" : " ";
        if (node.tensor >= 0) {
            result += path.levels[node.level].name + ":" + path.einsum.tensors[node.tensor].name;
        } else if (node.rank_variable >= 0) {
            result += node.kind == NodeKind::spatial
                          ? path.levels[node.level].spatial[node.dim].name + "."
                          : "";
            result +=
                path.einsum.rank_variables[node.rank_variable].name + (node.symbol >= 0 ? "*" : "");
        }
    }
    return result.substr(0, result.find_last_not_of(' ') + 1);
}

inline std::set<std::string> texts(const Path& path,
                                   const MapSpaceOptions& options = MapSpaceOptions::accelforge()) {
    std::set<std::string> result;
    for (const Template& tmpl : templates(path, options)) {
        result.insert(text(path, tmpl));
    }
    return result;
}

inline std::string infeasible(const Path& path,
                              const MapSpaceOptions& options = MapSpaceOptions::accelforge()) {
    try {
        templates(path, options);
    } catch (const NoLegalMapping& error) {
        return error.what();
    }
    return "";
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

inline std::size_t loops(const Template& tmpl, NodeKind kind) {
    return std::count_if(tmpl.nodes.begin(), tmpl.nodes.end(),
                         [&](const auto& node) { return node.kind == kind; });
}

/// DRAM keeps all, GLB what `may_keep` says.
inline PathBuilder two_levels(PathBuilder builder, const std::string& may_keep) {
    builder.memory("DRAM").keep = set("All");
    builder.memory("GLB").may_keep = set(may_keep);
    builder.finish();
    return builder;
}

}  // namespace template_test
