// Reading YAML: bytes are checked first, then yaml-cpp's events build our own tree. The event
// interface is used instead of YAML::Node because it reports the positions of keys, the tags and
// the quoting, and lets duplicate keys be seen.

#include "spec/reader.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "base/reading_stop.hpp"
#include "spec/kept_files.hpp"
#include "spec/limits.hpp"
#include "tessera/base/error.hpp"

namespace tessera::spec {

namespace {

/// Builds a Node from parser events. Each open collection is a frame on a stack.
class TreeBuilder final : public YAML::EventHandler {
public:
    TreeBuilder(std::string_view text, std::string file, const ReadOptions& options)
        : text_(text), file_(std::move(file)), options_(options) {
        line_starts_.push_back(0);
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '\n') {
                line_starts_.push_back(i + 1);
            }
        }
    }

    std::optional<Node> root;

    Position position(const YAML::Mark& mark) const {
        return options_.locate ? options_.locate(mark.line + 1, mark.column + 1)
                               : Position{file_, mark.line + 1, mark.column + 1};
    }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        Node node;
        node.position = position(mark);
        complete(std::move(node), anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end()) {
            fail(position(mark), "",
                 {"an alias refers to the collection that contains it", "", "",
                  "copy the wanted part under its own anchor"});
        }
        count(size_of(found->second), mark);
        complete(Node(found->second), 0);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        // The parser marks quoted and block scalars with the non-specific tag "!".
        check_quote(mark);
        Node node = Node::scalar(value, position(mark), tag == "!");
        node.tag = own_tag(tag);
        complete(std::move(node), anchor);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(Node::sequence(position(mark)), tag, anchor);
    }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(Node::map(position(mark)), tag, anchor);
    }

    void OnSequenceEnd() override {
        close();
    }

    void OnMapEnd() override {
        for (const Node& source : stack_.back().merges) {
            merge_missing(stack_.back().node, source, false);
        }
        for (const Node& source : stack_.back().deep_merges) {
            merge_deep(stack_.back().node, source);
        }
        close();
    }

