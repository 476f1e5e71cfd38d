// Constraints on the mapspace from all places where an input may hold them.
//
//   entries_of     the list of entries behind a section: itself, `targets` or `constraints`
//   Reader         one entry: a target with its own fields, or with a list `constraints`

#include <algorithm>

#include "constraint_macros.hpp"
#include "tessera/spec/position.hpp"
#include "tessera/spec/value.hpp"
#include "timeloop/read.hpp"
#include "timeloop/read/levels.hpp"
#include "timeloop/read/values.hpp"

namespace tessera::timeloop {

namespace {

using spec::Node;
using spec::Range;

const Range factor_range = Range::between(1, 9e15);

class Reader {
public:
    /// `shorthand`: whether its keys were written out, so that only slips of them are left
    Reader(const Problem& problem, const Architecture& architecture, const Values& values,
           bool shorthand, Constraints& into)
        : problem_(problem),
          architecture_(architecture),
          values_(values),
          lookup_(problem, architecture, values),
          shorthand_(shorthand),
          into_(into) {}

    void run(const Node* section, ConstraintSource source) {
        const Node* list = entries_of(section);
        if (list == nullptr) {
            return;
        }
        for (const Node& item : list->items) {
            const Section target(item, values_, "a constraint");
            target.allow({"name"});  // beside a target
            const Node* inner = target.find({"constraints"});
            if (inner == nullptr) {
                entry(target, target, source);
                continue;
            }
            for (const Node& one : list_of(*inner, "constraints")) {
                entry(target, Section(one, values_, "a constraint"), source);
            }
        }
    }

private:
    const Node* entries_of(const Node* section) const {
        if (section == nullptr || section->is_sequence() || section->is_null()) {
            return section;
        }
        const Section map(*section, values_, "the constraints");
        map.allow({"version", "template"});
        for (const Node::Entry& entry : section->entries) {
            if (entry.key.rfind("constraints_", 0) == 0 && entry.value.is_sequence()) {
                map.allow({entry.key.c_str()});  // a list that 'constraints' may name
            }
        }
        const Node* list = map.find({"constraints", "targets"});
        if (list != nullptr && list->is_scalar()) {
            const Node* named = find_key(*section, "constraints_" + values_.text(*list));
            named = named == nullptr ? map.find({values_.text(*list).c_str()}) : named;
            if (named == nullptr) {
                spec::fail(*list, {"no list of constraints has this name", list->text,
                                   spec::name_list(section->keys()), ""});
            }
            list = named;
        }
        if (list != nullptr) {
            list_of(*list, "the constraints");
        }
        return list;
    }

    /// `target` names the level, `item` the type; the rest may lie in `attributes`.
    void entry(const Section& target, const Section& item, ConstraintSource source) {
        const Node& type_node = item.required({"type"});
        const std::string type = values_.text(type_node);
        const Node* inner = item.find({"attributes"});
        const Section fields = inner == nullptr ? item : Section(*inner, values_, "the attributes");
        if (shorthand_) {
            fields.allow(constraint_shorthand);
        }
        const Position where = item.node().position;
        const int level = lookup_.level(target);
        if (type == "temporal" || type == "spatial") {
            loops(fields, source, level, type == "spatial", where);
        } else if (type == "datatype" || type == "bypass" || type == "bypassing" ||
                   type == "dataspace") {
            bypass(fields, source, level, where);
        } else if (type == "utilization" || type == "parallelism") {
            parallelism(fields, source, level, where);
        } else if (type == "max_overbooked_proportion") {
            // Dense mappings never overbook: without effect.
            values_.number(item.required({"proportion"}), Range::between(0, 1));
        } else {
            const std::vector<std::string> known = {"temporal",
                                                    "spatial",
                                                    "datatype",
                                                    "bypass",
                                                    "utilization",
                                                    "parallelism",
                                                    "max_overbooked_proportion"};
            spec::fail(type_node, {"unknown type of constraint", type, spec::name_list(known),
                                   spec::did_you_mean(type, known)});
        }
    }

