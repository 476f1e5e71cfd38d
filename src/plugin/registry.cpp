#include "tessera/plugin/registry.hpp"

#include <algorithm>
#include <new>
#include <sstream>

#include "base/nearest.hpp"
#include "base/printable.hpp"
#include "plugin/guard.hpp"
#include "tessera/base/error.hpp"

namespace tessera::plugin {

namespace {

std::string origin(const std::string& file) {
    return file.empty() ? "the program itself" : file;
}

std::vector<Knob> knobs_of(const tessera_component& c) {
    std::vector<Knob> knobs;
    for (std::uint32_t i = 0; i < c.n_knobs; ++i) {
        const tessera_knob& k = c.knobs[i];
        Knob knob{static_cast<KnobType>(k.type),
                  k.name,
                  k.standard,
                  k.lowest,
                  k.highest,
                  k.unit,
                  k.text,
                  {}};
        std::istringstream list(k.choices);
        for (std::string choice; std::getline(list, choice, '|');) {
            knob.choices.push_back(choice);
        }
        knobs.push_back(std::move(knob));
    }
    return knobs;
}

template <class Role>
Owned<Role> make(const tessera_component& c, const std::string& file, const KnobValues& values) {
    std::vector<tessera_value> list;
    for (const auto& [name, text] : values.all()) {
        list.push_back({name.c_str(), text.c_str()});
    }
    tessera_error error{sizeof(tessera_error), {}};
    void* object = nullptr;
    const int status =
        c.create(list.data(), static_cast<std::uint32_t>(list.size()), &object, &error);
    if (status == TESSERA_NO_MEMORY && file.empty()) {
        throw std::bad_alloc();
    }
    if (status != TESSERA_OK || object == nullptr) {
        error.text[sizeof error.text - 1] = '\0';
        throw PluginError(std::string(Contract<Role>::name) + " '" + c.name + "'" +
                          (file.empty() ? "" : " of " + file) + " could not be created: " +
                          (error.text[0] != '\0' ? error.text : "no reason given"));
    }
    return {static_cast<Role*>(object), [destroy = c.destroy](Role* made) { destroy(made); }};
}

template <class Role>
Entry<Role> entry_of(const tessera_component& c, const std::string& library,
                     const std::string& file) {
    return {c.name,
            c.summary,
            c.citation,
            knobs_of(c),
            library,
            file,
            [&c, file](const KnobValues& values) { return make<Role>(c, file, values); }};
}

/// Throws if some registry that shares the component's name space has the name.
template <class Role>
void refuse_if_taken(const tessera_component& c, const std::string& file) {
    const Entry<Role>* known = Registry<Role>::instance().find(c.name);
    if (known != nullptr) {
        throw PluginError("two components are called '" + std::string(c.name) + "': a " +
                          Contract<Role>::name + " in " + origin(known->file) + " and one in " +
                          origin(file) + "; load only one of them");
    }
}

void check_names(const tessera_plugin& plugin, const std::string& file) {
    for (std::uint32_t i = 0; i < plugin.n_components; ++i) {
        const tessera_component& c = *plugin.components[i];
        if (c.kind == TESSERA_COST_MODEL) {
            refuse_if_taken<model::CostModel>(c, file);
        } else {
            refuse_if_taken<search::SearchStrategy>(c, file);
            refuse_if_taken<mapper::Mapper>(c, file);
        }
        for (std::uint32_t k = 0; k < i; ++k) {
            const tessera_component& other = *plugin.components[k];
            const bool both = (c.kind == TESSERA_COST_MODEL) == (other.kind == TESSERA_COST_MODEL);
            if (both && std::string(c.name) == other.name) {
                throw PluginError("two components of " + origin(file) + " are called '" + c.name +
                                  "'");
            }
        }
    }
}

}  // namespace

template <class Role>
Registry<Role>& Registry<Role>::instance() {
    // Made on first use, after all static objects of the program: components have announced
    // themselves by then.
    static Registry registry = [] {
        Registry made;
        for (const tessera_component* c : own_components()) {
            if (c->kind == Contract<Role>::kind) {
                made.add(entry_of<Role>(*c, "", ""));
            }
        }
        return made;
    }();
    return registry;
}

template <class Role>
bool Registry<Role>::add(Entry<Role> entry) {
    const auto place = std::lower_bound(
        entries_.begin(), entries_.end(), entry.name,
        [](const Entry<Role>& known, const std::string& name) { return known.name < name; });
    if (place != entries_.end() && place->name == entry.name) {
        const std::string message =
            "the name '" + entry.name + "' is taken by another " + Contract<Role>::name;
        if (entry.file.empty() && place->file.empty()) {
            throw Bug(message);
        }
        throw PluginError(message + ": in " + origin(place->file) + " and in " +
                          origin(entry.file));
    }
    entries_.insert(place, std::move(entry));
    return true;
}

template <class Role>
const Entry<Role>* Registry<Role>::find(const std::string& name) const {
    for (const Entry<Role>& entry : entries_) {
        if (entry.name == name) {
            return &entry;
        }
    }
    return nullptr;
}

template <class Role>
Owned<Role> Registry<Role>::create(const std::string& name, const KnobSettings& knobs) const {
    if (const Entry<Role>* entry = find(name)) {
        return guarded(entry->create(read_knobs(name, entry->knobs, knobs)), name, entry->file);
    }
    std::vector<std::string> names;
    for (const Entry<Role>& entry : entries_) {
        names.push_back(entry.name);
    }
    std::string message =
        std::string("unknown ") + Contract<Role>::name + " '" + base::one_line(name) + "'";
    const std::string near = nearest(name, names);
    message += near.empty() ? "" : "; did you mean '" + near + "'?";
    message += "; there are:";
    for (const std::string& known : names) {
        message += " " + known;
    }
    throw UserError(message);
}

template class Registry<model::CostModel>;
template class Registry<search::SearchStrategy>;
template class Registry<mapper::Mapper>;

void add_library(const tessera_plugin& plugin, const std::string& file) {
    check_names(plugin, file);
    for (std::uint32_t i = 0; i < plugin.n_components; ++i) {
        const tessera_component& c = *plugin.components[i];
        switch (c.kind) {
            case TESSERA_COST_MODEL:
                Registry<model::CostModel>::instance().add(
                    entry_of<model::CostModel>(c, plugin.name, file));
                break;
            case TESSERA_SEARCH_STRATEGY:
                Registry<search::SearchStrategy>::instance().add(
                    entry_of<search::SearchStrategy>(c, plugin.name, file));
                break;
            default:
                Registry<mapper::Mapper>::instance().add(
                    entry_of<mapper::Mapper>(c, plugin.name, file));
        }
    }
}

void add_components(const std::vector<const tessera_component*>& components) {
    static std::vector<const tessera_component*> known = own_components();
    std::vector<const tessera_component*> fresh;
    for (const tessera_component* c : components) {
        if (std::find(known.begin(), known.end(), c) == known.end()) {
            fresh.push_back(c);
        }
    }
    if (fresh.empty()) {
        return;
    }
    const tessera_plugin own{sizeof(tessera_plugin),
                             TESSERA_ABI_MAJOR,
                             TESSERA_ABI_MINOR,
                             "",
                             "",
                             "",
                             "",
                             "",
                             fresh.data(),
                             static_cast<std::uint32_t>(fresh.size())};
    add_library(own, "");
    known.insert(known.end(), fresh.begin(), fresh.end());
}

}  // namespace tessera::plugin
