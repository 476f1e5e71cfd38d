// Version 0.4 architectures: from nodes to levels.
//
//   Flattener::collect       the tree in order, with branches of !Parallel resolved
//   Flattener::attach        constraints listed elsewhere come to their nodes
//   Flattener::expand        macros of constraints (constraint_macros.cpp)
//   Flattener::place         levels with instances, meshes and inherited attributes

#include <algorithm>
#include <map>
#include <set>

#include "read_parts.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/position.hpp"
#include "timeloop/constraints/constraint_macros.hpp"
#include "timeloop/read.hpp"
#include "values.hpp"

namespace tessera::timeloop {

namespace {

using spec::Node;
using spec::Range;

void set(Node& map, const std::string& key, Node value) {
    if (Node* existing = map.find(key)) {
        *existing = std::move(value);
    } else {
        const Position place = value.position;
        map.insert(key, place, std::move(value));
    }
}

/// A container or component on its way into the chain.
struct Placed {
    const Node* node = nullptr;
    std::string name, class_name;
    bool container = false;
    bool nothing = false;  ///< only says which data spaces its branch of a !Parallel keeps
    std::int64_t mesh_x = 1, mesh_y = 1;  ///< own fan-out
    NodeConstraints constraints;
};

class Flattener {
public:
    Flattener(Document& document, const Node& nodes)
        : document_(document), values_(document, warnings_), nodes_(nodes) {
        if (find_key(document.root, "problem") != nullptr) {
            Warnings told_later;
            problem_ = read_problem(document, told_later);
        }
    }

    void run() {
        values_.watched([&] {
            flatten();
            return true;
        });
        for (const std::string& warning : warnings_) {
            document_.warnings.push_back(warning);
        }
        write();
    }

private:
    void flatten() {
        const Section architecture(*find_key(document_.root, "architecture"), values_,
                                   "the architecture");
        architecture.allow({"version", "nodes", "name", "attributes"});
        warn_version(architecture);
        collect(nodes_, false);
        attach_all();
        warn_ineffective();
        for (const Branches& branches : branches_) {
            resolve(branches);
        }
        std::vector<FanoutConstraints> nodes;
        for (Placed& placed : placed_) {
            expand_macros(placed.constraints, problem_);
            nodes.push_back({&placed.constraints, placed.mesh_x * placed.mesh_y});
        }
        maximize_dims(nodes, problem_);
        warn_splits();
        place_all();
    }

    void warn(const Position& where, const std::string& text) {
        values_.warn(where.text() + ": " + text);
    }

    void warn_version(const Section& architecture) {
        const Node* version = architecture.find({"version"});
        if (version == nullptr || version->text != "0.4") {
            warn(version == nullptr ? architecture.node().position : version->position,
                 "an architecture of nodes is read as version 0.4, not " +
                     (version == nullptr ? "without a version" : "'" + version->text + "'") +
                     "; write 'version: 0.4'");
        }
    }

    void warn_splits() {
        for (const Placed& placed : placed_) {
            const std::string text =
                placed.constraints.counted_by_split(problem_, placed.mesh_x, placed.mesh_y);
            for (const auto& [type, where] : placed.constraints.types()) {
                if (type == "spatial" && !text.empty()) {
                    warn(where, "'" + placed.name + "': " + text);
                }
            }
        }
    }

    /// Only storage has loops in time and keeps data.
    void warn_ineffective() {
        for (const Placed& placed : placed_) {
            if (placed.nothing || (!placed.container && is_storage_class(placed.class_name))) {
                continue;
            }
            for (const auto& [type, where] : placed.constraints.types()) {
                if (type != "spatial") {
                    warn(where, "a constraint of type '" + type + "' on '" + placed.name +
                                    "', which is no storage, is ignored; move it to a storage "
                                    "component");
                }
            }
        }
    }

    /// The branches of one !Parallel: ranges of placed_.
    struct Branches {
        const Node* node = nullptr;
        std::vector<std::pair<std::size_t, std::size_t>> ranges;
    };

    void collect(const Node& list, bool parallel) {
        Branches branches{&list, {}};
        for (const Node& node : list_of(list, "nodes")) {
            const std::size_t first = placed_.size();
            one(node, parallel);
            branches.ranges.emplace_back(first, placed_.size());
        }
        if (parallel) {
            branches_.push_back(std::move(branches));
        }
    }

