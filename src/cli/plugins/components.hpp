// The components a command works with: cost model, mapper, strategy, and their knobs.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "tessera/plugin/loader.hpp"
#include "tessera/session.hpp"

namespace tessera::cli {

/// Adds --mapper and --strategy (if `mapper`), --model, and add_knobs().
void add_components(options::Description& description, bool mapper);
/// Adds --knob, --knobs and --plugin.
void add_knobs(options::Description& description);

/// Loads the plugins that `args` name with --plugin, then those in the folders for plugins. What is
/// refused there is told on `err`. \throws PluginError for a named one.
void load_plugins(const std::vector<std::string>& args, std::ostream& err);

/// Optional plugins are loaded when they are named; this loads all. \returns those that cannot be
std::vector<plugin::Refusal> load_all_optional();

/// What the user chose. Mappers and strategies share one name space: `--mapper random` is
/// `--mapper search --strategy random`.
struct Components : tessera::Components {
    /// \throws UserError for unknown names, with the nearest one.
    Components(const Arguments& arguments, bool with_mapper);
    /// Of one that is compared: this mapper or strategy (empty: none), with these settings as
    /// --knob has them.
    Components(const Arguments& arguments, const std::string& mapper,
               const std::vector<std::string>& settings);

private:
    void read_model(const Arguments& arguments);
    void read_knobs(const Arguments& arguments, const std::vector<std::string>& settings);
    void choose_mapper(const std::string& name, bool given, const std::string& strategy);
    void read_knob(const std::string& setting);
    void read_knob_file(const std::string& file);
};

}  // namespace tessera::cli
