// The components that the program knows: built in or loaded.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tessera/plugin/cost_model.hpp"
#include "tessera/plugin/mapper.hpp"
#include "tessera/plugin/search_strategy.hpp"

namespace tessera::plugin {

/// A component, ended by the library that made it.
template <class Role>
using Owned = std::unique_ptr<Role, std::function<void(Role*)>>;

/// Knob values as the user gave them: name -> text.
using KnobSettings = std::map<std::string, std::string>;

/// One registered component.
template <class Role>
struct Entry {
    std::string name;
    std::string summary;   ///< one line
    std::string citation;  ///< paper or empty
    std::vector<Knob> knobs;
    std::string library;  ///< the plugin that it belongs to, "" if it is part of the program
    std::string file;     ///< of the library, or ""
    std::function<Owned<Role>(const KnobValues&)> create;
};

/// All components of a role, sorted by name.
template <class Role>
class Registry {
public:
    /// Holds the program's own components from the start.
    static Registry& instance();

    /// \throws PluginError naming both files if the name is taken, Bug if both are built in.
    bool add(Entry<Role> entry);
    /// \throws UserError listing the known names and the nearest one, or naming a knob that is
    /// unknown or out of its range; PluginError if the component cannot be made.
    Owned<Role> create(const std::string& name, const KnobSettings& knobs = {}) const;
    /// Null if unknown.
    const Entry<Role>* find(const std::string& name) const;
    const std::vector<Entry<Role>>& entries() const {
        return entries_;
    }

private:
    std::vector<Entry<Role>> entries_;
};

extern template class Registry<model::CostModel>;
extern template class Registry<search::SearchStrategy>;
extern template class Registry<mapper::Mapper>;

/// Every knob's value: what the user gave, checked, and defaults for the rest. `component` is named
/// in errors. \throws UserError
KnobValues read_knobs(const std::string& component, const std::vector<Knob>& knobs,
                      const KnobSettings& given);

/// JSON Schema of the knobs of a component, as text.
std::string knob_schema(const std::string& component, const std::vector<Knob>& knobs);

/// "integer from 1 to 4096", for people.
std::string describe(const Knob& knob);

/// Makes sure that every built-in component is linked and registered. May be repeated. Thread rule:
/// any thread.
void register_builtins();

/// Adds components that this program or library defines with TESSERA_PLUGIN itself. What is known
/// already is left as it is. \throws PluginError if a name is taken. Thread rule: before searches
/// are started.
void add_components(const std::vector<const tessera_component*>& components);
inline void register_own_components() {
    add_components(own_components());
}

/// Adds the components of one plugin to the registries. `file`: "" for what is linked in.
/// \throws PluginError if a name is taken: all or nothing is added.
void add_library(const tessera_plugin& plugin, const std::string& file);

}  // namespace tessera::plugin
