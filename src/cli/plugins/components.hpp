// The components a command works with: cost model, mapper, strategy, and their knobs.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "tessera/plugin/loader.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::cli {

/// Adds --mapper and --strategy (if `mapper`), --model, and add_knobs().
void add_components(options::options_description& description, bool mapper);
/// Adds --knob, --knobs and --plugin.
void add_knobs(options::options_description& description);

/// Loads the plugins that `args` name with --plugin, then those in the folders for plugins. What is
/// refused there is told on `err`. \throws PluginError for a named one.
void load_plugins(const std::vector<std::string>& args, std::ostream& err);

/// Optional plugins are loaded when they are named; this loads all. \returns those that cannot be
std::vector<plugin::Refusal> load_all_optional();

/// What the user chose. Mappers and strategies share one name space: `--mapper random` is
/// `--mapper search --strategy random`.
struct Components {
    /// \throws UserError for unknown names, with the nearest one.
    Components(const Arguments& arguments, bool with_mapper);

    std::string model, mapper, strategy;
    std::map<std::string, plugin::KnobSettings> knobs;  ///< by component

    plugin::Owned<model::CostModel> make_model() const;
    plugin::Owned<mapper::Mapper> make_mapper() const;

private:
    plugin::KnobSettings knobs_of(const std::string& component) const;
    void choose_mapper(const std::string& name, bool given, const std::string& strategy);
    std::vector<std::string> used_names() const;
    void read_knob(const std::string& setting);
    void read_knob_file(const std::string& file);
};

}  // namespace tessera::cli
