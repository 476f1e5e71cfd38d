// `ERT` and `ART`, the tables that Accelergy writes.

#include <algorithm>

#include "timeloop/read.hpp"
#include "values.hpp"

namespace tessera::timeloop {

namespace {

using spec::Node;
using spec::Range;

// Energies of estimators may be slightly negative by interpolation; they are taken as they are.
const Range any_number = Range::between(-1e24, 1e24);

class ErtReader {
public:
    explicit ErtReader(const Values& values) : values_(values) {}

    /// Versions 0.3 and 0.4: a list of components with lists of actions.
    void read_list(const Node& tables) {
        for (const Node& item : tables.items) {
            const Section table(item, values_, "a table of the ERT");
            table.allow({"subcomponents", "primitive_estimations"});
            ErtComponent component;
            component.name = values_.text(table.required({"name"}));
            for (const Node& one : list_of(table.required({"actions"}), "actions")) {
                const Section action(one, values_, "an action");
                action.allow({"arguments"}).free_form();
                add(component, values_.text(action.required({"name"})),
                    values_.number(action.required({"energy"}), any_number));
            }
            result.push_back(std::move(component));
        }
    }

    /// Version 0.2: component -> action -> energy, or a list of energies by arguments.
    void read_map(const Node& tables) {
        for (const Node::Entry& entry : tables.entries) {
            ErtComponent component;
            component.name = entry.key;
            for (const Node::Entry& action : entry.value.entries) {
                if (action.value.is_scalar()) {
                    add(component, action.key, values_.number(action.value, any_number));
                    continue;
                }
                if (action.value.is_map()) {
                    variant(component, action.key, action.value);
                }
                for (const Node& one : action.value.items) {
                    variant(component, action.key, one);
                }
            }
            result.push_back(std::move(component));
        }
    }

    Ert result;

private:
    void variant(ErtComponent& component, const std::string& action, const Node& node) const {
        const Section one(node, values_, "an action");
        one.allow({"arguments"}).free_form();
        add(component, action, values_.number(one.required({"energy"}), any_number));
    }

    static void add(ErtComponent& component, const std::string& name, double energy_pj) {
        const auto [action, fresh] = component.actions.try_emplace(name, energy_pj);
        action->second = std::max(action->second, energy_pj);
    }

    const Values& values_;
};

const Node* tables_of(const Document& document, const char* key, const Values& values) {
    const Node* node = find_key(document.root, key);
    if (node == nullptr || node->is_null()) {
        return nullptr;
    }
    const Section section(*node, values, std::string("the ") + key);
    section.allow({"version"});
    const Node& tables = section.required({"tables"});
    if (!tables.is_map() && !tables.is_sequence()) {
        spec::fail(tables, {"the tables of the " + std::string(key) +
                                " are neither a list nor a "
                                "map",
                            tables.brief(), "a list of {name, actions} or {name, area}", ""});
    }
    return &tables;
}

std::optional<Ert> ert_of(const Document& document, const Values& values) {
    const Node* tables = tables_of(document, "ERT", values);
    if (tables == nullptr) {
        return std::nullopt;
    }
    ErtReader reader(values);
    tables->is_map() ? reader.read_map(*tables) : reader.read_list(*tables);
    return std::move(reader.result);
}

std::optional<Art> art_of(const Document& document, const Values& values) {
    const Node* tables = tables_of(document, "ART", values);
    if (tables == nullptr) {
        return std::nullopt;
    }
    Art result;
    for (const Node& item : tables->items) {
        const Section table(item, values, "a table of the ART");
        table.allow({"subcomponents", "primitive_estimations"});
        result.push_back({values.text(table.required({"name"})),
                          values.number(table.required({"area"}), any_number)});
    }
    for (const Node::Entry& entry : tables->entries) {
        const Node* area = entry.value.is_map() ? find_key(entry.value, "area") : &entry.value;
        if (area != nullptr) {
            result.push_back({entry.key, values.number(*area, any_number)});
        }
    }
    return result;
}

}  // namespace

std::optional<Ert> read_ert(const Document& document, Warnings& warnings) {
    const Values values(document, warnings);
    return values.watched([&] { return ert_of(document, values); });
}

std::optional<Art> read_art(const Document& document, Warnings& warnings) {
    const Values values(document, warnings);
    return values.watched([&] { return art_of(document, values); });
}

}  // namespace tessera::timeloop
