#include "spec/fields.hpp"

#include <algorithm>
#include <cmath>

#include "base/nearest.hpp"

namespace tessera::spec {

Range Range::or_infinite() const {
    Range result = *this;
    result.finite = false;
    return result;
}

bool Range::holds(double value) const {
    if (std::isnan(value) || std::isinf(value)) {
        return !finite && value > 0;
    }
    return (above_lowest ? value > lowest : value >= lowest) && value <= highest;
}

std::string Range::text(bool integer) const {
    std::string result = integer ? "an integer" : finite ? "a finite number" : "a number or inf";
    if (!std::isinf(lowest) && !std::isinf(highest)) {
        return result + (above_lowest ? " above " : " from ") + number_text(lowest) + " to " +
               number_text(highest);
    }
    if (!std::isinf(lowest)) {
        result += (above_lowest ? " > " : " >= ") + number_text(lowest);
    }
    if (!std::isinf(highest)) {
        result += " <= " + number_text(highest);
    }
    return result;
}

namespace {

void check_range(const Expression& expression, double value, const Range& range, bool integer) {
    if (range.holds(value)) {
        return;
    }
    const bool literal = expression.text() == number_text(value);
    expression.fail(
        "out of range" + (literal ? "" : " (it evaluates to " + number_text(value) + ")"),
        range.text(integer), "correct the value");
}

}  // namespace

double number_in(const Expression& expression, const Symbols& symbols, const Range& range) {
    const double value = expression.number(symbols);
    check_range(expression, value, range, false);
    return value;
}

std::int64_t integer_in(const Expression& expression, const Symbols& symbols, const Range& range) {
    const std::int64_t value = expression.integer(symbols);
    check_range(expression, static_cast<double>(value), range, true);
    return value;
}

Expression set_expression_of(const Node& node) {
    if (!node.is_scalar()) {
        fail(node, {"a set expression is needed here, not " + node.describe(), "",
                    "names joined by | & - ~", "write e.g. 'input | output'"});
    }
    return Expression::parse_text(node.text, node.position, node.path);
}

namespace {

/// A hint for a map whose keys were meant for the expansion of the file.
std::string of_directives(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
        const std::string hint = did_you_mean(key, {"repeat", "when", "body", "include"});
        if (!hint.empty()) {
            return "; of its key '" + key + "': " + hint;
        }
    }
    return "";
}

}  // namespace

Fields::Fields(const Node& node, std::string what) : node_(node), what_(std::move(what)) {
    if (!node.is_map() && !node.is_null()) {
        fail(node, {what_ + " is written as a map, not as " + node.describe(), "",
                    "key: value pairs", ""});
    }
}

void Fields::outline(const std::string& key, OutlinedKey as) const {
    if (Outline* const hears = Outline::heard()) {
        OutlinedKey& known = hears->key(node_.path, what_, key);
        if (as.shape != Shape::any || known.shape == Shape::any) {
            as.required = as.required || known.required;
            known = std::move(as);
        } else {
            known.required = known.required || as.required;
        }
    }
}

void Fields::ignore(const std::string& key, const std::string& why) {
    known_.insert(key);
    outline(key, {.without_effect = why});
}

const Node* Fields::optional(const std::string& key) {
    known_.insert(key);
    outline(key, {});
    const Node* value = node_.find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
}

const Node& Fields::required(const std::string& key) {
    outline(key, {.required = true});
    if (const Node* value = optional(key)) {
        return *value;
    }
    const Node::Entry* entry = node_.find_entry(key);
    if (entry != nullptr) {
        fail(entry->key_position, entry->value.path, {"the value is missing", "", "", "write one"});
    }
    // The likely cause is a typing error in the key, so that is named if there is one.
    std::vector<std::string> unread;
    for (const std::string& other : node_.keys()) {
        if (known_.count(other) == 0) {
            unread.push_back(other);
        }
    }
    const std::string near = nearest(key, unread);
    fail(node_, {what_ + " lacks the key '" + key + "'", "", "",
                 near.empty() ? "add '" + key + ": ...'" + of_directives(unread)
                              : "is '" + near + "' meant to be '" + key + "'?"});
}