private:
    struct Frame {
        Node node;
        YAML::anchor_t anchor = 0;
        std::optional<Node> key;        ///< map: the key whose value comes next
        std::vector<Node> merges;       ///< map: what `<<` brought in, in order
        std::vector<Node> deep_merges;  ///< the same for `<<<`
        bool skip = false;              ///< map: the key is a repetition
    };

    static std::string own_tag(const std::string& tag) {
        return tag == "?" || tag == "!" ? "" : tag;
    }

    /// Aliases copy, so a short file could ask for an exponential tree.
    void count(std::size_t more, const YAML::Mark& mark) {
        count_ += more;
        if (count_ > max_nodes) {
            fail(position(mark), "",
                 {"the file expands to more than 250000 values", "", "", "use fewer aliases"});
        }
    }

    /// The parser takes the end of the file for a closing quote.
    void check_quote(const YAML::Mark& mark) const {
        if (mark.line < 0 || static_cast<std::size_t>(mark.line) >= line_starts_.size()) {
            return;
        }
        std::size_t at = line_starts_[static_cast<std::size_t>(mark.line)] +
                         static_cast<std::size_t>(mark.column);
        if (at >= text_.size() || (text_[at] != '"' && text_[at] != '\'')) {
            return;
        }
        const char quote = text_[at];
        for (++at; at < text_.size(); ++at) {
            if (text_[at] == '\\' && quote == '"') {
                ++at;
            } else if (text_[at] == quote && at + 1 < text_.size() && text_[at + 1] == quote &&
                       quote == '\'') {
                ++at;
            } else if (text_[at] == quote) {
                return;
            }
        }
        fail(position(mark), "",
             {"a quote is not closed", "", "",
              "close it, or check that the "
              "file was written completely"});
    }

    void open(Node node, const std::string& tag, YAML::anchor_t anchor) {
        node.tag = own_tag(tag);
        stack_.push_back({std::move(node), anchor, {}, {}, {}, false});
    }

    void close() {
        Frame frame = std::move(stack_.back());
        stack_.pop_back();
        complete(std::move(frame.node), frame.anchor);
    }

    void complete(Node node, YAML::anchor_t anchor) {
        base::poll_reading();
        if (++count_ > max_nodes) {
            fail(node.position, "",
                 {"the file holds more than 250000 values", "", "",
                  "use 'repeat', or fewer values"});
        }
        if (anchor != 0) {
            count_ += size_of(node);  // what stands under nested anchors is kept for each
            anchors_[anchor] = node;
        }
        if (stack_.empty()) {
            root = std::move(node);
            return;
        }
        Frame& frame = stack_.back();
        if (frame.node.is_sequence()) {
            frame.node.items.push_back(std::move(node));
        } else if (!frame.key) {
            begin_entry(frame, std::move(node));
        } else {
            end_entry(frame, std::move(node));
        }
    }

    static void merge_deep(Node& target, const Node& source) {
        for (const Node::Entry& entry : source.entries) {
            Node* existing = target.find(entry.key);
            if (existing == nullptr) {
                target.entries.push_back(entry);
            } else if (existing->is_map() && entry.value.is_map()) {
                merge_deep(*existing, entry.value);
            } else if (existing->is_sequence() && entry.value.is_sequence() &&
                       existing->tag != "!nomerge") {
                existing->items.insert(existing->items.end(), entry.value.items.begin(),
                                       entry.value.items.end());
            }
        }
    }

    void begin_entry(Frame& frame, Node key) {
        if (key.is_null()) {
            // An unquoted ~ or null as key, or an empty key.
            fail(key.position, "",
                 {"a key is empty or null", "", "a name before the colon",
                  "quote the key if it is meant literally"});
        }
        if (!key.is_scalar()) {
            fail(key.position, "",
                 {"a key is " + key.describe(), "", "a name before the colon",
                  "quote the key if it contains brackets or braces"});
        }
        const Node::Entry* earlier = frame.node.find_entry(key.text);
        frame.skip = earlier != nullptr && options_.first_key_wins;
        if (frame.skip && options_.repeated) {
            options_.repeated(key.text, earlier->key_position, key.position);
        }
        if (frame.node.entries.size() == max_keys) {
            fail(key.position, "", {"a map has more than 10000 keys", key.text, "", ""});
        }
        if (earlier != nullptr && !frame.skip) {
            fail(key.position, "",
                 {"duplicate key", key.text, "every key once",
                  "the first one is at " + earlier->key_position.text() + "; remove one of them"});
        }
        frame.key = std::move(key);
    }

    void end_entry(Frame& frame, Node value) {
        const Node key = std::move(*frame.key);
        frame.key.reset();
        if (frame.skip) {
            frame.skip = false;
            return;
        }
        const bool deep = key.text == "<<<" && options_.deep_merge_keys;
        if ((key.text != "<<" && !deep) || key.quoted) {
            frame.node.insert(key.text, key.position, std::move(value));
            return;
        }
        const std::vector<Node> sources =
            value.is_sequence() ? value.items : std::vector<Node>{value};
        for (const Node& source : sources) {
            if (!source.is_map()) {
                fail(key.position, "",
                     {"a merge key needs a map or a list of maps", source.brief(), "",
                      "write <<: *anchor of a map"});
            }
            (deep ? frame.deep_merges : frame.merges).push_back(source);
        }
    }

    std::string_view text_;
    std::string file_;
    const ReadOptions& options_;
    std::vector<std::size_t> line_starts_;
    std::vector<Frame> stack_;
    std::map<YAML::anchor_t, Node> anchors_;
    std::size_t count_ = 0;
};

/// Position of byte `offset` in `text`.
Position position_at(std::string_view text, std::size_t offset, std::string file) {
    int line = 1;
    std::size_t line_start = 0;
    for (std::size_t i = 0; i < offset; ++i) {
        if (text[i] == '\n') {
            ++line;
            line_start = i + 1;
        }
    }
    return {std::move(file), line, static_cast<int>(offset - line_start) + 1};
}

/// Length of the UTF-8 sequence at `offset`, 0 when it is invalid (overlong forms, surrogates and
/// values above U+10FFFF included).
std::size_t utf8_length(std::string_view text, std::size_t offset) {
    const auto byte = [&](std::size_t i) -> unsigned {
        return offset + i < text.size() ? static_cast<unsigned char>(text[offset + i]) : 0U;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const unsigned first = byte(0);
    if (first < 0x80U) {
        return 1;
    }
    if (first >= 0xC2U && first <= 0xDFU) {
        return follows(1) ? 2 : 0;
    }
    if ((first & 0xF0U) == 0xE0U) {
        const bool overlong = first == 0xE0U && byte(1) < 0xA0U;
        const bool surrogate = first == 0xEDU && byte(1) >= 0xA0U;
        return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xF0U && first <= 0xF4U) {
        const bool overlong = first == 0xF0U && byte(1) < 0x90U;
        const bool above = first == 0xF4U && byte(1) >= 0x90U;
        return follows(1) && follows(2) && follows(3) && !overlong && !above ? 4 : 0;
    }
    return 0;
}

}  // namespace

void check_text(std::string_view text, const std::string& name) {
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '\0') {
            fail(position_at(text, i, name), "",
                 {"the file holds a NUL byte", "", "a text file",
                  "check that the right file was given"});
        }
        const std::size_t length = utf8_length(text, i);
        if (length == 0) {
            static constexpr char digits[] = "0123456789abcdef";
            const auto byte = static_cast<unsigned char>(text[i]);
            const std::string shown = {'0', 'x', digits[byte >> 4U], digits[byte & 15U]};
            fail(position_at(text, i, name), "",
                 {"the file is not valid UTF-8", "byte " + shown, "UTF-8 text",
                  "convert the file, e.g. with iconv"});
        }
        i += length;
    }
}

