#include "values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/nearest.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::timeloop {

using spec::Node;
using spec::Range;

namespace {

/// A plain number: decimal, or hexadecimal with 0x.
std::optional<double> literal(std::string text) {
    // An explicit plus and a trailing L (libconfig) change nothing.
    if (!text.empty() && text.front() == '+') {
        text.erase(0, 1);
    }
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        std::int64_t value = 0;
        const auto [end, code] =
            std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
        return code == std::errc() && end == text.data() + text.size()
                   ? std::optional<double>(static_cast<double>(value))
                   : std::nullopt;
    }
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

std::optional<bool> literal_boolean(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto is = [&](std::initializer_list<const char*> words) {
        return std::find(words.begin(), words.end(), text) != words.end();
    };
    if (is({"true", "yes", "on", "y"})) {
        return true;
    }
    if (is({"false", "no", "off", "n"})) {
        return false;
    }
    return std::nullopt;
}

[[noreturn]] void wrong_type(const Node& node, const std::string& expected,
                             const std::vector<std::string>& variables) {
    const std::string near = node.is_scalar() ? spec::did_you_mean(node.text, variables) : "";
    spec::fail(node,
               {node.is_scalar() ? "is neither a literal nor a variable"
                                 : "a value is needed here, not " + node.describe(),
                node.brief(), expected,
                !near.empty()      ? near
                : node.is_scalar() ? "correct it, or define it under the top-level key 'variables'"
                                   : ""});
}

/// The one subtree of a tree; null: none
const Node* subtree_of(const Node* tree) {
    const Node* list = tree == nullptr || !tree->is_map() ? nullptr : find_key(*tree, "subtree");
    return list == nullptr || list->items.size() != 1 ? nullptr : &list->items.front();
}

}  // namespace

bool switched_on(const char* variable, bool otherwise) {
    const char* value = std::getenv(variable);
    return value == nullptr ? otherwise : std::string_view(value) != "0";
}

void define_variables(Node& root, const spec::Defines& defines) {
    Node* variables = root.find("variables");
    std::vector<std::string> declared;
    if (variables != nullptr && variables->is_map()) {
        for (const Node::Entry& entry : variables->entries) {
            if (entry.key != "version") {
                declared.push_back(entry.key);
            }
        }
    }
    spec::check_defines(defines, declared);
    for (const auto& [name, value] : defines) {
        Node node = Node::scalar(value, Position{"-D " + name + "=" + value});
        node.path = variables->path + "." + name;
        *variables->find(name) = std::move(node);
    }
}

Values::Values(const Document& document, std::vector<std::string>& warnings)
    : dialect_(document.dialect), warnings_(warnings), root_(document.root) {
    // The front end leaves expressions in nested attributes as they are: the names in them are
    // attributes of the trees around.
    const Node* architecture = architecture_of(document.root);
    for (const Node* tree = subtree_of(architecture); tree != nullptr; tree = subtree_of(tree)) {
        define(find_key(*tree, "attributes"));
    }
    const Node* variables = find_key(document.root, "variables");
    define(variables);
    if (variables != nullptr && variables->is_map()) {
        names_ = variables->keys();
    }
}

void Values::define(const Node* names) {
    if (names == nullptr || !names->is_map()) {
        return;
    }
    for (const Node::Entry& entry : names->entries) {
        if (!entry.value.is_scalar()) {
            continue;
        }
        // `technology: 45nm` is no expression, and needs to be none.
        try {
            symbols_.set_lazy(entry.key, spec::Expression::parse(entry.value));
        } catch (const UserError&) {
            symbols_.set(entry.key, spec::Value(entry.value.text));
        }
    }
}

void Values::warn(const Node& node, const std::string& text) const {
    std::string whole;
    for (const std::string& place : {node.position.text(), node.path}) {
        whole += place.empty() ? "" : place + ": ";
    }
    warn(whole + text);
}

void Values::warn(const std::string& text) const {
    if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) {
        warnings_.push_back(text);
    }
}

void Values::warn_unread() const {
    for (const std::string& text : keys_.unread()) {
        warn(text);
    }
}

std::optional<spec::Value> Values::evaluated(const Node& node) const {
    if (!node.is_scalar() || node.text.empty()) {
        return std::nullopt;
    }
    try {
        return spec::Expression::parse_text(node.text, node.position, node.path).evaluate(symbols_);
    } catch (const UserError&) {
        return std::nullopt;
    }
}

double Values::number(const Node& node, const Range& range) const {
    std::optional<double> value;
    if (node.is_scalar()) {
        value = literal(node.text);
        if (!value) {
            const std::optional<spec::Value> result = evaluated(node);
            if (result && result->is<double>()) {
                value = result->as<double>();
            } else if (result && result->is<std::string>()) {
                value = literal(result->as<std::string>());
            }
        }
    }
    if (!value) {
        wrong_type(node, range.text(), names_);
    }
    if (!range.holds(*value)) {
        spec::fail(node, {"out of range", node.text, range.text(), "correct the value"});
    }
    return *value;
}

