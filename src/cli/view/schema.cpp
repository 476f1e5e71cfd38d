// tessera schema: JSON Schema of the input files, for editors.
//
//   architecture, workload   files that have one of everything
//   heard                    what the readers ask of it
//   Writer                   one definition for each kind of map, "a memory", "a spatial dimension"
//   of_mapping               the kinds of node that the reader of mappings lists
#include <algorithm>
#include <ostream>
#include <set>

#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "io/json_text.hpp"
#include "mapping/read_file.hpp"
#include "spec/outline.hpp"
#include "spec/reader.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/version.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/spec/position.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {

namespace {

using io::Json;
using spec::Shape;

constexpr const char* examples =
    R"(  tessera schema arch > arch.schema.json
  tessera schema workload > workload.schema.json
)";

/// Nodes of each kind; `n` makes their names unique.
std::string nodes(const std::string& n, int branches) {
    static const std::string spatial =
        "spatial: [{name: x, fanout: 2, loop_bounds: [{expression: A, operator: ==, value: 1}]}]";
    static const std::string holds = ", tensors: {}, actions: [{name: read}]";
    const auto node = [&](const char* kind, const std::string& name, const std::string& keys) {
        return std::string("!") + kind + " {name: " + name + n + ", " + spatial + keys + "}";
    };
    const auto memory = [&](const char* name) { return node("Memory", name, ", size: 1" + holds); };
    const auto network = [&](const char* name) {
        return node("Network", name, ", actions: [{name: hop}]");
    };
    std::string text = memory("M") + ", " + network("N") + ", " + node("Container", "C", "") +
                       ", " + node("Toll", "T", ", direction: up" + holds) + ", " +
                       node("Compute", "X", ", operations: {mac: }, actions: [{name: compute}]") +
                       ", " +
                       node("Array", "A", ", nodes: [" + memory("B") + ", " + network("D") + "]");
    for (const char* branch : {"Fork", "Hierarchical"}) {
        if (branches > 0) {
            text +=
                std::string(", !") + branch + " {nodes: [" + nodes(n + branch, branches - 1) + "]}";
        }
    }
    return text;
}

std::string architecture() {
    return "arch: {nodes: [" + nodes("", 2) + "]}";
}

constexpr const char* workload = R"(
workload:
  rank_sizes: {M: 2, N: 2, K: 2}
  bits_per_value: {All: 8}
  einsums:
  - repeat: {variable: i, from: 0, to: 0, body: ["Y[m, n] = A[m, k] * B[k, n]"]}
  - einsum: Z[m, n] = Y[m, n] * C[m, n]
    renames: [{name: input, source: Y, expected_count: 1}]
    tensor_accesses: [{name: C, bits_per_value: 8, backing_storage_size_scale: 1}]
  - name: V
    tensor_accesses:
    - {name: V, projection: {M: m}, output: True}
    - {name: Z, projection: [m, n]}
renames:
  einsums: [{name: default, tensor_accesses: [{name: output, source: Outputs}]}]
)";

/// Runs the readers on a file of ours.
std::map<std::string, spec::OutlinedMap> heard(const std::string& kind) {
    const bool arch = kind == "arch";
    const spec::Outline outline;
    spec::Node root = spec::read_text(arch ? architecture() : workload, kind);
    if (arch) {
        const arch::Architecture read(std::move(root), {}, kind);
    } else {
        spec::check_sections(root);
        const workload::Workload read =
            workload::read_workload(spec::expand_document(std::move(root), {}));
    }
    return outline.maps();
}

/// "a loop bound" -> "loop-bound".
std::string definition_of(const std::string& what) {
    std::string name = what.substr(what.starts_with("a ") ? 2 : what.starts_with("an ") ? 3 : 0);
    std::erase(name, '\'');
    std::replace(name.begin(), name.end(), ' ', '-');
    return name;
}

Json types(const std::vector<std::string>& names) {
    Json result;
    result["type"] = Json(names);
    return result;
}

Json scalar() {
    return types({"number", "string", "boolean"});
}

Json reference(const std::string& name) {
    Json result;
    result["$ref"] = "#/$defs/" + name;
    return result;
}

Json any_of(const std::vector<Json>& choices) {
    if (choices.size() == 1) {
        return choices.front();
    }
    Json result;
    for (const Json& choice : choices) {
        result["anyOf"].push_back(choice);
    }
    return result;
}

Json one_of(const std::vector<std::string>& words) {
    Json result;
    result["enum"] = Json(words);
    return result;
}

