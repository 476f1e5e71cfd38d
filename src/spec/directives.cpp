// Includes are merged first (they may bring variables), then variables are bound, then repeat and
// when are carried out from the top down.

#include "tessera/spec/directives.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/reading_stop.hpp"
#include "spec/fields.hpp"
#include "spec/kept_files.hpp"
#include "spec/limits.hpp"
#include "spec/reader.hpp"
#include "spec/warnings.hpp"

namespace tessera::spec {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_repeats = 1'000'000;

/// Two spellings of one file must count as the same file for the cycle test.
std::string identity(const fs::path& path) {
    std::error_code ignored;
    const fs::path canonical = fs::weakly_canonical(path, ignored);
    return ignored ? path.lexically_normal().string() : canonical.string();
}

class Includer {
public:
    Node load(const std::string& path) {
        const std::string id = identity(path);
        Node root = read_file(path);
        chain_.push_back({path, id});
        merge(root, fs::path(path).parent_path());
        chain_.pop_back();
        return root;
    }

private:
    struct Link {
        std::string path;
        std::string id;
    };

    void merge(Node& node, const fs::path& folder) {
        if (node.is_sequence()) {
            merge_items(node, folder);
        }
        for (Node::Entry& entry : node.entries) {
            if (entry.key != "include") {
                merge(entry.value, folder);
            }
        }
        const Node* include = node.find("include");
        if (!node.is_map() || include == nullptr) {
            return;
        }
        const Node files = *include;
        node.erase("include");
        for (const Node& file : files_of(files)) {
            const Node included = load_included(file, folder);
            if (!included.is_map()) {
                fail(file, {"the included file holds " + included.describe(), file.text, "a map",
                            "include a list as a list item of its own"});
            }
            merge_missing(node, included, true);
        }
    }

    void merge_items(Node& node, const fs::path& folder) {
        std::vector<Node> items;
        for (Node& item : node.items) {
            const bool only_include =
                item.is_map() && item.entries.size() == 1 && item.entries[0].key == "include";
            if (!only_include) {
                merge(item, folder);
                items.push_back(std::move(item));
                continue;
            }
            for (const Node& file : files_of(item.entries[0].value)) {
                Node included = load_included(file, folder);
                if (included.is_sequence()) {
                    std::move(included.items.begin(), included.items.end(),
                              std::back_inserter(items));
                } else {
                    items.push_back(std::move(included));
                }
            }
        }
        node.items = std::move(items);
    }

    static std::vector<Node> files_of(const Node& include) {
        std::vector<Node> files =
            include.is_sequence() ? include.items : std::vector<Node>{include};
        for (const Node& file : files) {
            if (!file.is_scalar() || file.text.empty()) {
                fail(file,
                     {"include needs a file name or a list of file names", file.brief(), "", ""});
            }
        }
        return files;
    }

    Node load_included(const Node& file, const fs::path& folder) {
        const fs::path path = folder / file.text;
        const std::string id = identity(path);
        const auto open = std::find_if(chain_.begin(), chain_.end(),
                                       [&](const Link& link) { return link.id == id; });
        if (open != chain_.end()) {
            std::string chain;
            for (auto link = open; link != chain_.end(); ++link) {
                chain += link->path + " -> ";
            }
            fail(file, {"the files include each other in a cycle: " + chain + path.string(), "", "",
                        "remove one of these includes"});
        }
        if (chain_.size() == max_include_depth) {
            fail(file, {"more than 100 files include each other in turn", file.text, "", ""});
        }
        std::error_code ignored;
        if (!kept_text(path.string()) && !fs::is_regular_file(path, ignored)) {
            fail(file, {"the included file does not exist", path.string(), "",
                        "paths are relative to the file that includes"});
        }
        Node included = load(path.string());
        nodes_ += size_of(included);
        if (++files_ > max_includes || nodes_ > max_nodes) {
            fail(file, {"the includes bring more than 10000 files or 250000 values", file.text, "",
                        "include a file once"});
        }
        return included;
    }

