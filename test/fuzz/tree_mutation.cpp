// Changes to trees. Each keeps most of the tree as it was, so that readers get past it and stumble
// later.
//
//   Place       where a node hangs
//   changes     the table of changes, each with its share

#include <algorithm>
#include <utility>

#include "fuzz/hostile.hpp"
#include "fuzz/mutation.hpp"

namespace tessera::fuzz {

namespace {

using spec::Node;

struct Place {
    Node* parent;
    std::size_t at;  ///< index among the children

    Node& node() const {
        return parent->is_map() ? parent->entries[at].value : parent->items[at];
    }
};

std::size_t children(const Node& node) {
    return node.is_map() ? node.entries.size() : node.items.size();
}

void collect(Node& node, std::vector<Place>& places) {
    for (std::size_t i = 0; i < children(node); ++i) {
        places.push_back({&node, i});
        collect(places.back().node(), places);
    }
}

Node text_node(std::string text, bool quoted) {
    return Node::scalar(std::move(text), {}, quoted);
}

struct Change {
    Random& random;
    Node& root;
    const Donors& donors;
    std::vector<Place> places;

    const Place& any() {
        return pick(random, places);
    }
    /// A place of a scalar if a few tries find one.
    const Place& scalar() {
        for (int i = 0; i < 20; ++i) {
            const Place& place = any();
            if (place.node().is_scalar()) {
                return place;
            }
        }
        return any();
    }
    Node donated() {
        Node copy = pick(random, donors.trees);
        std::vector<Place> all;
        collect(copy, all);
        return all.empty() ? copy : Node(pick(random, all).node());
    }
    std::string key() {
        return one_in(random, 8) || donors.keys.empty() ? hostile_text(random)
                                                        : pick(random, donors.keys);
    }
};

// Each of these ends the use of `places`.

void erase(Change& c) {
    const Place place = c.any();
    if (place.parent->is_map()) {
        place.parent->entries.erase(place.parent->entries.begin() +
                                    static_cast<std::ptrdiff_t>(place.at));
    } else {
        place.parent->items.erase(place.parent->items.begin() +
                                  static_cast<std::ptrdiff_t>(place.at));
    }
}

void insert(Change& c, Node* into, Node value, std::string key) {
    if (into->is_map()) {
        const std::size_t at = below(c.random, into->entries.size() + 1);
        into->entries.insert(into->entries.begin() + static_cast<std::ptrdiff_t>(at),
                             {std::move(key), {}, std::move(value)});
    } else {
        const std::size_t at = below(c.random, into->items.size() + 1);
        into->items.insert(into->items.begin() + static_cast<std::ptrdiff_t>(at), std::move(value));
    }
}

void duplicate(Change& c) {
    const Place from = c.any();
    const std::string key =
        from.parent->is_map() ? from.parent->entries[from.at].key : std::string();
    const std::size_t copies = one_in(c.random, 20) ? 300 : 1 + below(c.random, 3);
    const Node node = from.node();
    for (std::size_t i = 0; i < copies; ++i) {
        insert(c, from.parent, node, one_in(c.random, 2) ? key : key + std::to_string(i + 2));
    }
}

void copy_elsewhere(Change& c) {
    const Node node = one_in(c.random, 3) ? c.donated() : Node(c.any().node());
    const Place to = c.any();
    if (one_in(c.random, 2)) {
        to.node() = node;
    } else {
        insert(c, to.parent, node, c.key());
    }
}

void swap(Change& c) {
    const Place a = c.any(), b = c.any();
    Node first = a.node(), second = b.node();
    a.node() = second;
    // `b` may have lain below `a`.
    std::vector<Place> now;
    collect(c.root, now);
    if (!now.empty()) {
        pick(c.random, now).node() = first;
    }
}

void set_number(Change& c) {
    c.scalar().node() = text_node(hostile_number(c.random), false);
}

void set_text(Change& c) {
    c.scalar().node() = text_node(hostile_text(c.random), !one_in(c.random, 4));
}

void set_expression(Change& c) {
    c.scalar().node() = text_node(expression(c.random, c.donors.texts), one_in(c.random, 3));
}

void set_known_text(Change& c) {
    if (!c.donors.texts.empty()) {
        c.scalar().node() = text_node(pick(c.random, c.donors.texts), false);
    }
}

void set_bomb(Change& c) {
    if (Node* variables = c.root.find("variables"); variables != nullptr && one_in(c.random, 3)) {
        *variables = text_node(bomb(c.random), false);
        return;
    }
    c.any().node() = text_node(bomb(c.random), one_in(c.random, 6));
}

void rename(Change& c) {
    for (int i = 0; i < 10; ++i) {
        const Place place = c.any();
        if (!place.parent->is_map()) {
            continue;
        }
        std::string& key = place.parent->entries[place.at].key;
        if (one_in(c.random, 2) && !key.empty()) {
            key[below(c.random, key.size())] = static_cast<char>('a' + below(c.random, 26));
        } else {
            key = c.key();
        }
        return;
    }
}

void retag(Change& c) {
    static const std::vector<std::string> foreign = {"!Unknown", "!!str", "!!map", "!!binary",
                                                     "!",        "!!",    "!<x>",  "!a!b"};
    const bool own = !c.donors.tags.empty() && !one_in(c.random, 4);
    c.any().node().tag = one_in(c.random, 5) ? "" : pick(c.random, own ? c.donors.tags : foreign);
}

void change_kind(Change& c) {
    Node& node = c.any().node();
    Node old = std::exchange(node, Node());
    switch (below(c.random, 5)) {
        case 0:
            node = Node::sequence({});
            node.items.push_back(std::move(old));
            break;
        case 1:
            node = Node::map({});
            node.entries.push_back({c.key(), {}, std::move(old)});
            break;
        case 2:
            node = text_node(old.brief(), one_in(c.random, 2));
            break;
        case 3:
            node = one_in(c.random, 2) ? Node::map({}) : Node::sequence({});
            break;
        default:
            break;  // null
    }
}

void alias(Change& c) {
    const Place from = c.any();
    from.node().tag = "&a " + from.node().tag;
    std::vector<Place> now;
    collect(c.root, now);
    const Place to = pick(c.random, now);
    if (one_in(c.random, 2)) {
        insert(c, to.parent, text_node("*a", false), one_in(c.random, 2) ? "<<" : c.key());
    } else {
        to.node() = text_node("*a", false);
    }
}

void directive(Change& c) {
    const auto text = [&] { return text_node(expression(c.random, c.donors.texts), false); };
    Node node = Node::map({});
    std::string key = "include";
    if (one_in(c.random, 2)) {
        Node files = Node::sequence({});
        for (std::size_t i = 0; i < 1 + below(c.random, 3); ++i) {
            files.items.push_back(text_node(
                c.donors.files.empty() ? "arch.yaml" : pick(c.random, c.donors.files), false));
        }
        node = files;
    } else if (one_in(c.random, 2)) {
        key = "when";
        node = text();
    } else {
        key = "repeat";
        node.insert("variable", {}, text_node("i", false));
        node.insert("from", {}, text());
        node.insert("to", {}, one_in(c.random, 3) ? text() : text_node("3", false));
        node.insert("body", {}, Node(c.any().node()));
    }
    const Place to = c.any();
    if (to.node().is_map()) {
        insert(c, &to.node(), std::move(node), key);
    } else {
        Node item = Node::map({});
        item.insert(key, {}, std::move(node));
        insert(c, to.parent, std::move(item), c.key());
    }
}

void unknown_key(Change& c) {
    const Place to = c.any();
    Node value = one_in(c.random, 2) ? text_node(hostile_text(c.random), true) : c.donated();
    insert(c, to.parent, std::move(value), c.key());
}

constexpr std::pair<std::size_t, void (*)(Change&)> changes[] = {
    {10, erase},   {6, duplicate},       {8, copy_elsewhere},  {5, swap},      {16, set_number},
    {8, set_text}, {10, set_expression}, {10, set_known_text}, {2, set_bomb},  {6, rename},
    {4, retag},    {7, change_kind},     {4, alias},           {5, directive}, {4, unknown_key}};

void change_once(Random& random, Node& root, const Donors& donors) {
    Change change{random, root, donors, {}};
    collect(root, change.places);
    if (change.places.empty()) {
        return;
    }
    std::size_t total = 0;
    for (const auto& [share, function] : changes) {
        total += share;
    }
    std::size_t left = below(random, total);
    for (const auto& [share, function] : changes) {
        if (left < share) {
            function(change);
            return;
        }
        left -= share;
    }
}

}  // namespace

void Donors::add(const Node& tree) {
    const auto note = [](std::vector<std::string>& list, const std::string& text) {
        if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) {
            list.push_back(text);
        }
    };
    const auto visit = [&](const auto& self, const Node& node) -> void {
        note(tags, node.tag);
        if (node.is_scalar() && node.text.size() < 200) {
            note(texts, node.text);
        }
        for (const Node& item : node.items) {
            self(self, item);
        }
        for (const Node::Entry& entry : node.entries) {
            note(keys, entry.key);
            self(self, entry.value);
        }
    };
    visit(visit, tree);
    trees.push_back(tree);
}

void mutate_tree(Random& random, Node& root, const Donors& donors) {
    const std::size_t count = one_in(random, 3) ? 1 + below(random, 4) : 1;
    for (std::size_t i = 0; i < count; ++i) {
        change_once(random, root, donors);
    }
}

}  // namespace tessera::fuzz