Json requiring(const std::vector<std::string>& keys) {
    Json result;
    result["required"] = Json(keys);
    return result;
}

Json list_of(const Json& item) {
    Json result;
    result["type"] = "array";
    result["items"] = item;
    return result;
}

/// What every map may hold beside its keys (tessera/spec/directives.hpp).
void add_directives(Json& properties) {
    properties["include"] = reference("include");
    properties["when"] = scalar();
    properties["repeat"] = any_of({reference("repeat"), list_of(reference("repeat"))});
}

Json map_of(const std::string& title, Json properties, const std::vector<std::string>& required) {
    Json result = types({"object", "null"});
    result["title"] = title;
    result["properties"] = std::move(properties);
    result["additionalProperties"] = false;
    if (!required.empty()) {  // unless they may come from elsewhere
        result["if"] = any_of({requiring({"include"}), requiring({"repeat"})});
        result["else"] = requiring(required);
    }
    return result;
}

class Writer {
public:
    explicit Writer(std::map<std::string, spec::OutlinedMap> maps) : maps_(std::move(maps)) {
        for (const auto& [path, map] : maps_) {
            if (!path.empty()) {
                add_parent(path, map.what);
                spec::OutlinedMap& known = kinds_[map.what];
                known.what = map.what;
                known.keys.insert(map.keys.begin(), map.keys.end());
                if (path.find('.') == std::string::npos) {
                    sections_.insert(map.what);
                }
            }
        }
    }

    Json definitions() const {
        Json result;
        for (const auto& [what, map] : kinds_) {
            result[definition_of(what)] = definition(map);
        }
        return result;
    }

    /// The sections of a file; those that are not described may hold anything.
    Json sections() const {
        Json result;
        for (const auto& [key, of] : maps_.at("").keys) {
            const auto own = maps_.find(key);
            result[key] =
                own == maps_.end() ? Json::object() : reference(definition_of(own->second.what));
        }
        return result;
    }

private:
    struct Children {
        std::set<std::string> one, items;
    };

    /// "arch.nodes[2]" is an item of `nodes` of the map at "arch".
    void add_parent(const std::string& path, const std::string& what) {
        std::string at = path;
        const bool item = at.ends_with(']');
        while (at.ends_with(']')) {
            at.resize(at.rfind('['));
        }
        const std::size_t dot = at.rfind('.');
        const auto parent = maps_.find(dot == std::string::npos ? "" : at.substr(0, dot));
        if (parent != maps_.end()) {
            const std::string key = at.substr(dot == std::string::npos ? 0 : dot + 1);
            Children& children = children_[{parent->second.what, key}];
            (item ? children.items : children.one).insert(what);
        }
    }

    Json definition(const spec::OutlinedMap& map) const {
        Json properties;
        std::vector<std::string> required;
        for (const auto& [key, of] : map.keys) {
            const auto found = children_.find({map.what, key});
            Json value = value_of(of, found == children_.end() ? Children() : found->second);
            if (!of.without_effect.empty()) {
                value["description"] = "no effect: " + of.without_effect;
                value["deprecated"] = true;
            }
            properties[key] = std::move(value);
            if (of.required && !sections_.contains(map.what)) {  // an included file may have it
                required.push_back(key);
            }
        }
        add_directives(properties);
        return map_of(map.what, std::move(properties), required);
    }

    static Json value_of(const spec::OutlinedKey& key, const Children& children) {
        switch (key.shape) {
            case Shape::any:
                return taken_apart(children);
            case Shape::name:
            case Shape::text:
                return types({"string", "number", "boolean"});
            case Shape::choice:
                return one_of(key.choices);
            case Shape::list:
                return key.single ? any_of({scalar(), list(children)})
                                  : any_of({list(children), types({"null"})});
            case Shape::set_map:
                return types({"number", "string", "boolean", "object", "null"});
            default:
                return types({"number", "string", "boolean", "null"});
        }
    }

    /// Its reader decides by what stands there.
    static Json taken_apart(const Children& children) {
        std::vector<Json> choices;
        for (const std::string& what : children.one) {
            choices.push_back(reference(definition_of(what)));
        }
        if (!children.items.empty()) {
            choices.push_back(list(children));
        }
        if (choices.empty()) {
            return Json::object();
        }
        if (children.one.empty()) {
            choices.push_back(types({"number", "string", "boolean", "object", "null"}));
        }
        return any_of(choices);
    }