namespace {

/// Where a template of Jinja begins outside comments, or npos. No YAML of ours has two braces or a
/// percent sign there.
std::size_t jinja_at(std::string_view text) {
    bool comment = false;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
        const bool blank_before =
            i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t' || text[i - 1] == '\n';
        comment = text[i] != '\n' && (comment || (text[i] == '#' && blank_before));
        if (!comment && text[i] == '{' && (text[i + 1] == '{' || text[i + 1] == '%')) {
            return i;
        }
    }
    return std::string_view::npos;
}

void refuse_jinja(std::string_view text, const std::string& name) {
    const std::size_t at = jinja_at(text);
    if (at != std::string_view::npos) {
        const std::size_t end = std::min(text.find('\n', at), at + 40);
        fail(position_at(text, at, name), "",
             {"this is a template of Jinja, which is not evaluated",
              std::string(text.substr(at, end - at)), "plain YAML",
              "write out what it stands for, or use 'variables', 'include', 'repeat' and 'when'; "
              "the "
              "Python package tessera.accelforge has AccelForge evaluate it"});
    }
}

}  // namespace

Node read_text(std::string_view text, const std::string& name) {
    check_text(text, name);
    refuse_jinja(text, name);
    return read_text(text, name, {});
}

Node read_text(std::string_view text, const std::string& name, const ReadOptions& options) {
    check_text(text, name);
    // A byte order mark would shift the columns of the first line.
    if (text.substr(0, 3) == "\xef\xbb\xbf") {
        text.remove_prefix(3);
    }
    TreeBuilder builder(text, name, options);
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    try {
        const bool found = parser.HandleNextDocument(builder);
        if (!found || !builder.root || builder.root->is_null()) {
            fail({name, 0, 0}, "",
                 {"the file is empty", "", "a map such as 'arch:' or 'workload:'",
                  "check that the file was written completely"});
        }
        Node root = std::move(*builder.root);
        builder.root.reset();
        if (!options.first_document_only && parser.HandleNextDocument(builder) && builder.root) {
            fail(builder.root->position, "",
                 {"the file holds a second YAML document", "", "one document",
                  "remove the line with '---'"});
        }
        assign_paths(root);
        return root;
    } catch (const YAML::Exception& error) {
        const bool known = !error.mark.is_null();
        Position place{name, 0, 0};
        if (known) {
            place = builder.position(error.mark);
        }
        fail(place, "",
             {"not valid YAML: " + error.msg, "", "",
              "check indentation, brackets and quotes here and just above"});
    }
}

namespace {

/// Whatever ends, within reason: a device may go on for ever.
std::string read_to_the_end(std::istream& stream, const std::string& path) {
    constexpr std::size_t largest_bytes = 256u << 20;
    std::string text;
    char part[1 << 16];
    while (stream.read(part, sizeof part), stream.gcount() > 0) {
        text.append(part, static_cast<std::size_t>(stream.gcount()));
        if (text.size() > largest_bytes) {
            throw UserError(path + ": more than 256 MiB come out of it; is it the right file?");
        }
    }
    return text;
}

}  // namespace

std::string read_bytes(const std::string& path) {
    // What comes out of a pipe does so once, and is kept for whoever asks again.
    static std::map<std::string, std::string> piped;
    if (const auto known = piped.find(path); known != piped.end()) {
        remember_text(path, known->second);
        return known->second;
    }
    if (const std::optional<std::string> kept = kept_text(path)) {
        return *kept;
    }
    if (const std::optional<std::string> before = text_read_before(path)) {
        return *before;
    }
    std::error_code failed;
    std::ifstream stream(path, std::ios::binary);
    if (const auto kind = std::filesystem::status(path, failed).type();
        stream && (kind == std::filesystem::file_type::fifo ||
                   kind == std::filesystem::file_type::character ||
                   kind == std::filesystem::file_type::socket)) {
        piped[path] = read_to_the_end(stream, path);
        remember_text(path, piped[path]);
        return piped[path];
    }
    std::ostringstream content;
    if (stream && stream.peek() != std::ifstream::traits_type::eof()) {
        content << stream.rdbuf();
    }
    if (!stream.is_open() || stream.bad() || content.bad()) {
        throw UserError(path + ": cannot read the file; check the path and the permissions");
    }
    std::string text = content.str();
    remember_text(path, text);
    return text;
}

Node read_file(const std::string& path) {
    const std::string text = read_bytes(path);
    return path.ends_with(".cfg") ? read_libconfig(text, path) : read_text(text, path);
}

}  // namespace tessera::spec
