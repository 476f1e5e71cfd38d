// `arch` and `architecture`.
//
//   read_levels    form A: `arithmetic` and a list `storage`, innermost level first
//   TreeReader     form B: nested `subtree`s with `local` components, outermost first
//   is_tree        which of them, by the version
//
// The ERT comes later (read_energies.cpp); what the input does not say is filled in from the
// built-in tables here.

#include <algorithm>
#include <charconv>

#include "read_parts.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/position.hpp"
#include "timeloop/read.hpp"
#include "values.hpp"

namespace tessera::timeloop {

namespace {

using spec::Node;
using spec::Range;

bool contains_any(const std::string& text, std::initializer_list<const char*> parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const char* part) { return text.find(part) != std::string::npos; });
}

void read_arithmetic(const Section& from, const std::string& name, std::int64_t tree_count,
                     Architecture& into) {
    ArithmeticLevel& level = into.arithmetic;
    level = {};
    level.name = name;
    const MeshSize mesh = read_mesh(from, name, tree_count);
    level.instances = mesh.instances;
    level.mesh_x = mesh.x;
    level.mesh_y = mesh.y;
    level.word_bits = from.integer({"word_bits", "datawidth"}, Range::between(1, 1e6)).value_or(16);
    for (const char* key : {"network_operand", "network_result"}) {
        if (const Node* network = from.find({key})) {
            refuse(*network, "networks of the user's own", "remove the key");
        }
    }
    if (const std::optional<double> energy = from.number({"energy"}, Range::between(0, 1e24))) {
        level.energy_pj = *energy;
        level.energy_source = "user";
    }
    level.area_um2 = from.number({"area"}, Range::between(0, 1e24)).value_or(0);
}

/// Keys of components that Accelergy or the Python front end reads.
constexpr Keys tools_of_components = {"class",          "subclass",    "enabled",
                                      "actions",        "area_scale",  "required_actions",
                                      "energy_scale",   "constraints", "primitive_components",
                                      "component_class"};

/// The attributes of a level: its own map `attributes` if there is one, else the level itself.
Section attributes_of(const Section& level) {
    const Node* inner = level.find({"attributes"});
    if (inner == nullptr) {
        return level;
    }
    Section result(*inner, level.values(), "the attributes");
    // Of Accelergy, like known ones but not meant to be them; and of sparse mappings.
    result.allow({"n_rdwr_ports", "n_rd_ports", "n_wr_ports", "n_rw_ports", "memory_type",
                  "payload_word_bits", "bank_depth", "bank_width",
                  "concordant_compressed_tile_traversal"});
    return result.free_form();
}

void read_levels(const Section& arch, Architecture& into) {
    const Section arithmetic(arch.required({"arithmetic"}), arch.values(), "the arithmetic level");
    arithmetic.allow(tools_of_components);
    const std::string name = arithmetic.text({"name"}).value_or("__ARITH__");
    read_arithmetic(attributes_of(arithmetic), component_name_of(arithmetic.node(), name).name, 0,
                    into);
    for (const Node& item : list_of(arch.required({"storage"}), "storage")) {
        const Section level(item, arch.values(), "a storage level");
        level.allow(tools_of_components);
        const std::string level_name = arch.values().text(level.required({"name"}));
        into.storage.push_back(read_storage(attributes_of(level),
                                            component_name_of(item, level_name).name,
                                            level.text({"class"}).value_or(""), 0));
    }
}

class TreeReader {
public:
    TreeReader(const Values& values, Architecture& into) : values_(values), into_(into) {}

    void run(const Section& architecture) {
        const Node* subtree = architecture.find({"subtree"});
        if (subtree == nullptr) {
            spec::fail(architecture.node(),
                       {"the architecture lacks the key 'subtree'", "", "", "add it"});
        }
        for (; subtree != nullptr; subtree = next(*subtree)) {
        }
        if (!found_compute_) {
            spec::fail(architecture.node(),
                       {"the architecture has no compute component", "",
                        "a component whose class contains 'mac' or 'compute'", "add one"});
        }
        std::reverse(into_.storage.begin(), into_.storage.end());
    }

private:
    /// Reads the one subtree of a list. \returns the list below it, or nullptr
    const Node* next(const Node& subtrees) {
        const std::vector<Node>& list = list_of(subtrees, "subtree");
        if (list.size() != 1) {
            spec::fail(subtrees, {"branches are not supported", std::to_string(list.size()),
                                  "exactly one subtree a level",
                                  "write parallel memories as levels with bypass constraints"});
        }
        const Section tree(list.front(), values_, "a subtree");
        tree.allow({"attributes"});  // Accelergy's: no component inherits them in Timeloop
        const Node* name = tree.find({"name"});
        if (name != nullptr) {
            count_ = count_of(*name, count_, component_name_of(*name, values_.text(*name)).count);
        }
        if (const Node* local = tree.find({"local"})) {
            for (const Node& item : list_of(*local, "local")) {
                component(Section(item, values_, "a component"));
            }
        }
        return tree.find({"subtree"});
    }