    std::vector<Link> chain_;
    std::size_t files_ = 0;
    std::size_t nodes_ = 0;  ///< those of files inside files count once for each level
};

const Node* arch_variables(const Node& root) {
    const Node* arch = root.find("arch");
    return arch == nullptr ? nullptr : arch->find("variables");
}

class Expander {
public:
    Node run(const Node& root, const Symbols& symbols, const Symbols& arch_symbols) {
        if (const Node::Entry* when = root.find_entry("when")) {
            fail(when->key_position, "",
                 {"a whole file cannot be conditional", "when", "", "put 'when' into the parts"});
        }
        Node result = Node::map(root.position);
        for (const Node::Entry& entry : root.entries) {
            const Symbols& scope = entry.key == "arch" ? arch_symbols : symbols;
            // Variables are bound already; their texts are expressions, not templates.
            const bool keep = entry.key == "variables";
            if (keep || wanted(entry.value, scope)) {
                Node value = keep ? entry.value : expand(entry.value, scope, false);
                result.insert(entry.key, entry.key_position, std::move(value));
            }
        }
        return result;
    }

private:
    void count(const Node& node) {
        base::poll_reading();
        if (++count_ > max_nodes) {
            fail(node, {"repeats expand to more than 250000 values", "", "", "repeat less"});
        }
    }

    Node expand(const Node& node, const Symbols& scope, bool in_repeat) {
        count(node);
        Node result = node;
        if (node.is_scalar() && in_repeat) {
            result.text = substitute(node.text, node, scope);
            // "{i}" needs its quotes in YAML; what it becomes is no literal string for that.
            result.quoted = node.quoted && result.text == node.text;
        } else if (node.is_sequence()) {
            result.items.clear();
            for (const Node& item : node.items) {
                expand_item(item, scope, in_repeat, result.items);
            }
        } else if (node.is_map()) {
            result.entries.clear();
            expand_entries(node, scope, in_repeat, result);
        }
        return result;
    }

    static bool wanted(const Node& node, const Symbols& scope) {
        const Node* when = node.find("when");
        return when == nullptr || set_expression_of(*when).truth(scope);
    }

    static bool has_only(const Node& node, std::initializer_list<const char*> keys) {
        return node.is_map() && node.entries.size() == keys.size() &&
               std::all_of(keys.begin(), keys.end(),
                           [&](const char* key) { return node.find(key) != nullptr; });
    }

    void expand_item(const Node& item, const Symbols& scope, bool in_repeat,
                     std::vector<Node>& out) {
        if (!wanted(item, scope)) {
            return;
        }
        if (has_only(item, {"when", "body"})) {
            splice(*item.find("body"), scope, in_repeat, out);
        } else if (has_only(item, {"repeat"}) || has_only(item, {"repeat", "when"})) {
            repeat(*item.find("repeat"), scope,
                   [&](const Node& body, const Symbols& inner) { splice(body, inner, true, out); });
        } else {
            out.push_back(expand(item, scope, in_repeat));
        }
    }

    void splice(const Node& body, const Symbols& scope, bool in_repeat, std::vector<Node>& out) {
        if (!body.is_sequence()) {
            expand_item(body, scope, in_repeat, out);
            return;
        }
        for (const Node& item : body.items) {
            expand_item(item, scope, in_repeat, out);
        }
    }

    void expand_entries(const Node& node, const Symbols& scope, bool in_repeat, Node& out) {
        for (const Node::Entry& entry : node.entries) {
            if (entry.key == "when") {
                continue;
            }
            if (entry.key == "repeat") {
                const std::vector<Node> repeats =
                    entry.value.is_sequence() ? entry.value.items : std::vector<Node>{entry.value};
                for (const Node& one : repeats) {
                    repeat(one, scope, [&](const Node& body, const Symbols& inner) {
                        if (!body.is_map()) {
                            fail(body, {"the body of a repeat inside a map must be a map",
                                        body.brief(), "key: value pairs", ""});
                        }
                        expand_entries(body, inner, true, out);
                    });
                }
                continue;
            }
            if (!wanted(entry.value, scope)) {
                continue;
            }
            const std::string key =
                in_repeat ? substitute(entry.key, entry.value, scope) : entry.key;
            if (out.entries.size() == max_keys) {
                fail(entry.key_position, entry.value.path,
                     {"a map has more than 10000 keys after expansion", key, "", "repeat less"});
            }
            if (out.find(key) != nullptr) {
                fail(entry.key_position, entry.value.path,
                     {"the key occurs twice after expansion", key, "every key once",
                      "use the variable of the repeat in the key"});
            }
            out.insert(key, entry.key_position, expand(entry.value, scope, in_repeat));
        }
    }