    void loops(const Section& from, ConstraintSource source, int level, bool spatial,
               const Position& where) {
        if (spatial) {
            lookup_.need_fanout(from, level, "a spatial constraint");
        }
        LoopConstraint loops;
        loops.source = source;
        loops.level = level;
        loops.spatial = spatial;
        loops.where = where;
        factors(from, loops);
        permutation(from, loops);
        const auto number = [&](Keys keys, std::optional<PlacedNumber>& into) {
            if (const Node* node = from.find(keys)) {
                into =
                    PlacedNumber{values_.integer(*node, Range::between(0, 9e15)), node->position};
            }
        };
        const auto spaces = [&](Keys keys, std::optional<PlacedSpaces>& into) {
            const Node* node = from.find(keys);
            if (node != nullptr) {
                into = PlacedSpaces{lookup_.data_spaces(*node), node->position};
            }
        };
        number({"remainders"}, loops.remainders);
        if (spatial) {
            number({"split"}, loops.split);
            spaces({"no_link_transfer"}, loops.no_link_transfer);
            spaces({"no_reuse", "no_multicast_no_reduction"}, loops.no_multicast_no_reduction);
        } else {
            spaces({"no_reuse", "no_temporal_reuse"}, loops.no_temporal_reuse);
            spaces({"rmw_first_update"}, loops.rmw_first_update);
        }
        if (loops.split && loops.permutation && !shorthand_) {
            warn_split(loops);
        }
        into_.loops.push_back(std::move(loops));
    }

    /// Fixed factors that cannot fit where `split` sends them.
    void warn_split(const LoopConstraint& loops) const {
        const std::vector<int>& order = loops.permutation->innermost;
        const auto split = static_cast<std::size_t>(loops.split->value);
        if (order.size() < split) {
            return;  // free dimensions may go along X
        }
        double used[2] = {1, 1};
        bool idle = true;  // along X
        for (const FactorRule& rule : loops.factors) {
            const auto at = std::find(order.begin(), order.end(), rule.dimension) - order.begin();
            const bool x = static_cast<std::size_t>(at) < split;
            if (rule.relation == FactorRule::Relation::equal && rule.dimension >= 0) {
                const std::int64_t end =
                    rule.value == 0
                        ? problem_.dimensions[static_cast<std::size_t>(rule.dimension)].bound
                        : rule.value;
                used[x ? 0 : 1] *= static_cast<double>(end);
                idle = idle && !(x && end > 1);
            }
        }
        const std::int64_t mesh[2] = {architecture_.fanout_x(loops.level),
                                      architecture_.fanout_y(loops.level)};
        for (const int axis : {0, 1}) {
            if (used[axis] > static_cast<double>(mesh[axis])) {
                values_.warn(
                    loops.split->where.text() + ": split " + std::to_string(split) +
                    " sends factors of " + spec::number_text(used[axis]) + " along " +
                    (axis == 0 ? "X" : "Y") + ", where level '" +
                    architecture_.storage[static_cast<std::size_t>(loops.level)].name + "' has " +
                    std::to_string(mesh[axis]) + " instances: no mapping can fit" +
                    (idle ? "; along X go only dimensions of one iteration, which Timeloop's front "
                            "end puts first where a permutation lacks them"
                          : ""));
            }
        }
    }

    void factors(const Section& from, LoopConstraint& loops) const {
        using Relation = FactorRule::Relation;
        if (const Node* node = from.find({"factors"})) {
            for (const FactorRule& one : lookup_.factors(*node)) {
                const Dimension& dimension =
                    problem_.dimensions[static_cast<std::size_t>(one.dimension)];
                if (one.relation == Relation::equal && one.value > dimension.bound) {
                    values_.warn(*node, "the factor " + std::to_string(one.value) + " of '" +
                                            dimension.name + "' is above its bound of " +
                                            std::to_string(dimension.bound) + "; it is ignored");
                    continue;
                }
                const std::int64_t end = one.value == 0 ? dimension.bound : one.value;
                if (one.residual &&
                    (one.relation != Relation::equal || *one.residual < 1 || *one.residual > end)) {
                    spec::fail(*node, {"a remainder of a factor of '" + dimension.name + "'",
                                       std::to_string(*one.residual),
                                       "from 1 to " + std::to_string(end) + ", behind D=NUMBER",
                                       "it is the number of iterations of the last pass"});
                }
                if (one.relation != Relation::equal && one.value < 1) {
                    spec::fail(*node, {"a limit of a factor of '" + dimension.name + "'",
                                       std::to_string(one.value), "a positive number", ""});
                }
                loops.factors.push_back(one);
            }
        }
        const auto common = [&](Keys keys, Relation relation) {
            if (const Node* node = from.find(keys)) {
                loops.factors.push_back({-1, relation, values_.integer(*node, factor_range),
                                         std::nullopt, node->position});
            }
        };
        common({"default_max_factor"}, Relation::at_most);
        common({"default_min_factor"}, Relation::at_least);
    }

