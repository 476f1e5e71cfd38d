#include "spec/settings.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <vector>

#include "spec/reader.hpp"

namespace tessera::spec {

namespace {

constexpr std::size_t most_parts = 32;
constexpr int deepest = 100;

[[noreturn]] void refuse(const Setting& setting, const std::string& what,
                         const std::string& remedy = "") {
    throw UserError("--set " + setting.path + ": " + what + (remedy.empty() ? "" : "; " + remedy));
}

/// "a.b[2].c" -> a, b, [2], c
std::vector<std::string> parts_of(const Setting& setting) {
    std::vector<std::string> parts;
    std::istringstream in(setting.path);
    for (std::string piece; std::getline(in, piece, '.');) {
        std::size_t bracket = piece.find('[');
        parts.push_back(piece.substr(0, bracket));
        while (bracket != std::string::npos) {
            const std::size_t next = piece.find('[', bracket + 1);
            parts.push_back(piece.substr(bracket, next - bracket));
            bracket = next;
        }
    }
    const bool empty = std::any_of(parts.begin(), parts.end(),
                                   [](const std::string& part) { return part.empty(); });
    if (parts.size() < 2 || parts.size() > most_parts || empty || setting.path.back() == '.') {
        refuse(setting, "is no path of a value", "for example arch.GlobalBuffer.size");
    }
    return parts;
}

bool is_named(const Node& node, const std::string& name) {
    const Node* const given = node.find("name");
    return given != nullptr && given->is_scalar() && given->text == name;
}

/// Items of lists below, in order of appearance; what lies in a named one of them is its own.
void find_items(Node& node, int depth, std::vector<Node*>& named) {
    if (depth > deepest) {
        return;
    }
    for (Node& item : node.items) {
        const Node* const name = item.find("name");
        if (name != nullptr && name->is_scalar()) {
            named.push_back(&item);
        }
        find_items(item, depth + 1, named);
    }
    for (Node::Entry& entry : node.entries) {
        find_items(entry.value, depth + 1, named);
    }
}

std::vector<std::string> names_in(Node& node) {
    std::vector<std::string> names = node.keys();
    std::vector<Node*> items;
    find_items(node, 0, items);
    for (const Node* item : items) {
        names.push_back(item->find("name")->text);
    }
    return names;
}

Node& step_to_place(Node& node, const std::string& part, const Setting& setting) {
    std::size_t place = 0;
    const char* const end = part.data() + part.size();
    const auto [stop, code] = std::from_chars(part.data() + 1, end, place);
    if (code != std::errc() || stop + 1 != end || *stop != ']') {
        refuse(setting, "'" + part + "' is no place in a list", "for example [0]");
    }
    if (!node.is_sequence() || place >= node.items.size()) {
        refuse(setting, "there is no '" + part + "' in " + node.describe());
    }
    return node.items[place];
}

/// Null: nothing of that name.
Node* step(Node& node, const std::string& part, const Setting& setting) {
    if (part.front() == '[') {
        return &step_to_place(node, part, setting);
    }
    if (Node* const value = node.find(part)) {
        return value;
    }
    std::vector<Node*> items;
    find_items(node, 0, items);
    std::erase_if(items, [&](const Node* item) { return !is_named(*item, part); });
    if (items.size() > 1) {
        refuse(setting, std::to_string(items.size()) + " items are named '" + part + "'",
               "say which list is meant, or its place as in nodes[2]");
    }
    return items.empty() ? nullptr : items.front();
}

void replace(Node& value, const Setting& setting) {
    const Position place{"--set " + setting.path + "=" + setting.text};
    const std::string tag = value.tag;
    const char first = setting.text.empty() ? ' ' : setting.text.front();
    value = first == '[' || first == '{' ? read_text(setting.text, place.file)
                                         : Node::scalar(setting.text, place);
    value.tag = value.tag.empty() ? tag : value.tag;
}

}  // namespace

std::string section_of(const Setting& setting) {
    const std::string first = parts_of(setting).front();
    if (first == "variables") {
        refuse(setting, "is a variable", "set it with -D NAME=VALUE");
    }
    if (first != "arch" && first != "workload") {
        refuse(setting, "'" + first + "' is no section (expected arch or workload)",
               did_you_mean(first, {"arch", "workload"}));
    }
    return first;
}

void apply(Node& root, const Setting& setting) {
    const std::vector<std::string> parts = parts_of(setting);
    Node* node = &root;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Node* const next = step(*node, parts[i], setting);
        const bool last = i + 1 == parts.size();
        if (next == nullptr && (!last || !node->is_map() || i == 0)) {
            const std::string remedy = did_you_mean(parts[i], names_in(*node));
            refuse(setting, "there is no '" + parts[i] + "' in " + node->describe(),
                   remedy.empty() ? "there are: " + name_list(names_in(*node)) : remedy);
        }
        node = next != nullptr ? next
                               : &node->insert(parts[i], Position{"--set " + setting.path}, Node());
    }
    replace(*node, setting);
}

}  // namespace tessera::spec
