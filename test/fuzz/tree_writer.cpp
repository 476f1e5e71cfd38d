#include "fuzz/tree_writer.hpp"

#include <algorithm>
#include <cctype>

namespace tessera::fuzz {

namespace {

using spec::Node;

bool is_plain(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
    });
}

std::string quoted(const std::string& text) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string result = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (c == '\n') {
            result += "\\n";
        } else if (byte < 0x20) {
            result += std::string("\\u00") + digits[byte >> 4U] + digits[byte & 15U];
        } else {
            result += c;
        }
    }
    return result + "\"";
}

std::string scalar(const Node& node) {
    return node.is_null() ? "null" : node.quoted ? quoted(node.text) : node.text;
}

// Keys that begin so are meant as YAML's own: anchors, aliases, merge keys.
std::string key_text(const std::string& key) {
    const bool special = !key.empty() && (key[0] == '<' || key[0] == '*' || key[0] == '&');
    return special || is_plain(key) ? key : quoted(key);
}

class Yaml {
public:
    std::string text;

    void block(const Node& node, int indent) {
        if (node.is_map() && !node.entries.empty()) {
            for (const Node::Entry& entry : node.entries) {
                line(indent, key_text(entry.key) + ":");
                value(entry.value, indent + 2);
            }
        } else if (node.is_sequence() && !node.items.empty()) {
            for (const Node& item : node.items) {
                line(indent, "-");
                value(item, indent + 2);
            }
        } else {
            line(indent, leaf(node));
        }
    }

private:
    void line(int indent, const std::string& content) {
        text += "\n" + std::string(static_cast<std::size_t>(indent), ' ') + content;
    }

    void value(const Node& node, int indent) {
        text += node.tag.empty() ? "" : " " + node.tag;
        const bool nested =
            (node.is_map() && !node.entries.empty()) || (node.is_sequence() && !node.items.empty());
        if (nested) {
            block(node, indent);
        } else {
            text += " " + leaf(node);
        }
    }

    static std::string leaf(const Node& node) {
        return node.is_map() ? "{}" : node.is_sequence() ? "[]" : scalar(node);
    }
};

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos &&
           std::isdigit(static_cast<unsigned char>(text[0])) != 0;
}

std::string json(const Node& node) {
    std::string text;
    if (node.is_map()) {
        for (const Node::Entry& entry : node.entries) {
            text += (text.empty() ? "" : ", ") + quoted(entry.key) + ": " + json(entry.value);
        }
        return "{" + text + "}";
    }
    if (node.is_sequence()) {
        for (const Node& item : node.items) {
            text += (text.empty() ? "" : ", ") + json(item);
        }
        return "[" + text + "]";
    }
    const bool bare = is_number(node.text) || node.text == "true" || node.text == "false" ||
                      node.text[0] == '[' || node.text[0] == '{' || node.text[0] == '-';
    return node.is_null() || bare ? scalar(node) : quoted(node.text);
}

std::string libconfig(const Node& node, int indent) {
    const std::string gap(static_cast<std::size_t>(indent), ' ');
    std::string text;
    if (node.is_map()) {
        if (node.tag.size() > 1) {
            text += gap + "tag = " + quoted(node.tag.substr(1)) + ";\n";
        }
        for (const Node::Entry& entry : node.entries) {
            text += gap + entry.key + " = " + libconfig(entry.value, indent + 2) + ";\n";
        }
        return indent == 0 ? text : "{\n" + text + gap + "}";
    }
    if (node.is_sequence()) {
        for (const Node& item : node.items) {
            text += (text.empty() ? "" : ", ") + libconfig(item, indent + 2);
        }
        return "( " + text + " )";
    }
    const bool bare = is_number(node.text) || node.text == "true" || node.text == "false" ||
                      node.text[0] == '[' || node.text[0] == '(';
    return bare && !node.quoted ? node.text : quoted(node.text);
}

}  // namespace

std::string written(const Node& root, Format format) {
    if (format == Format::json) {
        return json(root) + "\n";
    }
    if (format == Format::libconfig) {
        return libconfig(root, 0);
    }
    Yaml yaml;
    yaml.block(root, 0);
    return yaml.text.substr(1) + "\n";
}

}  // namespace tessera::fuzz
