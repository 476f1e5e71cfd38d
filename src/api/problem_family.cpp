#include "api/problem_family.hpp"

#include <cctype>
#include <filesystem>
#include <set>

#include "spec/warnings.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::api {

namespace {

/// A number that is written as such; else nothing.
std::optional<double> plain_number(const spec::Node& scalar) {
    if (scalar.quoted || scalar.text.empty()) {
        return std::nullopt;
    }
    try {
        const spec::Expression expression = spec::Expression::parse(scalar);
        const spec::Value value =
            expression.names().empty() ? expression.evaluate(spec::Symbols()) : spec::Value("");
        return value.is<double>() ? std::optional(value.as<double>()) : std::nullopt;
    } catch (const Error&) {
        return std::nullopt;  // a projection, a set, a name
    }
}

/// Everything of the tree that has a meaning: no places, no comments, `16` and `2 * 8` alike.
void dump(const spec::Node& node, std::string& to) {
    const auto put = [&](const std::string& text) {
        to += std::to_string(text.size()) + ":" + text;
    };
    to += static_cast<char>('0' + static_cast<int>(node.kind));
    put(node.tag);
    if (node.is_scalar()) {
        const std::optional<double> number = plain_number(node);
        to += node.quoted ? "q" : number ? "n" : "t";
        put(number ? spec::number_text(*number) : node.text);
    }
    for (const spec::Node& item : node.items) {
        dump(item, to);
    }
    for (const spec::Node::Entry& entry : node.entries) {
        put(entry.key);
        dump(entry.value, to);
    }
    to += ";";
}

std::set<std::string> words_of(const std::string& text) {
    std::set<std::string> words;
    std::string word;
    for (const char c : text + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
            word += c;
        } else if (!word.empty()) {
            words.insert(word);
            word.clear();
        }
    }
    return words;
}

void add_words(const spec::Node& node, std::set<std::string>& words) {
    words.merge(words_of(node.text));
    for (const spec::Node& item : node.items) {
        add_words(item, words);
    }
    for (const spec::Node::Entry& entry : node.entries) {
        words.merge(words_of(entry.key));
        add_words(entry.value, words);
    }
}

/// The values of the variables that the tree names; in doubt all that is defined, as written.
std::string values_of(const spec::Document& document, const std::set<std::string>& words,
                      const spec::Defines& defines) {
    std::string text;
    try {
        for (const std::string& name : document.variables.names()) {
            if (words.count(name) > 0) {
                const std::optional<spec::Value> value = document.variables.find(name);
                text += name + "=" + (value ? value->type_name() + value->text() : "") + "\n";
            }
        }
        return text;
    } catch (const Error&) {
        text = "?";
    }
    for (const auto& [name, value] : defines) {
        text += name + "=" + value + "\n";
    }
    return text;
}

std::string identity_of(spec::Node tree, const spec::Defines& defines) {
    // Variables of the section itself are bound apart and stay in the tree: as written.
    std::string own;
    if (const spec::Node* const arch = tree.find("arch")) {
        const spec::Node* const variables = arch->find("variables");
        for (const std::string& name : variables ? variables->keys() : std::vector<std::string>()) {
            const auto given = defines.find(name);
            own += given == defines.end() ? "" : name + "=" + given->second + "\n";
        }
    }
    spec::Document document = spec::expand_document(std::move(tree), defines);
    document.root.erase("variables");
    std::set<std::string> words = words_of(own);
    add_words(document.root, words);
    std::string text = values_of(document, words, defines) + own;
    dump(document.root, text);
    return text;
}

}  // namespace

ProblemFamily::ProblemFamily(const std::string& architecture, const std::string& workload) {
    std::vector<ReadInput> read = read_inputs({architecture, workload, "", {}});
    const auto stem = [](const Input& input) {
        return std::filesystem::path(input.path).stem().string();
    };
    for (ReadInput& one : read) {
        const bool hardware = one.input.role == "architecture";
        (hardware ? architecture_ : workload_) = std::move(one.tree);
        (hardware ? architecture_name_ : workload_name_) = stem(one.input);
        files_.push_back(one.input);
    }
    spec::assign_paths(architecture_);
    spec::assign_paths(workload_);
}

void ProblemFamily::check(const Choice& choice) const {
    std::vector<std::string> declared = spec::declared_variables(architecture_);
    const std::vector<std::string> more = spec::declared_variables(workload_);
    declared.insert(declared.end(), more.begin(), more.end());
    spec::check_defines(choice.defines, declared);
    tree("arch", choice);
    tree("workload", choice);
}

spec::Node ProblemFamily::tree(const std::string& section, const Choice& choice) const {
    spec::Node result = section == "arch" ? architecture_ : workload_;
    for (const spec::Setting& setting : choice.settings) {
        if (spec::section_of(setting) == section) {
            spec::apply(result, setting);
        }
    }
    return result;
}

Inputs ProblemFamily::with(const Choice& choice) const {
    const spec::HeardWarnings heard;
    Inputs result;
    result.architecture.emplace(tree("arch", choice), choice.defines, architecture_name_);
    result.workload = read_workload(tree("workload", choice), choice.defines, workload_name_);
    result.files = files_;
    result.warnings = heard.lines();
    return result;
}

std::string ProblemFamily::identity(const Choice& choice) const {
    const auto part = [&](const char* section) {
        const std::string text = identity_of(tree(section, choice), choice.defines);
        return std::to_string(text.size()) + ":" + text;
    };
    return part("arch") + part("workload");
}

}  // namespace tessera::api