std::int64_t Values::integer(const Node& node, const Range& range) const {
    const double value = number(node, range);
    if (std::abs(value) > 9e15) {
        spec::fail(node, {"out of range", node.text, "a whole number up to 9e15", ""});
    }
    if (value != std::floor(value)) {
        spec::fail(node, {"is no whole number", node.text, range.text(true), ""});
    }
    return static_cast<std::int64_t>(value);
}

bool Values::boolean(const Node& node) const {
    std::optional<bool> value;
    if (node.is_scalar()) {
        value = literal_boolean(node.text);
        if (const std::optional<double> number = literal(node.text); !value && number) {
            value = *number != 0;
        }
        if (!value) {
            const std::optional<spec::Value> result = evaluated(node);
            if (result && result->is<bool>()) {
                value = result->as<bool>();
            } else if (result && result->is<double>()) {
                value = result->as<double>() != 0;
            }
        }
    }
    if (!value) {
        wrong_type(node, "true or false", names_);
    }
    return *value;
}

std::string Values::text(const Node& node) const {
    if (!node.is_scalar()) {
        spec::fail(node, {"text is needed here, not " + node.describe(), "", "text", ""});
    }
    if (std::find(names_.begin(), names_.end(), node.text) != names_.end()) {
        const std::optional<spec::Value> result = evaluated(node);
        if (result && result->is<std::string>()) {
            return result->as<std::string>();
        }
        if (result && result->is<double>()) {
            return result->text();
        }
    }
    return node.text;
}

std::vector<std::string> Values::texts(const Node& node) const {
    std::vector<std::string> result;
    if (node.is_sequence()) {
        for (const Node& item : node.items) {
            result.push_back(text(item));
        }
    } else if (!node.is_null()) {
        result.push_back(text(node));
    }
    return result;
}

Section::Section(const Node& node, const Values& values, std::string what)
    : node_(node), values_(values), what_(std::move(what)), asked_(&values.keys().of(node, what_)) {
    if (!node.is_map() && !node.is_null()) {
        spec::fail(node, {what_ + " is written as a map, not as " + node.describe(), "",
                          "key: value pairs", ""});
    }
}

const Section& Section::allow(Keys keys) const {
    for (const char* key : keys) {
        asked_->ask(key);
    }
    return *this;
}

const Section& Section::free_form() const {
    asked_->free_form = true;
    return *this;
}

std::string Section::others() const {
    std::string names;
    for (const Node::Entry& entry : node_.entries) {
        const bool asked =
            std::any_of(asked_->asked.begin(), asked_->asked.end(),
                        [&](const std::string& key) { return same_key(key, entry.key); });
        names += asked ? "" : (names.empty() ? "'" : ", '") + entry.key + "'";
    }
    return names;
}

const Section& Section::read_later() const {
    asked_->read_later = true;
    return *this;
}

const Node* Section::find(Keys keys) const {
    allow(keys);
    const Node* found = nullptr;
    const char* name = "";
    for (const char* key : keys) {
        const Node* value = find_key(node_, key);
        if (value == nullptr || value->is_null()) {
            continue;
        }
        if (found == nullptr) {
            found = value;
            name = key;
        } else if (!found->is_scalar() || found->text != value->text) {
            values_.warn(*value, "'" + std::string(name) + "' is given, too (" +
                                     found->position.text() + "); only that one counts");
        }
    }
    return found;
}

const Node& Section::required(Keys keys) const {
    if (const Node* value = find(keys)) {
        return *value;
    }
    const std::string key = *keys.begin();
    const std::string near = nearest(key, node_.keys());
    spec::fail(node_,
               {what_ + " lacks the key '" + key + "'", "", "",
                near.empty() || near == key ? "add '" + key + ": ...'"
                                            : "is '" + near + "' meant to be '" + key + "'?"});
}

std::optional<std::int64_t> Section::integer(Keys keys, const Range& range) const {
    const Node* node = find(keys);
    return node == nullptr ? std::nullopt
                           : std::optional<std::int64_t>(values_.integer(*node, range));
}

std::optional<double> Section::number(Keys keys, const Range& range) const {
    const Node* node = find(keys);
    return node == nullptr ? std::nullopt : std::optional<double>(values_.number(*node, range));
}

std::optional<bool> Section::boolean(Keys keys) const {
    const Node* node = find(keys);
    return node == nullptr ? std::nullopt : std::optional<bool>(values_.boolean(*node));
}

std::optional<std::string> Section::text(Keys keys) const {
    const Node* node = find(keys);
    return node == nullptr ? std::nullopt : std::optional<std::string>(values_.text(*node));
}

void refuse(const Node& node, const std::string& what, const std::string& remedy) {
    spec::fail(node, {what + " are not supported; no figures are given rather than wrong ones",
                      node.is_scalar() ? node.text : "", "", remedy});
}

const std::vector<Node>& list_of(const Node& node, const std::string& what) {
    if (!node.is_sequence()) {
        spec::fail(node, {what + " is a list, not " + node.describe(), node.brief(), "a list",
                          "write one '- ' line for each item"});
    }
    return node.items;
}

}  // namespace tessera::timeloop
