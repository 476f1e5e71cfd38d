// tessera plugins: what there is, what it does, which knobs it has.
//
//   list           all components
//   info NAME      summary, paper, library; --json with the JSON Schema of the knobs
//   help NAME      the table of knobs
//   schema NAME    JSON Schema of the knobs alone
//   check NAME     contract tests (plugins_check.cpp)
//   new KIND NAME  a folder to start from (plugins_new.cpp)
#include <algorithm>
#include <ostream>

#include "cli/arguments.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "components.hpp"
#include "io/json_text.hpp"
#include "plugins_actions.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/loader.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera plugins list
  tessera plugins help search
  tessera plugins new search my_strategy && cd my_strategy && make && make check

  Actions:
    list         mappers, strategies and cost models, built in and loaded
    info NAME    what one is, and where it comes from
    help NAME    its knobs: default, values, unit
    schema NAME  JSON Schema of its knobs
    check NAME   run the contract tests on it; NAME may be a file, such as ./tessera-mine.so
    new KIND NAME
                 write a folder NAME with a plugin to start from; KIND: search, mapper or model
)";

/// One component of any kind.
struct Component {
    std::string kind, name, summary, citation, library, file;
    std::vector<plugin::Knob> knobs;
};

template <class Role>
void add(const char* kind, std::vector<Component>& out) {
    for (const plugin::Entry<Role>& e : plugin::Registry<Role>::instance().entries()) {
        out.push_back({kind, e.name, e.summary, e.citation, e.library, e.file, e.knobs});
    }
}

std::vector<Component> components() {
    std::vector<Component> out;
    add<mapper::Mapper>("mapper", out);
    add<search::SearchStrategy>("strategy", out);
    add<model::CostModel>("model", out);
    return out;
}

io::Json to_json(const Component& c) {
    io::Json json;
    json["kind"] = c.kind;
    json["name"] = c.name;
    json["summary"] = c.summary;
    json["citation"] = c.citation;
    json["library"] = c.library;
    json["file"] = c.file.empty() ? io::Json(nullptr) : io::Json(c.file);
    json["status"] = "ok";
    return json;
}

int list(const Arguments& arguments, std::ostream& out) {
    std::vector<plugin::Refusal> all_refused = plugin::discover();
    for (plugin::Refusal& refusal : load_all_optional()) {
        all_refused.push_back(std::move(refusal));
    }
    if (arguments.flag("json")) {
        io::Json json;
        json["schema_version"] = io::schema_version;
        json["plugins"] = io::Json::array();
        for (const Component& c : components()) {
            json["plugins"].push_back(to_json(c));
        }
        json["refused"] = io::Json::array();
        for (const plugin::Refusal& refusal : all_refused) {
            json["refused"].push_back({{"file", refusal.file}, {"reason", refusal.reason}});
        }
        json["absent"] = io::Json::array();
        for (const plugin::Optional& optional : plugin::optional_plugins()) {
            if (optional.file.empty()) {
                json["absent"].push_back({{"name", optional.name}, {"needs", optional.missing}});
            }
        }
        out << io::dumped(json);
        return ExitCode::ok;
    }
    std::vector<std::vector<std::string>> rows = {{"kind", "name", "what it does", "from"}};
    for (const Component& c : components()) {
        rows.push_back({c.kind, c.name, c.summary, c.file.empty() ? "built in" : c.file});
    }
    print_table(out, rows, 4);
    for (const plugin::Refusal& refusal : all_refused) {
        out << "refused: " << refusal.file << ": " << refusal.reason << "\n";
    }
    for (const plugin::Optional& optional : plugin::optional_plugins()) {
        if (optional.file.empty()) {
            out << "absent: " << optional.name << " was not built: " << optional.missing
                << " is missing\n";
        }
    }
    return ExitCode::ok;
}

/// A kind may stand before the name where several kinds share it: `model/timeloop`.
Component find(const std::string& wanted) {
    std::vector<std::string> names;
    std::vector<Component> found;
    for (Component& c : components()) {
        names.push_back(c.name);
        if (c.name == wanted || c.kind + "/" + c.name == wanted) {
            found.push_back(std::move(c));
        }
    }
    if (found.empty()) {
        const std::string near = spec::did_you_mean(wanted, names);
        throw UserError("no plugin is called '" + wanted + "'" +
                        (near.empty() ? "; see tessera plugins list" : "; " + near));
    }
    if (found.size() > 1) {
        throw UserError("'" + wanted + "' is the name of a " + found[0].kind + " and of a " +
                        found[1].kind + "; write " + found[0].kind + "/" + wanted + " or " +
                        found[1].kind + "/" + wanted);
    }
    return found.front();
}

