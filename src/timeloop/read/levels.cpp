#include "levels.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "tessera/spec/position.hpp"
#include "timeloop/read.hpp"

namespace tessera::timeloop {

using spec::Node;

namespace {

[[noreturn]] void unknown(const Node& where, const std::string& what, const std::string& name,
                          const std::vector<std::string>& known) {
    spec::fail(where,
               {"unknown " + what, name, spec::name_list(known), spec::did_you_mean(name, known)});
}

bool digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

int Lookup::level(const Section& entry) const {
    // Beside a target, a name is only a label.
    const Node* target = entry.find({"target"});
    const Node* label = entry.find({"name"});
    const Node& node = target != nullptr  ? *target
                       : label != nullptr ? *label
                                          : entry.required({"target"});
    const std::string name = component_name_of(node, values_.text(node)).name;
    const int found = architecture_.find_level(name);
    if (found >= 0) {
        return found;
    }
    if (!name.empty() && std::all_of(name.begin(), name.end(), digit)) {
        const std::int64_t number = values_.integer(node, {});
        if (number < architecture_.levels()) {
            return static_cast<int>(number);
        }
    }
    unknown(node, "storage level", name, names_of(architecture_.storage));
}

int Lookup::dimension(const Node& where, const std::string& name) const {
    const int found = problem_.find_dimension(name);
    if (found < 0) {
        unknown(where, "dimension", name, names_of(problem_.dimensions));
    }
    return found;
}

int data_space_named(const Node& where, const std::string& name, const Problem& problem) {
    const int found = problem.find_data_space(name);
    if (found < 0) {
        unknown(where, "data space", name, names_of(problem.data_spaces));
    }
    return found;
}

std::vector<int> Lookup::data_spaces(const Node& node) const {
    std::vector<int> result;
    for (const std::string& name : values_.texts(node)) {
        if (name == "*") {
            for (std::size_t i = 0; i < problem_.data_spaces.size(); ++i) {
                result.push_back(static_cast<int>(i));
            }
        } else {
            result.push_back(data_space_named(node, name, problem_));
        }
    }
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

void Lookup::parse_factors(const Node& where, const std::string& text,
                           std::vector<FactorRule>& into) const {
    std::size_t at = 0;
    const std::string body = text.substr(0, text.find('#'));
    const auto skip = [&](const char* marks) {
        at = std::min(body.find_first_not_of(marks, at), body.size());
    };
    const auto number = [&] {
        std::int64_t value = 0;
        const auto [end, code] =
            std::from_chars(body.data() + at, body.data() + body.size(), value);
        if (code == std::errc::result_out_of_range) {
            spec::fail(where, {"a factor out of range", body.substr(at, end - body.data() - at),
                               "a number up to 2^63", "correct the factor"});
        }
        if (code != std::errc() || !digit(body[at])) {
            spec::fail(where, {"factors that cannot be read", text,
                               "for example C=2 M=4 P=3,1 (DIMENSION=NUMBER)",
                               "a number is missing at column " + std::to_string(at + 1) +
                                   " of the text"});
        }
        at = static_cast<std::size_t>(end - body.data());
        return value;
    };
    for (skip(" \t,;\n"); at < body.size(); skip(" \t,;\n")) {
        std::size_t end = at;
        while (end < body.size() &&
               (std::isalpha(static_cast<unsigned char>(body[end])) != 0 || body[end] == '_')) {
            ++end;
        }
        if (end == at && digit(body[at])) {
            spec::fail(where, {"factors that cannot be read", text,
                               "for example C=2 M=4 P=3,1 (DIMENSION=NUMBER)",
                               "a number stands without a dimension; a remainder follows its "
                               "factor behind a comma without a blank, in quotes within a list: "
                               "\"P=3,1\""});
        }
        FactorRule factor;
        factor.dimension = dimension(where, body.substr(at, end - at));
        at = end;
        skip(" \t");
        if (at < body.size() && (body[at] == '<' || body[at] == '>')) {
            factor.relation =
                body[at++] == '<' ? FactorRule::Relation::at_most : FactorRule::Relation::at_least;
        }
        if (at < body.size() && body[at] == '=') {
            ++at;
        }
        skip(" \t");
        if (body.compare(at, 2, "-1") == 0 && (at + 2 == body.size() || !digit(body[at + 2]))) {
            at += 2;
            values_.warn("a factor of -1 says nothing, as in Timeloop: the dimension is free");
            continue;
        }
        factor.value = number();
        if (at + 1 < body.size() && body[at] == ',' && digit(body[at + 1])) {
            ++at;
            factor.residual = number();
        }
        into.push_back(factor);
    }
}

std::vector<FactorRule> Lookup::factors(const Node& node) const {
    std::vector<FactorRule> result;
    if (node.is_map()) {
        for (const Node::Entry& entry : node.entries) {
            parse_factors(entry.value, entry.key + "=" + values_.text(entry.value), result);
        }
    } else {
        for (const std::string& text : values_.texts(node)) {
            parse_factors(node, text, result);
        }
    }
    for (FactorRule& rule : result) {
        rule.where = node.position;
    }
    return result;
}

std::vector<int> Lookup::permutation(const Node& node, bool allow_gap) const {
    std::vector<std::string> names;
    for (const std::string& text : values_.texts(node)) {
        std::string name;
        for (const char c : text.substr(0, text.find('#'))) {
            const bool separator = c == ',' || std::isspace(static_cast<unsigned char>(c)) != 0;
            if (!separator) {
                name += c;
            }
            const bool gap = name == "_" && allow_gap;
            if (gap || problem_.find_dimension(name) >= 0 || (separator && !name.empty())) {
                names.push_back(std::exchange(name, ""));
            }
        }
        if (!name.empty()) {
            names.push_back(name);
        }
    }
    std::vector<int> result;
    for (const std::string& name : names) {
        const int id = name == "_" && allow_gap ? -1 : dimension(node, name);
        if (std::find(result.begin(), result.end(), id) != result.end()) {
            spec::fail(node, {"a permutation names a dimension twice", name,
                              "each dimension at most once", "remove one"});
        }
        result.push_back(id);
    }
    return result;
}

PlacedSpaces Lookup::coalescing(const Node& node) const {
    PlacedSpaces result{data_spaces(node), node.position};
    if (architecture_.sparse && !result.spaces.empty()) {
        refuse(node, "levels of sparse designs that do not coalesce",
               "remove the key, or 'sparse_optimizations' to cost dense tensors");
    }
    return result;
}

void Lookup::need_fanout(const Section& entry, int level, const std::string& what) const {
    if (architecture_.fanout(level) <= 1) {
        spec::fail(entry.node(), {what + " for level '" + architecture_.storage[level].name +
                                      "', below which nothing is repeated",
                                  "", "a level with a fan-out",
                                  "remove it, or give the next inner level more instances"});
    }
}

}  // namespace tessera::timeloop
