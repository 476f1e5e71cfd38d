#include "cli/stored_run.hpp"

#include <ostream>
#include <set>

#include "base/atomic_file.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace fs = std::filesystem;

namespace {

struct Given {
    std::string name;  ///< long name
    std::vector<std::string> tokens, values;
};

/// \pre the arguments are valid
std::vector<Given> parse(const std::vector<std::string>& args,
                         const options::options_description& known) {
    namespace style = options::command_line_style;
    const auto parsed = options::command_line_parser(args)
                            .options(known)
                            .style(style::default_style & ~style::allow_guessing)
                            .run();
    std::vector<Given> result;
    for (const auto& option : parsed.options) {
        result.push_back({option.string_key, option.original_tokens, option.value});
    }
    return result;
}

/// Inputs by role and content; where a file lies does not matter.
io::Json contents(const io::Json& inputs) {
    io::Json result = io::Json::array();
    for (const io::Json& input : inputs) {
        result.push_back({input.value("role", ""), input.value("sha256", "")});
    }
    return result;
}

/// Plugins by kind, name and content.
io::Json plugin_contents(const io::Json& run) {
    io::Json result = run.value("plugins", io::Json::array());
    for (io::Json& one : result) {
        one.erase("file");
    }
    return result;
}

}  // namespace

io::Json limits_json(const search::Budget& b) {
    io::Json limits = io::Json::object();
    const auto add = [&](const char* key, auto value) {
        if (value > 0) {
            limits[key] = value;
        }
    };
    add("max_evals", b.max_evals);
    add("max_time_s", b.max_time_s);
    add("max_cpu_time_s", b.max_cpu_s);
    add("max_stall", b.stall_evals);
    add("max_memory_bytes", b.max_memory_bytes);
    add("gap", b.gap);
    if (b.target) {
        limits["target"] = *b.target;
    }
    return limits;
}

StoredRun::StoredRun(const fs::path& folder) : folder_(folder) {
    const fs::path file = folder / "run.json";
    std::error_code ignored;
    if (!fs::exists(file, ignored)) {
        throw UserError(folder.string() + ": is no run of tessera: it has no run.json");
    }
    json_ = io::Json::parse(base::read_file(file), nullptr, false);
    const bool good = json_.is_object() && json_.contains("command") &&
                      json_["command"].is_array() && json_["command"].size() >= 2 &&
                      json_.contains("inputs") && json_["inputs"].is_array();
    if (!good) {
        throw UserError(file.string() + ": is no description of a run");
    }
    if (json_["command"][1] == "compare") {
        throw UserError(folder.string() +
                        ": holds a comparison, which can be neither resumed nor run again from "
                        "its folder; give tessera compare its options again");
    }
    for (const io::Json& word : json_["command"]) {
        if (!word.is_string()) {
            throw UserError(file.string() + ": `command` must be a list of words");
        }
    }
}

std::vector<std::string> StoredRun::arguments(const options::options_description& known,
                                              const std::vector<std::string>& given) const {
    std::set<std::string> without = {"output", "force", "resume", "skip-if-exists"};
    for (const Given& option : parse(given, known)) {
        without.insert(option.name);
    }
    const auto command = json_["command"].get<std::vector<std::string>>();
    std::vector<std::string> result;
    try {
        for (const Given& option : parse({command.begin() + 2, command.end()}, known)) {
            if (without.count(option.name) == 0) {
                result.insert(result.end(), option.tokens.begin(), option.tokens.end());
            }
        }
    } catch (const options::error& error) {
        throw UserError((folder_ / "run.json").string() +
                        ": this program cannot run its command: " + error.what());
    }
    return result;
}

fs::path StoredRun::directory() const {
    const auto at = json_.find("directory");
    return at != json_.end() && at->is_string() ? fs::path(at->get<std::string>()) : fs::path(".");
}

void StoredRun::check_same(const io::Json& now) const {
    const std::string where = (folder_ / "run.json").string();
    const auto differ = [&](const std::string& what) {
        throw UserError(where + ": the run there has " + what +
                        "; give the same, choose another folder, or replace it with --force");
    };
    if (json_.value("tessera_version", "") != now["tessera_version"]) {
        differ("another version of tessera, " + json_.value("tessera_version", ""));
    }
    if (contents(json_["inputs"]) != contents(now["inputs"])) {
        for (const io::Json& input : json_["inputs"]) {
            const io::Json mine = contents(io::Json::array({input}));
            bool found = false;
            for (const io::Json& other : contents(now["inputs"])) {
                found = found || other == mine.front();
            }
            if (!found) {
                differ("other content in the " + input.value("role", "input") + " " +
                       input.value("path", ""));
            }
        }
        differ("fewer input files");
    }
    if (plugin_contents(json_) != plugin_contents(now)) {
        differ("other plugins, or another build of one");
    }
    if (json_.value("defines", io::Json()) != now["defines"]) {
        differ("other variables (-D)");
    }
    if (json_.value("seed", io::Json()) != now["seed"]) {
        differ("another --seed");
    }
    const io::Json stored = json_.value("options", io::Json::object());
    for (const auto& [name, value] : now["options"].items()) {
        if (stored.value(name, io::Json()) != value) {
            differ("another " + name);
        }
    }
}

void StoredRun::compare(const io::Json& result, std::ostream& err) const {
    const fs::path file = folder_ / "result.json";
    const std::string text = base::read_file(file);
    if (text.empty()) {
        err << "tessera: " << folder_.string() << " has no result to compare with\n";
        return;
    }
    const bool same = io::Json::parse(text, nullptr, false) == result;
    err << "tessera: the result is " << (same ? "the same as" : "not the same as") << " in "
        << file.string() << "\n";
}

WorkingDirectory::WorkingDirectory(const fs::path& path) {
    before_ = fs::current_path();
    std::error_code failed;
    fs::current_path(path, failed);
    if (failed) {
        throw UserError(path.string() + ": the run was started there, but it cannot be entered: " +
                        failed.message());
    }
}

WorkingDirectory::~WorkingDirectory() {
    std::error_code ignored;
    fs::current_path(before_, ignored);
}

std::vector<std::string> with_absolute(const std::vector<std::string>& args,
                                       const options::options_description& known,
                                       const std::string& name) {
    std::vector<std::string> result;
    for (const Given& option : parse(args, known)) {
        if (option.name == name && option.values.size() == 1) {
            result.push_back("--" + name);
            result.push_back(fs::absolute(option.values.front()).string());
        } else {
            result.insert(result.end(), option.tokens.begin(), option.tokens.end());
        }
    }
    return result;
}

}  // namespace tessera::cli