    void component(const Section& item) {
        item.allow(tools_of_components);
        const Node& name_node = item.required({"name"});
        const ComponentName name = component_name_of(name_node, values_.text(name_node));
        const std::string class_name = item.text({"class"}).value_or("");
        const std::int64_t count = count_of(name_node, count_, name.count);
        // An empty `attributes` is an empty map, not the component itself.
        const Section attributes = attributes_of(item);
        if (is_storage_class(class_name)) {
            into_.storage.push_back(read_storage(attributes, name.name, class_name, count));
        } else if (is_compute_class(class_name)) {
            if (found_compute_) {
                values_.warn(item.node(), "a second compute component; only this last one counts");
            }
            found_compute_ = true;
            read_arithmetic(attributes, name.name, count, into_);
        } else if (contains_any(class_name,
                                {"XY_NoC", "Legacy", "ReductionTree", "SimpleMulticast"})) {
            refuse(item.node(), "networks of the user's own (class " + class_name + ")",
                   "remove the component; a network is inferred between levels");
        }
    }

    const Values& values_;
    Architecture& into_;
    std::int64_t count_ = 1;
    bool found_compute_ = false;
};

/// Banks of a layout conflict in Timeloop's master branch, which costs cycles.
void refuse_layout(const Node& root) {
    const Node* layout = find_key(root, "layout");
    if (layout != nullptr && !is_empty(*layout)) {
        refuse(*layout, "layouts of data in banks",
               "remove the key to cost tensors without bank conflicts");
    }
}

/// Timeloop decides by the version alone: without one of three it looks for the other form.
bool is_tree(const Section& arch) {
    const Node* version = arch.find({"version"});
    const std::string text = arch.text({"version"}).value_or("");
    const bool tree = text == "0.2" || text == "0.3" || text == "0.4";
    const char* const wants = tree ? "subtree" : "arithmetic";
    const Node* other = arch.find({tree ? "arithmetic" : "subtree"});
    other = other == nullptr && !tree ? arch.find({"nodes"}) : other;
    if (other != nullptr && arch.find({wants}) == nullptr) {
        const std::string form = tree ? "a list of levels ('arithmetic' and 'storage')"
                                      : "a tree ('subtree' or 'nodes')";
        spec::fail(version == nullptr ? arch.node() : *version,
                   {"the version of the architecture " +
                        std::string(version == nullptr ? "is missing" : "does not fit its form") +
                        ": it is " + form,
                    text, tree ? "no version" : "version 0.2, 0.3 or 0.4",
                    tree ? "remove the key 'version'" : "write 'version: 0.4'"});
    }
    return tree;
}

}  // namespace

bool is_storage_class(const std::string& class_name) {
    return contains_any(class_name, {"DRAM", "SRAM", "regfile", "smartbuffer", "storage"});
}

bool is_compute_class(const std::string& class_name) {
    return contains_any(class_name, {"mac", "compute"});
}

ComponentName component_name_of(const Node& node, const std::string& text) {
    const std::size_t open = text.find('['), close = text.find(']'), dots = text.find("..");
    if (open == std::string::npos) {
        return {text, 1};
    }
    std::int64_t first = 0, last = 0;
    const auto number = [&](std::size_t from, std::size_t to, std::int64_t& into) {
        const auto [end, code] = std::from_chars(text.data() + from, text.data() + to, into);
        return code == std::errc() && end == text.data() + to;
    };
    const bool range = close != std::string::npos && dots != std::string::npos && open < dots &&
                       dots < close && number(open + 1, dots, first) &&
                       number(dots + 2, close, last) && first <= last &&
                       last - first < std::int64_t{1} << 40;
    if (!range) {
        spec::fail(node, {"a name with a range that is none", text, "NAME[FIRST..LAST]", ""});
    }
    return {text.substr(0, open), last - first + 1};
}

namespace {

Architecture architecture_in(const Document& document, const Values& values) {
    const Node* node = architecture_of(document.root);
    if (node == nullptr || node->is_null()) {
        spec::fail(document.root, {"the input lacks the key 'architecture'", "", "",
                                   "give the file with the architecture, too"});
    }
    refuse_layout(document.root);
    const Section arch(*node, values, "the architecture");
    arch.allow({"name", "constraints", "attributes", "nodes"});
    if (const Node* second = find_key(document.root, "architecture");
        second != nullptr && second != node && !second->is_null()) {
        values.warn(*second,
                    "'arch' is given, too (" + node->position.text() + "); only that one counts");
    }
    Architecture result;
    if (is_tree(arch)) {
        TreeReader(values, result).run(arch);
    } else {
        read_levels(arch, result);
    }
    if (result.storage.empty()) {
        spec::fail(*node, {"the architecture has no storage level", "", "at least one", ""});
    }
    for (std::size_t i = 0; i < result.storage.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (result.storage[i].name == result.storage[j].name) {
                spec::fail(*node, {"two storage levels of one name", result.storage[i].name, "",
                                   "rename one of them"});
            }
        }
    }
    try {
        check_topology(result);
    } catch (const UserError& error) {
        spec::fail(*node, {error.what(), "", "", ""});
    }
    apply_default_energies(result);
    return result;
}

}  // namespace

Architecture read_architecture(const Document& document, Warnings& warnings) {
    const Values values(document, warnings);
    return values.watched([&] { return architecture_in(document, values); });
}

}  // namespace tessera::timeloop