int info(const Component& c, bool json, std::ostream& out) {
    if (json) {
        io::Json document = to_json(c);
        document["knobs"] =
            base::written(io::ParsedJson::parse(plugin::knob_schema(c.name, c.knobs)));
        out << io::dumped(document);
        return ExitCode::ok;
    }
    out << c.kind << " " << c.name << ": " << c.summary << "\n";
    if (!c.citation.empty()) {
        out << "  paper    " << c.citation << "\n";
    }
    out << "  library  " << (c.file.empty() ? "built in" : c.library + " (" + c.file + ")") << "\n"
        << "  knobs    " << c.knobs.size()
        << (c.knobs.empty() ? "\n" : ", see tessera plugins help " + c.name + "\n");
    return ExitCode::ok;
}

int help(const Component& c, std::ostream& out) {
    out << c.kind << " " << c.name << ": " << c.summary << "\n";
    if (c.knobs.empty()) {
        out << "It has no knobs.\n";
        return ExitCode::ok;
    }
    out << "Knobs, set by --knob " << c.name << ".KNOB=VALUE:\n";
    std::vector<std::vector<std::string>> rows = {{"  knob", "default", "values", "unit", ""}};
    for (const plugin::Knob& knob : c.knobs) {
        plugin::Knob bare = knob;
        bare.unit.clear();
        rows.push_back({"  " + knob.name,
                        knob.type == plugin::KnobType::flag ? (knob.standard == "1" ? "yes" : "no")
                                                            : knob.standard,
                        plugin::describe(bare), knob.unit, knob.text});
    }
    print_table(out, rows, 5);
    return ExitCode::ok;
}

}  // namespace

CommandText plugins_text() {
    options::Description result("Options", 100);
    add_inputs(result, "");
    result.add_options()("json", options::flag(), "print one JSON document")(
        "plugin", options::list().named("FILE"), "load this plugin first; may be repeated")(
        "seed", options::text().by_default("0").named("N"), "check: seed of the tests")(
        "only", options::text().named("TEST"), "check: run this test alone")(
        "in-process", options::flag(), "check: no process per test, for a debugger");
    return {"ACTION [NAME] [options]", examples, result};
}

int plugins_command(const std::vector<std::string>& args, std::ostream& out, std::ostream&) {
    const options::Description known = plugins_text().options;
    std::vector<std::string> words, rest;
    for (const std::string& arg : args) {
        (rest.empty() && arg.rfind("-", 0) != 0 ? words : rest).push_back(arg);
    }
    const Arguments arguments("plugins", rest, known);
    if (words.empty()) {
        throw UserError("tessera plugins takes an action first; see tessera plugins --help");
    }
    const std::vector<std::string> names = {"list", "info", "help", "schema", "check", "new"};
    if (std::find(names.begin(), names.end(), words[0]) == names.end()) {
        const std::string near = spec::did_you_mean(words[0], names);
        throw UserError("unknown action '" + words[0] + "' of tessera plugins (expected " +
                        spec::name_list(names) + ")" + (near.empty() ? "" : "; " + near));
    }
    const std::size_t wanted = words[0] == "list" ? 1 : words[0] == "new" ? 3 : 2;
    if (words.size() != wanted) {
        const char* takes[] = {" takes no name", " takes one name", " takes a kind and a name"};
        throw UserError("tessera plugins " + words[0] + takes[wanted - 1] +
                        "; see tessera plugins --help");
    }
    if (words[0] == "list") {
        return list(arguments, out);
    }
    if (words[0] == "new") {
        return new_plugin(words[1], words[2], out);
    }
    if (words[0] == "check") {
        return check_plugin(words[1],
                            {arguments.flag("json"), arguments.whole("seed", 0, ~0ull),
                             arguments.flag("in-process"), arguments.text("only")},
                            out);
    }
    const Component c = find(words[1]);
    if (words[0] == "schema") {
        out << plugin::knob_schema(c.name, c.knobs);
        return ExitCode::ok;
    }
    return words[0] == "info" ? info(c, arguments.flag("json"), out) : help(c, out);
}

}  // namespace tessera::cli
