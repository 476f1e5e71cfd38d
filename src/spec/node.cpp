#include "tessera/spec/node.hpp"

#include <algorithm>

#include "spec/limits.hpp"

namespace tessera::spec {

Node Node::scalar(std::string text, Position position, bool quoted) {
    Node node;
    node.kind = Kind::scalar;
    node.text = std::move(text);
    node.quoted = quoted;
    node.position = std::move(position);
    return node;
}

Node Node::sequence(Position position) {
    Node node;
    node.kind = Kind::sequence;
    node.position = std::move(position);
    return node;
}

Node Node::map(Position position) {
    Node node;
    node.kind = Kind::map;
    node.position = std::move(position);
    return node;
}

const Node::Entry* Node::find_entry(std::string_view key) const {
    for (const Entry& entry : entries) {
        if (entry.key == key) {
            return &entry;
        }
    }
    return nullptr;
}

const Node* Node::find(std::string_view key) const {
    const Entry* entry = find_entry(key);
    return entry == nullptr ? nullptr : &entry->value;
}

Node* Node::find(std::string_view key) {
    return const_cast<Node*>(static_cast<const Node*>(this)->find(key));
}

Node& Node::insert(std::string key, Position key_position, Node value) {
    entries.push_back({std::move(key), std::move(key_position), std::move(value)});
    return entries.back().value;
}

void Node::erase(std::string_view key) {
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [&](const Entry& entry) { return entry.key == key; }),
                  entries.end());
}

std::vector<std::string> Node::keys() const {
    std::vector<std::string> result;
    result.reserve(entries.size());
    for (const Entry& entry : entries) {
        result.push_back(entry.key);
    }
    return result;
}

std::string Node::describe() const {
    switch (kind) {
        case Kind::null:
            return "nothing";
        case Kind::scalar:
            return "the text '" + brief() + "'";
        case Kind::sequence:
            return "a list";
        case Kind::map:
            return "a map";
    }
    return "nothing";
}

std::string Node::brief() const {
    switch (kind) {
        case Kind::null:
            return "nothing";
        case Kind::scalar:
            return text.size() <= 80 ? text : text.substr(0, 77) + "...";
        case Kind::sequence:
            return "[" + std::to_string(items.size()) + " items]";
        case Kind::map:
            return "{" + std::to_string(entries.size()) + " keys}";
    }
    return "nothing";
}

void assign_paths(Node& root, const std::string& root_path) {
    // Long keys and deep trees would give every value below them a long path.
    const std::size_t length = root_path.size();
    root.path = length <= max_path ? root_path : "..." + root_path.substr(length - max_path);
    for (std::size_t i = 0; i < root.items.size(); ++i) {
        assign_paths(root.items[i], root.path + "[" + std::to_string(i) + "]");
    }
    for (Node::Entry& entry : root.entries) {
        assign_paths(entry.value, root.path.empty() ? entry.key : root.path + "." + entry.key);
    }
}

std::size_t size_of(const Node& node) {
    std::size_t size = 1;
    for (const Node& item : node.items) {
        size += size_of(item);
    }
    for (const Node::Entry& entry : node.entries) {
        size += size_of(entry.value);
    }
    return size;
}

void fail(const Node& node, const Complaint& complaint) {
    fail(node.position, node.path, complaint);
}

void merge_missing(Node& target, const Node& defaults, bool deep) {
    for (const Node::Entry& entry : defaults.entries) {
        Node* existing = target.find(entry.key);
        if (existing == nullptr) {
            target.entries.push_back(entry);
        } else if (deep && existing->is_map() && entry.value.is_map()) {
            merge_missing(*existing, entry.value, true);
        }
    }
}

}  // namespace tessera::spec
