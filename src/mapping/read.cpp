// Mapping YAML -> LoopTree.
//
//   load_mapping    finds the section in a file
//   read_mapping    the section's list of nodes
//   read_node       one node: its tag decides which keys are allowed
//   read_loop       rank_variable and tile_shape, one for all Einsums or one for each
#include <algorithm>

#include "mapping/read_file.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/spec/expression.hpp"
#include "tessera/spec/node.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::mapping {

namespace {

using spec::Node;

struct Tag {
    const char* name;
    TreeKind kind;
    std::vector<std::string> keys;
};

// `binding`, `resource`, `purposes` and `text` are what the AccelForge mapper writes for itself and
// for drawings; they are accepted and have no effect.
const std::vector<Tag>& tags() {
    static const std::vector<Tag> all = {
        {"!Storage",
         TreeKind::storage,
         {"tensors", "component", "persistent", "einsums", "lower", "line_buffer", "binding",
          "text"}},
        {"!Toll",
         TreeKind::toll,
         {"tensors", "component", "persistent", "einsums", "lower", "text"}},
        {"!Temporal",
         TreeKind::temporal,
         {"rank_variable", "tile_shape", "initial_tile_shape", "n_iterations", "text"}},
        {"!Spatial",
         TreeKind::spatial,
         {"rank_variable", "tile_shape", "initial_tile_shape", "name", "component", "text"}},
        {"!Sequential", TreeKind::sequential, {"nodes", "text"}},
        {"!Pipeline", TreeKind::pipeline, {"nodes", "text"}},
        {"!Nested", TreeKind::nested, {"nodes", "text"}},
        {"!Compute", TreeKind::compute, {"einsum", "component", "text"}},
        {"!Reservation",
         TreeKind::reservation,
         {"purposes", "resource", "purpose", "persistent", "text"}},
    };
    return all;
}

std::vector<std::string> tag_names() {
    std::vector<std::string> names;
    for (const Tag& tag : tags()) {
        names.push_back(tag.name);
    }
    return names;
}

const Tag& tag_of(const Node& node) {
    for (const Tag& tag : tags()) {
        if (node.tag == tag.name) {
            return tag;
        }
    }
    if (node.tag.empty()) {
        spec::fail(node,
                   {.what = "this mapping node has no tag",
                    .value = node.brief(),
                    .expected = "one of " + spec::name_list(tag_names()),
                    .remedy = "write for example !Storage {tensors: [A], component: MainMemory}"});
    }
    spec::fail(node, {.what = "unknown kind of mapping node",
                      .value = node.tag,
                      .expected = "one of " + spec::name_list(tag_names()),
                      .remedy = spec::did_you_mean(node.tag, tag_names())});
}

void check_keys(const Node& node, const Tag& tag) {
    if (!node.is_map()) {
        spec::fail(node, {.what = std::string(tag.name) + " needs a map of keys",
                          .value = node.brief(),
                          .expected = spec::name_list(tag.keys)});
    }
    for (const Node::Entry& entry : node.entries) {
        if (std::find(tag.keys.begin(), tag.keys.end(), entry.key) == tag.keys.end()) {
            spec::fail(entry.key_position, node.path,
                       {.what = std::string("unknown key of ") + tag.name,
                        .value = entry.key,
                        .expected = "one of " + spec::name_list(tag.keys),
                        .remedy = spec::did_you_mean(entry.key, tag.keys)});
        }
    }
}

const Node& required(const Node& node, const char* key, const Tag& tag) {
    const Node* value = node.find(key);
    if (value == nullptr || value->is_null()) {
        spec::fail(node, {.what = std::string(tag.name) + " lacks the key '" + key + "'"});
    }
    return *value;
}

std::string text_of(const Node& value, const char* expected) {
    if (!value.is_scalar() || value.text.empty()) {
        spec::fail(value, {.what = "wrong type", .value = value.brief(), .expected = expected});
    }
    return value.text;
}

std::vector<std::string> names_of(const Node& value, const char* expected) {
    std::vector<std::string> names;
    if (value.is_sequence()) {
        for (const Node& item : value.items) {
            names.push_back(text_of(item, expected));
        }
    } else if (value.is_map()) {
        // A YAML set ("? a") is a map whose values are empty.
        for (const Node::Entry& entry : value.entries) {
            if (!entry.value.is_null()) {
                spec::fail(
                    entry.value,
                    {.what = "wrong type", .value = entry.value.brief(), .expected = expected});
            }
            names.push_back(entry.key);
        }
    } else {
        names.push_back(text_of(value, expected));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (std::find(names.begin(), names.begin() + i, names[i]) != names.begin() + i) {
            spec::fail(value, {.what = "the same name stands here twice", .value = names[i]});
        }
    }
    return names;
}

bool truth_of(const Node& value, const spec::Symbols& symbols) {
    return spec::Expression::parse(value).truth(symbols);
}

std::int64_t tile_of(const Node& value, const spec::Symbols& symbols) {
    if (!value.is_scalar()) {
        spec::fail(value, {.what = "wrong type", .value = value.brief(), .expected = "an integer"});
    }
    const std::int64_t tile = spec::Expression::parse(value).integer(symbols);
    if (tile < 1) {
        spec::fail(value, {.what = "a tile shape must be positive",
                           .value = value.text,
                           .expected = "an integer of 1 or more"});
    }
    return tile;
}

bool is_set(const Node& value) {
    return value.is_map() && !value.entries.empty() &&
           std::all_of(value.entries.begin(), value.entries.end(),
                       [](const Node::Entry& entry) { return entry.value.is_null(); });
}

// `rank_variable: {K: m, QK: p}` and/or `tile_shape: {K: 4, QK: 2}`.
void read_uses(const Node& variable, const Node& tile, const spec::Symbols& symbols,
               TreeNode& loop) {
    const Node& first = variable.is_map() ? variable : tile;
    if (first.entries.empty()) {
        spec::fail(first, {.what = "the loop has no rank variable"});
    }
    for (const Node::Entry& entry : first.entries) {
        LoopUse use;
        use.einsum = entry.key;
        for (const Node* part : {&variable, &tile}) {
            const Node* own = part->is_map() ? part->find(entry.key) : part;
            if (own == nullptr ||
                (part->is_map() && part->entries.size() != first.entries.size())) {
                spec::fail(*part,
                           {.what = "rank_variable and tile_shape must name the same Einsums",
                            .value = entry.key});
            }
            if (part == &variable) {
                use.rank_variable = text_of(*own, "the name of a rank variable");
            } else {
                use.tile_shape = tile_of(*own, symbols);
            }
        }
        if (std::find(loop.rank_variables.begin(), loop.rank_variables.end(), use.rank_variable) ==
            loop.rank_variables.end()) {
            loop.rank_variables.push_back(use.rank_variable);
        }
        loop.uses.push_back(std::move(use));
    }
    loop.tile_shape = loop.uses.front().tile_shape;
}

// `initial_tile_shape: {A: 9, B: 7}, n_iterations: 4`: the loop has a prologue in A. A plain number
// must be the tile shape.
void read_initial(const Node& node, const Node& initial, const spec::Symbols& symbols,
                  TreeNode& loop) {
    const Node* iterations = node.find("n_iterations");
    if (!initial.is_map()) {
        const std::int64_t first = tile_of(initial, symbols);
        if (first == loop.tile_shape && loop.uses.empty()) {
            return;
        }
        spec::fail(initial,
                   {.what = "a first tile of another size belongs to single Einsums",
                    .value = initial.text,
                    .remedy = "write rank_variable and initial_tile_shape by Einsum: "
                              "initial_tile_shape: {Producer: 9, Reader: 7}, n_iterations: 4"});
    }
    for (const Node::Entry& entry : initial.entries) {
        const auto use = std::find_if(loop.uses.begin(), loop.uses.end(),
                                      [&](const LoopUse& u) { return u.einsum == entry.key; });
        if (use == loop.uses.end()) {
            spec::fail(entry.key_position, initial.path,
                       {.what = "initial_tile_shape names an Einsum that rank_variable does not",
                        .value = entry.key,
                        .remedy = "write rank_variable: {" + entry.key + ": ..., ...}"});
        }
        const std::int64_t first = tile_of(entry.value, symbols);
        if (first < use->tile_shape) {
            spec::fail(entry.value, {.what = "the first tile is smaller than the others",
                                     .value = entry.value.text,
                                     .expected = std::to_string(use->tile_shape) + " or more"});
        }
        use->initial_tile_shape = first;
    }
    if (iterations == nullptr || node.tag != "!Temporal") {
        spec::fail(initial, {.what = "a loop with an initial tile shape needs its number of "
                                     "iterations, and must be temporal",
                             .remedy = "add n_iterations: the iterations of the readers"});
    }
    loop.n_iterations = tile_of(*iterations, symbols);
}

void read_loop(const Node& node, const Tag& tag, const spec::Symbols& symbols, TreeNode& loop) {
    const Node& variable = required(node, "rank_variable", tag);
    const Node& tile = required(node, "tile_shape", tag);
    if ((variable.is_map() && !is_set(variable)) || (tile.is_map() && !tile.entries.empty())) {
        read_uses(variable, tile, symbols, loop);
    } else {
        loop.rank_variables = names_of(variable, "a rank variable or a list of them");
        loop.tile_shape = tile_of(tile, symbols);
        if (loop.rank_variables.empty()) {
            spec::fail(variable, {.what = "the loop has no rank variable"});
        }
    }
    const Node* const iterations = node.find("n_iterations");
    if (const Node* initial = node.find("initial_tile_shape");
        initial != nullptr && !initial->is_null()) {
        read_initial(node, *initial, symbols, loop);
    } else if (iterations != nullptr && !iterations->is_null()) {
        spec::fail(*iterations, {.what = "n_iterations belongs to a loop with initial_tile_shape",
                                 .value = iterations->brief(),
                                 .remedy = "remove it: other loops run as often as tiles fit"});
    }
}

void read_nodes(const Node& list, const spec::Symbols& symbols, std::vector<TreeNode>& nodes);

TreeNode read_node(const Node& node, const spec::Symbols& symbols) {
    const Tag& tag = tag_of(node);
    check_keys(node, tag);
    TreeNode result;
    result.kind = tag.kind;
    result.where = node.position;
    switch (tag.kind) {
        case TreeKind::storage:
        case TreeKind::toll:
            result.tensors = names_of(required(node, "tensors", tag), "a list of tensor names");
            result.component = text_of(required(node, "component", tag), "the name of a component");
            if (const Node* value = node.find("persistent")) {
                result.persistent = truth_of(*value, symbols);
            }
            if (const Node* value = node.find("lower")) {
                result.lower = truth_of(*value, symbols);
            }
            if (const Node* value = node.find("line_buffer")) {
                result.line_buffer = truth_of(*value, symbols);
            }
            if (const Node* value = node.find("einsums")) {
                result.einsums = names_of(*value, "a list of Einsum names");
            }
            break;
        case TreeKind::spatial:
            result.component = text_of(required(node, "component", tag), "the name of a component");
            result.dim = text_of(required(node, "name", tag), "the name of a spatial dimension");
            read_loop(node, tag, symbols, result);
            break;
        case TreeKind::temporal:
            read_loop(node, tag, symbols, result);
            break;
        case TreeKind::compute:
            result.einsum = text_of(required(node, "einsum", tag), "the name of an Einsum");
            result.component = text_of(required(node, "component", tag), "the name of a compute");
            break;
        case TreeKind::sequential:
        case TreeKind::pipeline:
        case TreeKind::nested:
            read_nodes(required(node, "nodes", tag), symbols, result.children);
            break;
        case TreeKind::reservation:
            break;  // reservations are computed, whatever the file says
    }
    return result;
}

void read_nodes(const Node& list, const spec::Symbols& symbols, std::vector<TreeNode>& nodes) {
    if (!list.is_sequence()) {
        spec::fail(
            list,
            {.what = "wrong type", .value = list.brief(), .expected = "a list of mapping nodes"});
    }
    for (const Node& item : list.items) {
        TreeNode node = read_node(item, symbols);
        if (node.kind != TreeKind::reservation) {
            nodes.push_back(std::move(node));
        }
    }
}

}  // namespace

