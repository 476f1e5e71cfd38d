#include "constraint_macros.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include "tessera/spec/position.hpp"
#include "timeloop/read/levels.hpp"

namespace tessera::timeloop {

using spec::Node;

std::vector<std::string> items_of(const Node& node) {
    std::vector<std::string> result;
    if (node.is_sequence()) {
        for (const Node& item : node.items) {
            // [R, =, 3] is R=3.
            std::string text = item.text;
            for (const Node& part : item.items) {
                text += part.text;
            }
            result.push_back(text);
        }
        return result;
    }
    std::string item;
    for (const char c : node.text + ",") {
        if (c == ',' || c == ' ' || c == '\t') {
            if (!item.empty()) {
                result.push_back(std::exchange(item, ""));
            }
        } else {
            item += c;
        }
    }
    return result;
}

std::string dimension_of(const std::string& factor) {
    return factor.substr(0, std::min(factor.find_first_of("=<>0123456789 "), factor.size()));
}

namespace {

Node& field(Node& constraint, const std::string& key, const Node& origin) {
    Node* existing = constraint.find(key);
    if (existing != nullptr && existing->is_null()) {
        constraint.erase(key);
        existing = nullptr;
    }
    if (existing == nullptr) {
        return constraint.insert(key, origin.position, at(origin, Node::sequence({})));
    }
    if (!existing->is_sequence()) {
        Node list = at(*existing, Node::sequence({}));
        for (const std::string& item : items_of(*existing)) {
            list.items.push_back(text_at(*existing, item));
        }
        *existing = std::move(list);
    }
    return *existing;
}

}  // namespace

void add_factor(Node& constraint, const std::string& factor, const Node& origin, bool keep_first) {
    Node& factors = field(constraint, "factors", origin);
    for (const std::string& given : items_of(factors)) {
        const bool both_equal = given.find_first_of("<>") == std::string::npos &&
                                factor.find_first_of("<>") == std::string::npos;
        if (dimension_of(given) == dimension_of(factor) && (both_equal || keep_first)) {
            if (!keep_first && given != factor) {
                spec::fail(origin, {"contradicting factors", given + " and " + factor, "one value",
                                    "remove one of the constraints"});
            }
            return;
        }
    }
    factors.items.push_back(text_at(origin, factor));
}

namespace {

/// Names of data spaces; `*` is all of them.
std::vector<std::string> spaces_of(const Node& node, const Problem& problem) {
    std::vector<std::string> result;
    for (const std::string& item : items_of(node)) {
        if (item == "*") {
            for (const DataSpace& space : problem.data_spaces) {
                result.push_back(space.name);
            }
        } else {
            result.push_back(item);
        }
    }
    return result;
}

/// Dimensions that index any of the data spaces.
std::set<std::string> dimensions_of(const Node& spaces, const Problem& problem) {
    std::set<std::string> result;
    for (const std::string& name : spaces_of(spaces, problem)) {
        const int space = data_space_named(spaces, name, problem);
        for (const auto& rank : problem.data_spaces[space].ranks) {
            for (const Term& term : rank) {
                result.insert(problem.dimensions[static_cast<std::size_t>(term.dimension)].name);
            }
        }
    }
    return result;
}

void expand_loops(Node& constraint, const Problem& problem) {
    const auto take = [&](const char* key, const auto& expand) {
        const Node* found = constraint.find(key);
        if (found != nullptr && !found->is_null()) {
            const Node macro = *found;
            expand(macro);
        }
        constraint.erase(key);
    };
    take("factors_only", [&](const Node& macro) {
        for (const std::string& factor : items_of(macro)) {
            add_factor(constraint, factor, macro, false);
        }
        for (const Dimension& dimension : problem.dimensions) {
            add_factor(constraint, dimension.name + "=1", macro, true);
        }
    });
    take("no_iteration_over_dataspaces", [&](const Node& macro) {
        for (const std::string& dimension : dimensions_of(macro, problem)) {
            add_factor(constraint, dimension + "=1", macro, false);
        }
    });
    take("must_iterate_over_dataspaces", [&](const Node& macro) {
        const std::set<std::string> used = dimensions_of(macro, problem);
        for (const Dimension& dimension : problem.dimensions) {
            if (used.count(dimension.name) == 0) {
                add_factor(constraint, dimension.name + "=1", macro, false);
            }
        }
    });
}

void add_space(Node& constraint, const char* key, const std::string& space, const Node& origin) {
    const char* opposite = std::string(key) == "keep" ? "bypass" : "keep";
    if (const Node* other = constraint.find(opposite)) {
        const std::vector<std::string> items = items_of(*other);
        if (std::find(items.begin(), items.end(), space) != items.end()) {
            spec::fail(origin, {"a data space is kept and bypassed at once", space,
                                "one of keep and bypass", ""});
        }
    }
    Node& list = field(constraint, key, origin);
    const std::vector<std::string> items = items_of(list);
    if (std::find(items.begin(), items.end(), space) == items.end()) {
        list.items.push_back(text_at(origin, space));
    }
}

void expand_spaces(Node& constraint, const Problem& problem) {
    for (const auto& [key, own, other] :
         {std::tuple{"keep_only", "keep", "bypass"}, std::tuple{"bypass_only", "bypass", "keep"}}) {
        const Node* found = constraint.find(key);
        if (found != nullptr && !found->is_null()) {
            const Node macro = *found;
            const std::vector<std::string> named = spaces_of(macro, problem);
            for (const DataSpace& space : problem.data_spaces) {
                const bool in = std::find(named.begin(), named.end(), space.name) != named.end();
                add_space(constraint, in ? own : other, space.name, macro);
            }
        }
        constraint.erase(key);
    }
}

std::vector<std::string> order_of(const Node& permutation, const Problem& problem) {
    std::vector<std::string> order = items_of(permutation);
    // "CMR" without separators.
    if (permutation.is_scalar() && order.size() == 1 && problem.find_dimension(order.front()) < 0) {
        const std::string text = std::exchange(order, {}).front();
        for (const char c : text) {
            order.emplace_back(1, c);
        }
    }
    return order;
}

/// What `factors` fix for a dimension, else 1.
std::int64_t fixed_factor(const Node& constraint, const std::string& dimension) {
    std::int64_t value = 1;
    if (const Node* factors = find_key(constraint, "factors")) {
        for (const std::string& factor : items_of(*factors)) {
            const std::size_t digits = factor.find_first_of("0123456789");
            if (dimension_of(factor) == dimension && factor.find_first_of("<>") == factor.npos &&
                digits != factor.npos) {
                std::from_chars(factor.data() + digits, factor.data() + factor.size(), value);
            }
        }
    }
    return value;
}

/// Loops known to have one iteration go innermost: their order makes no difference. Unless there is
/// a `split`, which counts them: the front end of Timeloop puts them there even then.
void complete_permutation(Node& constraint, const Problem& problem) {
    std::vector<std::string> order;
    const Node* given = find_key(constraint, "permutation");
    if (given != nullptr && !given->is_null()) {
        order = order_of(*given, problem);
    }
    const auto put_first = [&](const std::string& dimension) {
        if (std::find(order.begin(), order.end(), dimension) == order.end()) {
            order.insert(order.begin(), dimension);
        }
    };
    if (const Node* factors = find_key(constraint, "factors")) {
        for (const std::string& factor : items_of(*factors)) {
            const std::string dimension = dimension_of(factor);
            const std::string rest = factor.substr(dimension.size());
            if (rest == "=1" || rest == "<=1" || rest == "1") {
                put_first(dimension);
            }
        }
    }
    for (const Dimension& dimension : problem.dimensions) {
        if (dimension.bound == 1) {
            put_first(dimension.name);
        }
    }
    Node list = at(given == nullptr ? constraint : *given, Node::sequence({}));
    for (const std::string& dimension : order) {
        list.items.push_back(text_at(list, dimension));
    }
    constraint.erase("permutation");  // and with it what `given` points to
    if (!order.empty()) {
        constraint.insert("permutation", list.position, std::move(list));
    }
}

}  // namespace

std::string NodeConstraints::counted_by_split(const Problem& problem, std::int64_t mesh_x,
                                              std::int64_t mesh_y) const {
    const auto found = by_type_.find("spatial");
    const Node* split = found == by_type_.end() ? nullptr : found->second.find("split");
    std::size_t count = 0;
    if (split != nullptr) {
        std::from_chars(split->text.data(), split->text.data() + split->text.size(), count);
    }
    if (count == 0 || count >= problem.dimensions.size()) {
        return "";  // all go along one axis
    }
    Node constraint = found->second;
    complete_permutation(constraint, problem);
    const Node* given = found->second.find("permutation");
    const Node* order = constraint.find("permutation");
    const std::size_t written = given == nullptr ? 0 : order_of(*given, problem).size();
    if (order == nullptr || order->items.size() <= written) {
        return "";
    }
    const std::size_t added = order->items.size() - written;
    std::vector<std::string> axes[2], all;
    std::int64_t used[2] = {1, 1};
    for (std::size_t i = 0; i < order->items.size(); ++i) {
        const std::string& dimension = order->items[i].text;
        axes[i < count ? 0 : 1].push_back(dimension);
        used[i < count ? 0 : 1] *= fixed_factor(found->second, dimension);
        all.insert(i < added ? all.end() : all.begin() + static_cast<std::ptrdiff_t>(i - added),
                   dimension);
    }
    const bool fits = used[0] <= mesh_x && used[1] <= mesh_y;
    return "the permutation lacks dimensions of one iteration; Timeloop's front end puts them "
           "first, and split counts them: " +
           spec::name_list(axes[0]) + " along X, " + spec::name_list(axes[1]) + " along Y" +
           (fits ? ""
                 : ", where the factors need " + std::to_string(used[0]) + " by " +
                       std::to_string(used[1]) + " instances of " + std::to_string(mesh_x) +
                       " by " + std::to_string(mesh_y) + ": no mapping can fit") +
           "; name every dimension, such as permutation: [" + spec::name_list(all) + "]";
}

const std::vector<std::string>& constraint_types() {
    static const std::vector<std::string> types = {
        "spatial",     "temporal",    "dataspace",
        "datatype",    "bypass",      "bypassing",
        "utilization", "parallelism", "max_overbooked_proportion"};
    return types;
}

std::vector<std::pair<std::string, Position>> NodeConstraints::types() const {
    std::vector<std::pair<std::string, Position>> result;
    for (const auto& [type, constraint] : by_type_) {
        result.emplace_back(type, constraint.position);
    }
    return result;
}

Node& NodeConstraints::of_type(const std::string& kind, const Node& origin) {
    Node& mine = by_type_[kind];
    if (mine.is_null()) {
        mine = at(origin, Node::map({}));
    }
    return mine;
}

void NodeConstraints::add(const std::string& type, const Node& value) {
    if (value.is_null()) {
        return;
    }
    const bool keeps = type == "bypass" || type == "bypassing" || type == "datatype";
    const std::string kind = keeps ? "dataspace" : type == "parallelism" ? "utilization" : type;
    Node& mine = of_type(kind, value);
    for (const Node::Entry& entry : value.entries) {
        if (entry.key == "type" || entry.key == "target" || entry.value.is_null()) {
            continue;
        }
        const Node* existing = mine.find(entry.key);
        if (existing == nullptr) {
            mine.insert(entry.key, entry.key_position, entry.value);
        } else if (entry.key == "factors") {
            for (const std::string& factor : items_of(entry.value)) {
                add_factor(mine, factor, entry.value, false);
            }
        } else if (entry.key == "keep" || entry.key == "bypass") {
            for (const std::string& space : items_of(entry.value)) {
                add_space(mine, entry.key.c_str(), space, entry.value);
            }
        } else if (items_of(*existing) != items_of(entry.value)) {
            spec::fail(
                entry.value,
                {"a constraint says something else than one before it", entry.key, "",
                 "the other one stands at " + existing->position.text() + "; remove one of them"});
        }
    }
}

std::vector<std::string> NodeConstraints::kept(const Problem& problem) const {
    const auto found = by_type_.find("dataspace");
    std::vector<std::string> result;
    if (found != by_type_.end()) {
        Node constraint = found->second;
        expand_spaces(constraint, problem);
        if (const Node* keep = constraint.find("keep")) {
            result = spaces_of(*keep, problem);
        }
    }
    return result;
}

void NodeConstraints::bypass(const std::string& space, const Node& origin) {
    add_space(of_type("dataspace", origin), "bypass", space, origin);
}

void NodeConstraints::make_dummy(const NodeConstraints& from, const Problem& problem,
                                 const Node& origin) {
    Node &temporal = of_type("temporal", origin), &spaces = of_type("dataspace", origin);
    for (const Dimension& dimension : problem.dimensions) {
        add_factor(temporal, dimension.name + "=1", origin, false);
        field(temporal, "permutation", origin).items.push_back(text_at(origin, dimension.name));
    }
    for (const DataSpace& space : problem.data_spaces) {
        add_space(spaces, "bypass", space.name, origin);
    }
    const auto spatial = from.by_type_.find("spatial");
    by_type_["spatial"] =
        spatial == from.by_type_.end() ? at(origin, Node::map({})) : spatial->second;
}

std::vector<Node> NodeConstraints::written(const std::string& target, const Problem& problem,
                                           bool spatial, bool storage) const {
    std::vector<Node> result;
    for (const char* type :
         {"spatial", "temporal", "dataspace", "max_overbooked_proportion", "utilization"}) {
        const std::string kind = type;
        const bool loops = kind == "spatial" || kind == "temporal";
        const auto found = by_type_.find(kind);
        if ((kind == "spatial" && !spatial) || (found == by_type_.end() && kind != "temporal") ||
            (!storage && kind != "spatial")) {
            continue;
        }
        Node constraint = found == by_type_.end() ? Node::map({}) : found->second;
        if (loops) {
            complete_permutation(constraint, problem);
        }
        if (constraint.entries.empty()) {
            continue;
        }
        constraint.insert("target", constraint.position, text_at(constraint, target));
        constraint.insert("type", constraint.position,
                          text_at(constraint, kind == "dataspace" ? "bypass" : kind));
        result.push_back(std::move(constraint));
    }
    return result;
}

void expand_macros(NodeConstraints& constraints, const Problem& problem) {
    for (auto& [type, constraint] : constraints.by_type_) {
        if (type == "spatial" || type == "temporal") {
            expand_loops(constraint, problem);
        } else if (type == "dataspace") {
            expand_spaces(constraint, problem);
        }
    }
}

}  // namespace tessera::timeloop