std::string Fields::name(const std::string& key) {
    outline(key, {.shape = Shape::name});
    const Node& value = required(key);
    if (!value.is_scalar() || value.text.empty()) {
        fail(value, {"a name is needed here, not " + value.describe(), "", "a name", ""});
    }
    return value.text;
}

std::string Fields::text(const std::string& key, const std::string& otherwise) {
    outline(key, {.shape = Shape::text});
    const Node* value = optional(key);
    if (value == nullptr) {
        return otherwise;
    }
    if (!value->is_scalar()) {
        fail(*value, {"text is needed here, not " + value->describe(), "", "text", ""});
    }
    return value->text;
}

std::string Fields::choice(const std::string& key, const std::vector<std::string>& choices,
                           const std::string& otherwise) {
    const std::string value = text(key, otherwise);
    outline(key, {.shape = Shape::choice, .choices = choices});
    if (value != otherwise && std::find(choices.begin(), choices.end(), value) == choices.end()) {
        fail(*node_.find(key),
             {"unknown value", value, name_list(choices), did_you_mean(value, choices)});
    }
    return value;
}

std::vector<const Node*> Fields::list(const std::string& key, bool single) {
    outline(key, {.shape = Shape::list, .single = single});
    std::vector<const Node*> result;
    const Node* value = optional(key);
    if (value == nullptr) {
        return result;
    }
    if (!value->is_sequence()) {
        if (single) {
            return {value};
        }
        fail(*value, {"a list is needed here, not " + value->describe(), "", "a list",
                      "write [a, b] or one '- ' line for each item"});
    }
    for (const Node& item : value->items) {
        result.push_back(&item);
    }
    return result;
}

Expression Fields::expression(const std::string& key) {
    outline(key, {.shape = Shape::expression});
    const Node* value = optional(key);
    return value == nullptr ? Expression() : Expression::parse(*value);
}

Expression Fields::set_expression(const std::string& key) {
    outline(key, {.shape = Shape::set});
    const Node* value = optional(key);
    return value == nullptr ? Expression() : set_expression_of(*value);
}

SetMap Fields::set_map(const std::string& key) {
    outline(key, {.shape = Shape::set_map});
    const Node* value = optional(key);
    return value == nullptr ? SetMap() : SetMap(*value);
}

double Fields::number(const std::string& key, const Symbols& symbols, const Range& range,
                      std::optional<double> otherwise) {
    outline(key, {.shape = Shape::number});
    if (otherwise && optional(key) == nullptr) {
        return *otherwise;
    }
    return number_in(Expression::parse(required(key)), symbols, range);
}

std::int64_t Fields::integer(const std::string& key, const Symbols& symbols, const Range& range,
                             std::optional<std::int64_t> otherwise) {
    outline(key, {.shape = Shape::integer});
    if (otherwise && optional(key) == nullptr) {
        return *otherwise;
    }
    return integer_in(Expression::parse(required(key)), symbols, range);
}

bool Fields::boolean(const std::string& key, const Symbols& symbols,
                     std::optional<bool> otherwise) {
    outline(key, {.shape = Shape::boolean});
    if (otherwise && optional(key) == nullptr) {
        return *otherwise;
    }
    const Node& value = required(key);
    return set_expression_of(value).truth(symbols);
}

void Fields::finish() const {
    for (const Node::Entry& entry : node_.entries) {
        if (known_.count(entry.key) != 0) {
            continue;
        }
        const std::vector<std::string> known(known_.begin(), known_.end());
        const std::string hint = did_you_mean(entry.key, known);
        fail(entry.key_position, entry.value.path,
             {"unknown key of " + what_, entry.key, "one of " + name_list(known, 40),
              hint.empty() ? "remove it" : hint});
    }
}

}  // namespace tessera::spec