std::map<std::string, std::vector<std::string>> node_keys() {
    std::map<std::string, std::vector<std::string>> result;
    for (const Tag& tag : tags()) {
        result[tag.name + 1] = tag.keys;
    }
    return result;
}

Mapping read_mapping(const spec::Node& node, const spec::Symbols& symbols) {
    const Node* list = &node;
    if (node.is_map()) {
        for (const Node::Entry& entry : node.entries) {
            if (entry.key != "nodes" && entry.key != "title" && entry.key != "text") {
                spec::fail(entry.key_position, node.path,
                           {.what = "unknown key of the mapping",
                            .value = entry.key,
                            .expected = "nodes",
                            .remedy = spec::did_you_mean(entry.key, {"nodes", "title"})});
            }
        }
        list = node.find("nodes");
        if (list == nullptr) {
            spec::fail(node, {.what = "the mapping lacks the key 'nodes'"});
        }
    }
    Mapping mapping;
    mapping.root.kind = TreeKind::nested;
    mapping.root.where = node.position;
    read_nodes(*list, symbols, mapping.root.children);
    check_structure(mapping);
    return mapping;
}

Mapping load_mapping(const std::string& path, const spec::Defines& defines) {
    return mapping_of(spec::load_tree(path), defines);
}

Mapping mapping_of(spec::Node tree, const spec::Defines& defines) {
    if (tree.find("mapping") != nullptr) {  // else read_mapping() says what there is
        spec::check_sections(tree);
    }
    return read_mapping(spec::expand_document(std::move(tree), defines));
}

Mapping read_mapping(const spec::Node& node) {
    return read_mapping(node, spec::Symbols());
}

Mapping read_mapping(const spec::Document& document) {
    const Node* section = document.root.find("mapping");
    if (section == nullptr) {
        const std::vector<std::string> keys = document.root.keys();
        const auto meant = std::find_if(keys.begin(), keys.end(), [](const std::string& key) {
            return !spec::did_you_mean(key, {"mapping"}).empty();
        });
        spec::fail(document.root,
                   {.what = "the file has no section 'mapping'",
                    .expected = "the key 'mapping' among " + spec::name_list(keys),
                    .remedy = meant == keys.end()
                                  ? "give a file with 'mapping: {nodes: [...]}'"
                                  : "did you mean 'mapping' instead of '" + *meant + "'?"});
    }
    return read_mapping(*section, document.variables);
}

}  // namespace tessera::mapping
