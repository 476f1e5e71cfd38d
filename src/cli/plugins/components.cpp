#include "components.hpp"

#include <cctype>
#include <ostream>

#include "api/search.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/loader.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::cli {

namespace {

using Models = plugin::Registry<model::CostModel>;
using Mappers = plugin::Registry<mapper::Mapper>;
using Strategies = plugin::Registry<search::SearchStrategy>;

const std::string runner = api::strategy_runner;

template <class Role>
void add_names(std::vector<std::string>& names) {
    for (const plugin::Entry<Role>& entry : plugin::Registry<Role>::instance().entries()) {
        names.push_back(entry.name);
    }
}

/// Plugins that could not be loaded may be why a name is unknown.
std::string refused_plugins() {
    std::string text;
    for (const plugin::Refusal& refusal : plugin::discover()) {
        text += "\n  " + refusal.message();
    }
    return text;
}

void add_all_names(std::vector<std::string>& names) {
    add_names<model::CostModel>(names);
    add_names<mapper::Mapper>(names);
    add_names<search::SearchStrategy>(names);
}

/// Of a mapper and a model of one name those of the mapper. Null: there is no such component.
const std::vector<plugin::Knob>* knobs_of_any(const std::string& name) {
    plugin::load_optional(name);
    if (const auto* entry = Mappers::instance().find(name)) {
        return &entry->knobs;
    }
    if (const auto* entry = Strategies::instance().find(name)) {
        return &entry->knobs;
    }
    const auto* entry = Models::instance().find(name);
    return entry != nullptr ? &entry->knobs : nullptr;
}

}  // namespace

namespace {

/// What stands between blanks and punctuation of an argument may be the name of an optional plugin.
void load_named(const std::string& argument) {
    if (plugin::optional_plugins().empty()) {
        return;
    }
    std::string word;
    for (const char c : argument + ' ') {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-') {
            word += c;
        } else if (!word.empty()) {
            try {
                plugin::load_optional(word);
            } catch (const PluginError&) {
                // It may be a file's name; who asks for the component is told.
            }
            word.clear();
        }
    }
}

}  // namespace

std::vector<plugin::Refusal> load_all_optional() {
    std::vector<plugin::Refusal> refused;
    for (const plugin::Optional& optional : plugin::optional_plugins()) {
        try {
            plugin::load_optional(optional.name);
        } catch (const PluginError& error) {
            refused.push_back({optional.file, error.what()});
        }
    }
    return refused;
}

void load_plugins(const std::vector<std::string>& args, std::ostream& err) {
    const std::string option = "--plugin";
    for (const std::string& argument : args) {
        load_named(argument);
    }
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (args[i] == option && i + 1 < args.size()) {
            plugin::load_file(args[++i]);
        } else if (args[i].rfind(option + "=", 0) == 0) {
            plugin::load_file(args[i].substr(option.size() + 1));
        }
    }
    static bool told = false;  // a stored run names its plugins after the command line did
    for (const plugin::Refusal& refusal : plugin::discover()) {
        if (told) {
            break;
        }
        err << "tessera: warning: " << refusal.message() << "\n";
    }
    told = true;
}

void add_components(options::Description& description, bool mapper) {
    const auto name = [](const char* standard) {
        return options::text().by_default(standard).named("NAME");
    };
    if (mapper) {
        description.add_options()  //
            ("mapper", name("ffm"), "mapper, or a search strategy; see tessera plugins list")(
                "strategy", options::text().named("NAME"), "strategy of mapper search")(
                "algorithm", options::text().named("NAME"),
                "of mapper timeloop: optimal, random, random-pruned, linear-pruned, hybrid or "
                "exhaustive; short for --knob timeloop.algorithm=NAME")(
                "overlap", options::text().named("WHAT"),
                "of mapper ffm, what runs at once: none or pipeline; short for --knob "
                "ffm.overlap=WHAT");
    }
    description.add_options()("model", name("looptree"), "cost model");
    add_knobs(description);
}

void add_knobs(options::Description& description) {
    description.add_options()  //
        ("knob", options::list().named("NAME.KNOB=VALUE"),
         "set a knob of a mapper, strategy or model; may be repeated")(
            "knobs", options::text().named("FILE"),
            "knobs from a file, {COMPONENT: {KNOB: VALUE}}; --knob goes before")(
            "plugin", options::list().named("FILE"), "load this plugin first; may be repeated");
}

namespace {

/// What is wrong with the value of an option is told with its name.
template <class Check>
void for_option(const std::string& option, const Check& check) {
    try {
        check();
    } catch (const UserError& error) {
        throw UserError(option + ": " + error.what());
    }
}

}  // namespace

Components::Components(const Arguments& arguments, bool with_mapper) {
    read_model(arguments);
    std::vector<std::string> settings = arguments.list("knob");
    if (with_mapper) {
        choose_mapper(arguments.text("mapper"), arguments.given("mapper"),
                      arguments.text("strategy"));
        if (arguments.has("algorithm")) {
            if (mapper != "timeloop") {
                throw UserError("--algorithm belongs to --mapper timeloop, not to --mapper " +
                                mapper);
            }
            settings.push_back("timeloop.algorithm=" + arguments.text("algorithm"));
        }
        if (arguments.has("overlap")) {
            if (mapper != "ffm") {
                throw UserError("--overlap belongs to --mapper ffm; mapper " + mapper +
                                " does not search what runs at once");
            }
            settings.push_back("ffm.overlap=" + arguments.text("overlap"));
        }
    }
    read_knobs(arguments, settings);
}