    void one(const Node& node, bool parallel) {
        static const std::vector<std::string> tags = {"!Container", "!Component",    "!Parallel",
                                                      "!Pipelined", "!Hierarchical", "!Nothing"};
        const Section section(node, values_, "a node of the architecture");
        // The second line is Accelergy's.
        section.allow({"name", "class", "subclass", "attributes", "spatial", "constraints",
                       "sparse_optimizations", "required_actions", "area_scale", "energy_scale",
                       "actions", "component_class", "primitive_components"});
        if (!section.boolean({"enabled"}).value_or(true)) {
            return;
        }
        if (node.tag == "!Parallel" || node.tag == "!Pipelined" || node.tag == "!Hierarchical") {
            collect(section.required({"nodes"}), node.tag == "!Parallel");
            return;
        }
        const bool nothing = node.tag == "!Nothing";
        if (node.tag != "!Container" && node.tag != "!Component" && !nothing) {
            spec::fail(node, {node.tag.empty() ? "a node without a tag" : "unknown kind of node",
                              node.tag, spec::name_list(tags), spec::did_you_mean(node.tag, tags)});
        }
        Placed placed;
        placed.node = &node;
        placed.container = node.tag == "!Container";
        placed.nothing = nothing;
        if (!nothing) {
            const Node& name = section.required({"name"});
            placed.name = component_name_of(name, values_.text(name)).name;
        }
        placed.class_name = section.text({"class"}).value_or("");
        if (const Node* spatial = section.find({"spatial"})) {
            const Section mesh(*spatial, values_, "the fan-out");
            placed.mesh_x = mesh.integer({"meshX"}, Range::between(1, 9e15)).value_or(1);
            placed.mesh_y = mesh.integer({"meshY"}, Range::between(1, 9e15)).value_or(1);
            count_of(*spatial, placed.mesh_x, placed.mesh_y);
        }
        if (parallel && (placed.container || placed.mesh_x * placed.mesh_y > 1)) {
            spec::fail(node,
                       {"a container or a fan-out directly under !Parallel", placed.name,
                        "components without fan-out", "put the fan-out before the !Parallel"});
        }
        if (const Node* constraints = section.find({"constraints"})) {
            const Section by_type(*constraints, values_, "the constraints of a node");
            for (const std::string& type : constraint_types()) {
                if (const Node* given = by_type.find({type.c_str()})) {
                    name_fields(Section(*given, values_, "a constraint"));
                    placed.constraints.add(type, *given);
                }
            }
        }
        placed_.push_back(std::move(placed));
    }

    /// Slips are named beside the errors that they cause here.
    static void name_fields(const Section& constraint) {
        constraint.read_later()
            .allow({"target", "type", "keep", "bypass", "factors", "permutation", "split"})
            .allow(constraint_shorthand);
    }

    /// `constraints`, `mapping`, and whatever else is called ..._constraints.
    void attach_all() {
        for (const Node::Entry& entry : document_.root.entries) {
            const bool constraints =
                entry.key == "constraints" || entry.key == "mapping" ||
                (entry.key.size() > 12 &&
                 entry.key.compare(entry.key.size() - 12, 12, "_constraints") == 0 &&
                 entry.key != "mapspace_constraints");
            if (!constraints || is_empty(entry.value)) {
                continue;
            }
            const Node* list = &entry.value;
            if (entry.value.is_map()) {
                const Section map(entry.value, values_, "the constraints");
                list = map.allow({"version"}).find({"targets"});
            }
            if (list == nullptr) {
                continue;
            }
            for (const Node& item : list_of(*list, "a list of constraints")) {
                attach(item);
            }
        }
    }

    void attach(const Node& node) {
        const Section item(node, values_, "a constraint");
        name_fields(item);
        const Node& target = item.required({"target"});
        const std::string name = values_.text(target);
        std::vector<std::string> known;
        for (Placed& placed : placed_) {
            if (placed.name == name) {
                const Node& type = item.required({"type"});
                const std::vector<std::string>& types = constraint_types();
                if (std::find(types.begin(), types.end(), type.text) == types.end()) {
                    spec::fail(type,
                               {"unknown type of constraint", type.text, spec::name_list(types),
                                spec::did_you_mean(type.text, types)});
                }
                placed.constraints.add(type.text, node);
                return;
            }
            known.push_back(placed.name);
        }
        spec::fail(target, {"no node of the architecture has this name", name,
                            spec::name_list(known), spec::did_you_mean(name, known)});
    }