    static Json list(const Children& children) {
        std::vector<Json> items;
        for (const std::string& what : children.items) {
            items.push_back(reference(definition_of(what)));
        }
        if (items.empty()) {
            return list_of(Json::object());
        }
        items.push_back(reference("directive"));
        items.push_back(types({"string", "array"}));
        return list_of(any_of(items));
    }

    std::map<std::string, spec::OutlinedMap> maps_, kinds_;
    std::set<std::string> sections_;
    std::map<std::pair<std::string, std::string>, Children> children_;
};

void add_directive_definitions(Json& definitions) {
    definitions["include"] = any_of({types({"string"}), list_of(types({"string"}))});
    Json repeat;
    for (const char* key : {"variable", "from", "to"}) {
        repeat[key] = scalar();
    }
    repeat["body"] = Json::object();
    definitions["repeat"] = requiring({"variable", "to", "body"});
    definitions["repeat"]["type"] = "object";
    definitions["repeat"]["properties"] = std::move(repeat);
    definitions["repeat"]["additionalProperties"] = false;
    Json item;
    add_directives(item);
    item["body"] = Json::object();
    definitions["directive"] = {{"title", "include, repeat, or when with a body"},
                                {"type", "object"},
                                {"properties", item},
                                {"minProperties", 1},
                                {"additionalProperties", false}};
}

/// A value for all Einsums, or one for each.
Json by_einsum(const Json& value) {
    Json each = types({"object"});
    each["additionalProperties"] = value;
    return any_of({value, each});
}

Json value_in_mapping(const std::string& key) {
    if (key == "nodes") {
        return list_of(any_of({reference("node"), reference("directive")}));
    }
    if (key == "tensors" || key == "einsums") {
        return any_of({scalar(), list_of(scalar()), types({"object"})});
    }
    if (key == "rank_variable") {
        return any_of({by_einsum(scalar()), list_of(scalar())});
    }
    if (key == "tile_shape" || key == "initial_tile_shape") {
        return by_einsum(scalar());
    }
    return key == "component" || key == "einsum" || key == "name" ? scalar() : Json::object();
}

Json of_mapping() {
    Json definitions;
    std::vector<Json> kinds;
    for (const auto& [kind, keys] : mapping::node_keys()) {
        Json properties;
        for (const std::string& key : keys) {
            properties[key] = value_in_mapping(key);
        }
        add_directives(properties);
        definitions[kind] = map_of(kind, std::move(properties), {});
        kinds.push_back(reference(kind));
    }
    definitions["node"] = any_of(kinds);
    return definitions;
}

Json schema_of(const std::string& kind) {
    Json result = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", "Tessera " TESSERA_VERSION ": " + kind},
                   {"type", "object"}};
    const Writer writer(heard(kind == "arch" ? "arch" : "workload"));
    Json sections = writer.sections();
    Json definitions = writer.definitions();
    if (kind == "mapping") {
        definitions = of_mapping();
        sections["workload"] = sections["renames"] = Json::object();
        Json keys;
        keys["nodes"] = value_in_mapping("nodes");
        keys["title"] = keys["text"] = Json::object();
        sections["mapping"] = any_of({value_in_mapping("nodes"), map_of("mapping", keys, {})});
    }
    add_directive_definitions(definitions);
    sections["include"] = reference("include");
    result["properties"] = std::move(sections);
    result["additionalProperties"] = false;
    result["anyOf"] = any_of({requiring({kind}), requiring({"include"})})["anyOf"];
    result["$defs"] = std::move(definitions);
    return result;
}

}  // namespace

CommandText schema_text() {
    const options::Description result("Options", 100);
    return {"arch|workload|mapping", examples, result};
}

int schema_command(const std::vector<std::string>& args, std::ostream& out, std::ostream&) {
    const CommandText text = schema_text();
    std::vector<std::string> words, rest;
    for (const std::string& word : args) {
        (word.empty() || word[0] != '-' ? words : rest).push_back(word);
    }
    const Arguments arguments("schema", rest, text.options);
    if (arguments.flag("help")) {
        print_help(out, text.examples, text.options);
        return ExitCode::ok;
    }
    static const std::vector<std::string> kinds = {"arch", "workload", "mapping"};
    if (words.size() != 1 || std::find(kinds.begin(), kinds.end(), words[0]) == kinds.end()) {
        throw UserError("tessera schema takes one of " + spec::name_list(kinds) +
                        (words.empty() ? "" : ", not '" + words[0] + "'") +
                        "; see tessera schema --help");
    }
    out << io::dumped(schema_of(words[0]));
    return ExitCode::ok;
}

}  // namespace tessera::cli