    void permutation(const Section& from, LoopConstraint& loops) const {
        const Node* node = from.find({"permutation"});
        if (node == nullptr) {
            return;
        }
        PermutationRule rule;
        rule.where = node->position;
        bool outer = false;
        for (const int dimension : lookup_.permutation(*node, true)) {
            if (dimension < 0) {
                outer = true;
            } else {
                (outer ? rule.outermost : rule.innermost).push_back(dimension);
            }
        }
        if (!rule.innermost.empty() || !rule.outermost.empty()) {
            loops.permutation = std::move(rule);
        }
    }

    void bypass(const Section& from, ConstraintSource source, int level, const Position& where) {
        BypassConstraint result{source, level, {}, {}, std::nullopt, where};
        if (const Node* node = from.find({"keep"})) {
            result.keep = lookup_.data_spaces(*node);
        }
        if (const Node* node = from.find({"bypass"})) {
            result.bypass = lookup_.data_spaces(*node);
        }
        if (const Node* node = from.find({"no_coalesce"})) {
            result.no_coalesce = lookup_.coalescing(*node);
        }
        for (const int space : result.keep) {
            if (std::find(result.bypass.begin(), result.bypass.end(), space) !=
                result.bypass.end()) {
                spec::fail(from.node(), {"a data space is kept and bypassed at once",
                                         problem_.data_spaces[static_cast<std::size_t>(space)].name,
                                         "one of keep and bypass", ""});
            }
        }
        into_.bypasses.push_back(std::move(result));
    }

    void parallelism(const Section& from, ConstraintSource source, int level,
                     const Position& where) {
        if (level != 0) {
            spec::fail(from.node(),
                       {"utilization is constrained at level '" +
                            architecture_.storage[static_cast<std::size_t>(level)].name + "'",
                        "", "the innermost level, '" + architecture_.storage[0].name + "'",
                        "it counts the fan-out of all levels"});
        }
        into_.parallelism.push_back(
            {source, values_.number(from.required({"min"}), Range::between(0, 1)), where});
    }

    const Problem& problem_;
    const Architecture& architecture_;
    const Values& values_;
    Lookup lookup_;
    const bool shorthand_;
    Constraints& into_;
};

}  // namespace

namespace {

Constraints constraints_of(const Document& document, const Problem& problem,
                           const Architecture& architecture, const Values& values) {
    const Node& root = document.root;
    const Node* arch = architecture_of(root);
    const Node* hardware = arch == nullptr ? nullptr : find_key(*arch, "constraints");
    for (const char* key : {"arch_constraints", "architecture_constraints"}) {
        const Node* given = find_key(root, key);
        if (hardware != nullptr && given != nullptr && !given->is_null()) {
            values.warn(*given, "other constraints of the architecture are given, too (" +
                                    hardware->position.text() + "); only those count");
        }
        hardware = hardware == nullptr ? given : hardware;
    }
    const Node* mapspace = find_key(root, "mapspace");
    const Node* other = find_key(root, "mapspace_constraints");
    if (mapspace != nullptr && other != nullptr && !mapspace->is_null() && !other->is_null()) {
        if (document.dialect == Dialect::master) {
            spec::fail(*other, {"both 'mapspace' and 'mapspace_constraints' are given", "",
                                "one of them", "the other stands at " + mapspace->position.text()});
        }
        values.warn(*other, "'mapspace' is given, too (" + mapspace->position.text() +
                                "); only that one counts");
    }
    Constraints result;
    if (const Node* mapper = find_key(root, "mapper"); mapper != nullptr && mapper->is_map()) {
        const Node* most = find_key(*mapper, "max_temporal_loops_in_a_mapping");
        if (most != nullptr && !most->is_null()) {
            result.temporal_loops =
                PlacedNumber{values.integer(*most, Range::between(-1, 9e15)), most->position};
        }
    }
    Reader reader(problem, architecture, values, document.from_nodes, result);
    reader.run(hardware, ConstraintSource::architecture);
    reader.run(mapspace == nullptr || mapspace->is_null() ? other : mapspace,
               ConstraintSource::mapspace);
    return result;
}

}  // namespace

Constraints read_constraints(const Document& document, const Problem& problem,
                             const Architecture& architecture, Warnings& warnings) {
    const Values values(document, warnings);
    return values.watched([&] { return constraints_of(document, problem, architecture, values); });
}

}  // namespace tessera::timeloop