Components::Components(const Arguments& arguments, const std::string& name,
                       const std::vector<std::string>& settings) {
    read_model(arguments);
    if (!name.empty()) {
        choose_mapper(name, true, "");
    }
    read_knobs(arguments, settings);
}

void Components::read_model(const Arguments& arguments) {
    model = arguments.text("model");
    mapper.clear();
    for_option("--model", [&] { api::check_model(model, refused_plugins()); });
}

void Components::read_knobs(const Arguments& arguments, const std::vector<std::string>& settings) {
    for (const std::string& setting : settings) {
        read_knob(setting);
    }
    if (arguments.has("knobs")) {
        read_knob_file(arguments.text("knobs"));
    }
    if (strategy.empty()) {
        return;
    }
    std::string& chosen = knobs[runner]["strategy"];
    if (!chosen.empty() && chosen != strategy) {
        throw UserError("--knob search.strategy=" + chosen + " and strategy '" + strategy +
                        "' disagree; give one of them");
    }
    chosen = strategy;
}

void Components::choose_mapper(const std::string& name, bool given, const std::string& wanted) {
    const std::string more = refused_plugins();
    api::MapperChoice choice;
    for_option("--mapper", [&] {
        choice = api::choose_mapper(!given && !wanted.empty() ? api::strategy_runner : name, more);
    });
    mapper = choice.mapper;
    strategy = choice.strategy;
    if (!wanted.empty() && !strategy.empty() && wanted != strategy) {
        throw UserError("--mapper " + name + " is a strategy itself; leave out --strategy");
    }
    if (!wanted.empty() && mapper != api::strategy_runner) {
        throw UserError("--strategy belongs to --mapper search, not to --mapper " + mapper);
    }
    if (!wanted.empty()) {
        for_option("--strategy", [&] { api::check_strategy(wanted, more); });
        strategy = wanted;
    }
}

void Components::read_knob(const std::string& setting) {
    const std::size_t equals = setting.find('=');
    const std::size_t dot = setting.find('.');
    if (equals == std::string::npos || dot == std::string::npos || dot == 0 || dot > equals ||
        dot + 1 == equals) {
        throw UserError("--knob: '" + setting +
                        "' is not understood (expected COMPONENT.KNOB=VALUE, for example "
                        "search.batch=512)");
    }
    const std::string component = setting.substr(0, dot);
    if (!uses(component)) {
        throw UserError("--knob " + setting + ": '" + component +
                        "' is not used here (used are: " + spec::name_list(used()) + ")");
    }
    const std::string name = setting.substr(dot + 1, equals - dot - 1);
    const std::string value = setting.substr(equals + 1);
    try {
        // Where a mapper and a model have one name, the mapper that is used is meant.
        const auto* const of_model =
            component == mapper ? nullptr : Models::instance().find(component);
        plugin::read_knobs(component,
                           of_model != nullptr ? of_model->knobs : *knobs_of_any(component),
                           {{name, value}});
    } catch (const UserError& error) {
        throw UserError(std::string("--knob: ") + error.what());
    }
    if (!knobs[component].emplace(name, value).second) {
        throw UserError("--knob " + setting.substr(0, equals) + " is given twice");
    }
}

/// A file may serve several runs: all components and knobs in it must exist, and those that are not
/// used here are left aside.
void Components::read_knob_file(const std::string& file) {
    spec::Node root = spec::read_file(file);
    spec::assign_paths(root);
    if (!root.is_map()) {
        spec::fail(root, {"a file of knobs", root.describe(), "a map of components", ""});
    }
    for (const spec::Node::Entry& component : root.entries) {
        const std::vector<plugin::Knob>* declared = knobs_of_any(component.key);
        if (declared == nullptr) {
            std::vector<std::string> names;
            add_all_names(names);
            spec::fail(component.value,
                       {"no component has this name", component.key, spec::name_list(names),
                        spec::did_you_mean(component.key, names)});
        }
        if (!component.value.is_map()) {
            spec::fail(component.value,
                       {"knobs of a component", component.value.describe(), "{KNOB: VALUE}", ""});
        }
        plugin::KnobSettings settings;
        for (const spec::Node::Entry& knob : component.value.entries) {
            if (!knob.value.is_scalar()) {
                spec::fail(knob.value, {"value of a knob", knob.value.describe(), "one value", ""});
            }
            settings.emplace(knob.key, knob.value.text);
        }
        try {
            plugin::read_knobs(component.key, *declared, settings);
        } catch (const UserError& error) {
            throw UserError(component.value.position, error.what());
        }
        if (uses(component.key)) {
            knobs[component.key].merge(settings);
        }
    }
}

}  // namespace tessera::cli