    /// Each data space lives in one branch.
    void resolve(const Branches& branches) {
        std::vector<std::set<std::string>> keeps;
        std::set<std::string> kept;
        for (const auto& [first, last] : branches.ranges) {
            std::set<std::string>& keep = keeps.emplace_back();
            for (std::size_t i = first; i < last; ++i) {
                for (const std::string& space : placed_[i].constraints.kept(problem_)) {
                    keep.insert(space);
                }
            }
            for (const std::string& space : keep) {
                if (!kept.insert(space).second) {
                    spec::fail(*branches.node,
                               {"a data space is kept in two branches of a !Parallel", space,
                                "one branch for each data space", ""});
                }
            }
        }
        for (const DataSpace& space : problem_.data_spaces) {
            if (kept.count(space.name) == 0) {
                spec::fail(*branches.node, {"a data space is kept in no branch of a !Parallel",
                                            space.name, "a branch that keeps it",
                                            "add it to a 'keep', or add a branch "
                                            "'- !Nothing' with a constraint that keeps it"});
            }
        }
        for (std::size_t b = 0; b < branches.ranges.size(); ++b) {
            for (std::size_t i = branches.ranges[b].first; i < branches.ranges[b].second; ++i) {
                for (const DataSpace& space : problem_.data_spaces) {
                    if (keeps[b].count(space.name) == 0) {
                        placed_[i].constraints.bypass(space.name, *placed_[i].node);
                    }
                }
            }
        }
    }

    void place_all() {
        std::int64_t x = 1, y = 1;
        bool compute = false;
        for (const Placed& placed : placed_) {
            const Node* attributes = find_key(*placed.node, "attributes");
            if (placed.container && attributes != nullptr) {
                for (const Node::Entry& entry : attributes->entries) {
                    set(inherited_, entry.key, entry.value);
                }
            }
            const bool fan_out = placed.mesh_x * placed.mesh_y > 1;
            if (fan_out) {
                place_dummy(placed, x, y);
                x = count_of(*placed.node, x, placed.mesh_x);
                y = count_of(*placed.node, y, placed.mesh_y);
                count_of(*placed.node, x, y);
            }
            if (!placed.container && !placed.nothing) {
                place(placed, x, y, fan_out);
                compute = is_compute_class(placed.class_name);
            }
        }
        if (!compute) {
            spec::fail(nodes_, {"the last node of the architecture is no compute component", "",
                                "a !Component whose class contains 'mac' or 'compute'", ""});
        }
    }

    /// A level that stands for a fan-out.
    void place_dummy(const Placed& placed, std::int64_t x, std::int64_t y) {
        Node attributes = at(*placed.node, Node::map({}));
        for (const char* key : {"width", "depth", "datawidth"}) {
            set(attributes, key, text_at(*placed.node, "1"));
        }
        const std::string name = "inter_" + placed.name + "_spatial";
        component(name, "dummy_storage", *placed.node, std::move(attributes), x, y);
        NodeConstraints constraints;
        constraints.make_dummy(placed.constraints, problem_, *placed.node);
        for (Node& item : constraints.written(name, problem_, true, true)) {
            constraints_.push_back(std::move(item));
        }
    }

    void place(const Placed& placed, std::int64_t x, std::int64_t y, bool spatial_done) {
        const Node* own = find_key(*placed.node, "attributes");
        Node attributes = own == nullptr || own->is_null() ? at(*placed.node, Node::map({})) : *own;
        for (const Node::Entry& entry : inherited_.entries) {
            if (attributes.find(entry.key) == nullptr) {
                attributes.insert(entry.key, entry.key_position, entry.value);
            }
        }
        evaluate(attributes);
        component(placed.name, placed.class_name, *placed.node, std::move(attributes), x, y);
        const bool storage = is_storage_class(placed.class_name);
        for (Node& item :
             placed.constraints.written(placed.name, problem_, !spatial_done, storage)) {
            constraints_.push_back(std::move(item));
        }
        const Node* sparse = find_key(*placed.node, "sparse_optimizations");
        if (sparse != nullptr && sparse->is_map() && !is_empty(*sparse)) {
            Node target = *sparse;
            if (target.find("name") == nullptr) {
                set(target, "name", text_at(*placed.node, placed.name));
            }
            sparse_.push_back(std::move(target));
        }
    }