    template <class Body>
    void repeat(const Node& node, const Symbols& scope, const Body& each) {
        Fields fields(node, "a repeat");
        const std::string variable = fields.name("variable");
        const std::int64_t from = fields.integer("from", scope, {}, 0);
        const std::int64_t to = fields.integer("to", scope, {});
        const Node& body = fields.required("body");
        fields.finish();
        if (to >= from && to - from >= max_repeats) {
            fail(*node.find("to"), {"more than a million repeats", "", "", "repeat less"});
        }
        Symbols inner = scope.child();
        for (std::int64_t i = from; i <= to; ++i) {
            count(node);  // nested repeats with empty bodies would run without end
            inner.set(variable, static_cast<double>(i));
            each(body, inner);
        }
    }

    /// Replaces every {EXPRESSION}.
    static std::string substitute(const std::string& text, const Node& where,
                                  const Symbols& scope) {
        std::string result;
        std::size_t at = 0;
        for (;;) {
            const std::size_t open = text.find('{', at);
            if (open == std::string::npos) {
                return result + text.substr(at);
            }
            const std::size_t close = text.find('}', open);
            if (close == std::string::npos) {
                fail(where, {"a '{' is not closed", text, "{EXPRESSION}", ""});
            }
            result += text.substr(at, open - at);
            const std::string inside = text.substr(open + 1, close - open - 1);
            const Value value =
                Expression::parse_text(inside, where.position, where.path).evaluate(scope);
            if (value.is<double>() && value.as<double>() == std::floor(value.as<double>()) &&
                std::abs(value.as<double>()) < 1e15) {
                result += std::to_string(static_cast<std::int64_t>(value.as<double>()));
            } else if (value.is<double>() || value.is<std::string>()) {
                result += value.text();
            } else {
                fail(where,
                     {"{" + inside + "} is " + value.type_name(), text, "a number or text", ""});
            }
            at = close + 1;
        }
    }

    std::size_t count_ = 0;
};

}  // namespace

void bind_variables(const Node* variables, const Defines& defines, Symbols& symbols) {
    if (variables == nullptr || variables->is_null()) {
        return;
    }
    if (!variables->is_map()) {
        fail(*variables, {"variables are written as a map, not as " + variables->describe(), "",
                          "NAME: value", ""});
    }
    for (const Node::Entry& entry : variables->entries) {
        const auto define = defines.find(entry.key);
        if (define == defines.end()) {
            symbols.set_lazy(entry.key, Expression::parse(entry.value));
        } else {
            const Position where{"-D " + define->first + "=" + define->second};
            symbols.set_lazy(entry.key, Expression::parse_text(define->second, where));
        }
    }
}

Node load_tree(const std::string& path) {
    return Includer().load(path);
}

Document expand_document(Node root, const Defines& defines) {
    if (!root.is_map()) {
        fail(root,
             {"the file holds " + root.describe(), "", "a map such as 'arch:' or 'workload:'", ""});
    }
    assign_paths(root);
    Document document;
    bind_variables(root.find("variables"), defines, document.variables);
    Symbols arch_symbols = document.variables.child();
    bind_variables(arch_variables(root), defines, arch_symbols);
    document.root = Expander().run(root, document.variables, arch_symbols);
    assign_paths(document.root);
    return document;
}

Document load_document(const std::vector<std::string>& paths, const Defines& defines) {
    Node root;
    for (const std::string& path : paths) {
        Node tree = load_tree(path);
        if (root.is_null()) {
            root = std::move(tree);
        } else if (tree.is_map()) {
            merge_missing(root, tree, false);
        }
    }
    return expand_document(std::move(root), defines);
}

void check_sections(const Node& root) {
    if (!root.is_map()) {
        return;  // expand_document() says what it should be
    }
    Fields fields(root, "a spec file");
    for (const char* key : {"arch", "workload", "renames", "mapping", "variables", "mapper",
                            "model", "config", "version", "when", "per_einsum"}) {
        fields.ignore(key);
    }
    fields.finish();
    warn_of_settings(root);
}

std::vector<std::string> declared_variables(const Node& root) {
    std::vector<std::string> result;
    for (const Node* variables : {root.find("variables"), arch_variables(root)}) {
        if (variables != nullptr) {
            const std::vector<std::string> keys = variables->keys();
            result.insert(result.end(), keys.begin(), keys.end());
        }
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

void check_defines(const Defines& defines, const std::vector<std::string>& declared) {
    for (const auto& [name, value] : defines) {
        if (std::find(declared.begin(), declared.end(), name) == declared.end()) {
            const std::string hint = did_you_mean(name, declared);
            fail(Position{"-D " + name + "=" + value}, "",
                 {"no file declares this variable", name, name_list(declared),
                  hint.empty() ? "declare it under 'variables'" : hint});
        }
    }
}

}  // namespace tessera::spec
