// Reading libconfig text with libconfig++. The library knows the lines of settings but not the
// columns, so the text is walked once more beside the finished tree: settings stand in the tree in
// the order in which they were written.
//
//   Tokens    the text as tokens with their places (comments dropped)
//   Builder   the library's tree as nodes, taking each node's place from the token it matches

#include <array>
#include <charconv>
#include <cstring>
#include <libconfig.h++>
#include <optional>
#include <utility>

#include "spec/reader.hpp"

namespace tessera::spec {

namespace {

struct Token {
    std::string_view text;
    int line = 1, column = 1;
};

/// Splits into names, values, strings and single punctuation marks.
class Tokens {
public:
    explicit Tokens(std::string_view text) : text_(text) {
        while (at_ < text_.size()) {
            step();
        }
    }
    std::vector<Token> all;
    bool includes = false;  ///< other files take part: the tree does not follow this text
    std::optional<Token> open_string;  ///< one that does not end

private:
    void step() {
        const char c = text_[at_];
        if (c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\f') {
            advance(1);
        } else if (c == '#' || text_.substr(at_, 2) == "//") {
            advance(text_.find('\n', at_) - at_);
        } else if (text_.substr(at_, 2) == "/*") {
            const std::size_t end = text_.find("*/", at_ + 2);
            advance(end == std::string_view::npos ? end : end + 2 - at_);
        } else if (c == '"') {
            std::size_t end = at_ + 1;
            while (end < text_.size() && text_[end] != '"') {
                end += text_[end] == '\\' ? 2 : 1;
            }
            if (end >= text_.size()) {
                open_string = {text_.substr(at_), line_, column_};
            }
            take(end + 1 - at_);
        } else if (std::strchr("{}()[]=:;,", c) != nullptr) {
            take(1);
        } else {
            includes = includes || text_.substr(at_, 8) == "@include";
            std::size_t end = at_;
            while (end < text_.size() &&
                   std::strchr("{}()[]=:;,\"# \t\r\n\f", text_[end]) == nullptr) {
                ++end;
            }
            take(std::max<std::size_t>(end - at_, 1));
        }
    }

    void take(std::size_t length) {
        all.push_back({text_.substr(at_, length), line_, column_});
        advance(length);
    }

    void advance(std::size_t length) {
        for (length = std::min(length, text_.size() - at_); length > 0; --length, ++at_) {
            column_ = text_[at_] == '\n' ? 1 : column_ + 1;
            line_ += text_[at_] == '\n' ? 1 : 0;
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1, column_ = 1;
};

/// Libconfig takes thousands of levels; trees are walked by recursion.
constexpr int most_nested = 200;

class Builder {
public:
    Builder(Tokens tokens, std::string file, const ReadOptions& options)
        : tokens_(std::move(tokens)), file_(std::move(file)), options_(options) {}

    Node build(const libconfig::Setting& root) {
        Node node = Node::map(locate(1, 1));
        entries(root, node);
        assign_paths(node);
        return node;
    }

private:
    using Setting = libconfig::Setting;

    Position locate(int line, int column) const {
        return options_.locate ? options_.locate(line, column) : Position{file_, line, column};
    }

    /// The place of the next token that is `wanted` (any if empty); the line alone if the text and
    /// the tree have parted.
    Position next(std::string_view wanted, const Setting& setting) {
        if (!tokens_.includes) {
            while (at_ < tokens_.all.size() && std::strchr(";,=:", tokens_.all[at_].text.front())) {
                ++at_;
            }
            if (at_ < tokens_.all.size() && (wanted.empty() || tokens_.all[at_].text == wanted)) {
                const Token& token = tokens_.all[at_++];
                return locate(token.line, token.column);
            }
        }
        const char* source = setting.getSourceFile();
        const int line = static_cast<int>(setting.getSourceLine());
        return source == nullptr ? locate(line, 0) : Position{source, line, 0};
    }

    void entries(const Setting& group, Node& node) {
        for (const Setting& setting : group) {
            const std::string name = setting.getName();
            const Position place = next(name, setting);
            Node child = value(setting);
            if (name == "tag" && child.is_scalar()) {
                node.tag = "!" + child.text;
            } else {
                node.insert(name, place, std::move(child));
            }
        }
    }

    Node value(const Setting& setting) {
        if (setting.isScalar()) {
            return scalar(setting);
        }
        const char* open = setting.isGroup() ? "{" : setting.isList() ? "(" : "[";
        const char* close = setting.isGroup() ? "}" : setting.isList() ? ")" : "]";
        const Position place = next(open, setting);
        if (++depth_ > most_nested) {
            fail(place, "",
                 {"groups and lists are nested too deeply", "",
                  "at most " + std::to_string(most_nested) + " levels", "check the brackets"});
        }
        Node node = setting.isGroup() ? Node::map(place) : Node::sequence(place);
        if (setting.isGroup()) {
            entries(setting, node);
        } else {
            for (const Setting& item : setting) {
                node.items.push_back(value(item));
            }
        }
        next(close, setting);
        --depth_;
        return node;
    }

    Node scalar(const Setting& setting) {
        const Position place = next("", setting);
        if (setting.getType() == Setting::TypeString) {
            // "a" "b" is one string.
            while (at_ < tokens_.all.size() && tokens_.all[at_].text.front() == '"') {
                ++at_;
            }
        }
        return Node::scalar(text_of(setting), place);
    }

    static std::string text_of(const Setting& setting) {
        switch (setting.getType()) {
            case Setting::TypeBoolean:
                return static_cast<bool>(setting) ? "true" : "false";
            case Setting::TypeInt:
                return std::to_string(static_cast<int>(setting));
            case Setting::TypeInt64:
                return std::to_string(static_cast<long long>(setting));
            case Setting::TypeFloat: {
                std::array<char, 32> digits{};
                const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                               static_cast<double>(setting));
                return {digits.data(), end.ptr};
            }
            default:
                return static_cast<const char*>(setting);
        }
    }

    Tokens tokens_;
    std::string file_;
    const ReadOptions& options_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

Node read_libconfig(std::string_view text, const std::string& name, const ReadOptions& options) {
    check_text(text, name);
    Tokens tokens(text);
    // The library says this of a later line, and leaks what it has read of it.
    if (tokens.open_string) {
        const Token& open = *tokens.open_string;
        fail(options.locate ? options.locate(open.line, open.column)
                            : Position{name, open.line, open.column},
             "",
             {"a string begins here that does not end", "", "a string between two \"",
              "add the missing quote"});
    }
    libconfig::Config config;
    try {
        config.readString(std::string(text));
    } catch (const libconfig::ParseException& error) {
        const Position place = error.getFile() != nullptr
                                   ? Position{error.getFile(), error.getLine(), 0}
                               : options.locate ? options.locate(error.getLine(), 0)
                                                : Position{name, error.getLine(), 0};
        fail(place, "",
             {std::string("not valid libconfig: ") + error.getError(), "", "",
              "check semicolons, brackets and quotes here and just above"});
    }
    if (config.getRoot().getLength() == 0) {
        fail({name, 0, 0}, "",
             {"the file is empty", "", "settings such as 'arch = { ... };'",
              "check that the file was written completely"});
    }
    return Builder(std::move(tokens), name, options).build(config.getRoot());
}

}  // namespace tessera::spec