    /// Attributes may be computed from one another.
    void evaluate(Node& attributes) const {
        spec::Symbols symbols = values_.symbols().child();
        for (const Node::Entry& entry : attributes.entries) {
            if (entry.value.is_scalar() && !entry.value.quoted) {
                try {
                    symbols.set_lazy(entry.key, spec::Expression::parse(entry.value));
                } catch (const UserError&) {  // plain text, such as 45nm
                }
            }
        }
        for (Node::Entry& entry : attributes.entries) {
            if (!entry.value.is_scalar() || entry.value.quoted) {
                continue;
            }
            try {
                const spec::Value value = spec::Expression::parse(entry.value).evaluate(symbols);
                if (value.is<double>()) {
                    entry.value.text = value.text();
                }
            } catch (const UserError&) {
            }
        }
    }

    void component(const std::string& name, const std::string& class_name, const Node& origin,
                   Node attributes, std::int64_t x, std::int64_t y) {
        if (is_storage_class(class_name)) {
            for (const auto& [key, value] :
                 {std::pair{"cluster_size", "1"}, std::pair{"reduction_supported", "true"}}) {
                if (const Node* given = attributes.find(key); given == nullptr) {
                    set(attributes, key, text_at(origin, value));
                }
            }
        }
        set(attributes, "meshX", text_at(origin, std::to_string(x)));
        set(attributes, "meshY", text_at(origin, std::to_string(y)));
        Node node = at(origin, Node::map({}));
        set(node, "name", text_at(origin, name + "[1.." + std::to_string(x * y) + "]"));
        set(node, "class", text_at(origin, class_name));
        set(node, "attributes", std::move(attributes));
        components_.push_back(std::move(node));
    }

    void write() {
        Node& root = document_.root;
        Node level = at(nodes_, Node::map({}));
        set(level, "name", text_at(nodes_, "system_top_level"));
        Node local = at(nodes_, Node::sequence({}));
        local.items = std::move(components_);
        set(level, "local", std::move(local));
        Node subtree = at(nodes_, Node::sequence({}));
        subtree.items.push_back(std::move(level));
        Node architecture = at(nodes_, Node::map({}));
        set(architecture, "version", text_at(nodes_, "0.4"));
        set(architecture, "subtree", std::move(subtree));
        Node targets = at(nodes_, Node::sequence({}));
        targets.items = std::move(constraints_);
        if (Node* mapping = root.find("mapping"); mapping != nullptr && !is_empty(*mapping)) {
            *mapping = targets;
        }
        Node list = at(nodes_, Node::map({}));
        set(list, "targets", std::move(targets));
        if (!sparse_.empty()) {
            Node optimizations = at(nodes_, Node::map({}));
            Node sparse_targets = at(nodes_, Node::sequence({}));
            sparse_targets.items = std::move(sparse_);
            set(optimizations, "targets", std::move(sparse_targets));
            set(root, "sparse_optimizations", std::move(optimizations));
        }
        set(root, "architecture_constraints", std::move(list));
        set(root, "architecture", std::move(architecture));
        document_.from_nodes = true;
    }

    Document& document_;
    Warnings warnings_;
    Values values_;
    const Node& nodes_;
    Problem problem_;
    std::vector<Placed> placed_;
    std::vector<Branches> branches_;
    Node inherited_ = Node::map({});
    std::vector<Node> components_, constraints_, sparse_;
};

}  // namespace

void flatten_nodes(Document& document) {
    const Node* architecture = find_key(document.root, "architecture");
    const Node* nodes = architecture == nullptr || !architecture->is_map()
                            ? nullptr
                            : find_key(*architecture, "nodes");
    if (nodes == nullptr || nodes->is_null()) {
        return;
    }
    // The tree is changed while it is read.
    const Node copy = *nodes;
    Flattener flattener(document, copy);
    flattener.run();
}

}  // namespace tessera::timeloop
