#include "stored_run.hpp"

#include <algorithm>
#include <optional>
#include <ostream>
#include <regex>
#include <set>
#include <stdexcept>

#include "base/printable.hpp"
#include "cli/run/given.hpp"
#include "io/json_text.hpp"
#include "io/sha256.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace fs = std::filesystem;

namespace {

bool has_string(const io::ParsedJson& object, const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string();
}

std::optional<std::string> text_at(const io::ParsedJson& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? std::nullopt : io::exact_text(*found);
}

/// Plugins by kind, name and content.
io::ParsedJson plugin_contents(const io::ParsedJson& run) {
    io::ParsedJson result = run.value("plugins", io::ParsedJson::array());
    for (io::ParsedJson& one : result) {
        one.erase("file");
    }
    return result;
}

/// Whether the file is that text; one that cannot be read is not.
bool is_text_of(const std::string& path, const std::string& text) {
    try {
        return base::read_regular_file(path) == text;
    } catch (const UserError&) {
        return false;
    }
}

}  // namespace

std::string shell_word(const std::string& word) {
    const bool simple = !word.empty() && word.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789-_=+,./:@%") == std::string::npos;
    std::string result = "'";
    for (const char c : word) {
        result += c == '\'' ? "'\\''" : std::string(1, c);
    }
    return simple ? word : result + "'";
}

io::Json limits_json(const base::Budget& b) {
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

void put_given(io::Json& document, const Arguments& arguments) {
    document["defines"] = defines_json(arguments.defines());
    for (const spec::Setting& setting : arguments.settings()) {
        document["settings"].push_back(io::exact(setting.path + "=" + setting.text));
    }
}

io::Json defines_json(const spec::Defines& defines) {
    io::Json result = io::Json::object();
    for (const auto& [name, value] : defines) {
        result[name] = io::exact(value);
    }
    return result;
}

StoredRun::StoredRun(const base::Directory& folder) : folder_(folder.path()) {
    const std::optional<std::string> text = folder.read("run.json");
    if (!text) {
        throw UserError(folder_.string() + ": is no run of tessera: it has no run.json");
    }
    json_ = base::parsed_json(*text);
    if (json_.is_object() && json_.contains("sweep")) {
        throw UserError(folder_.string() +
                        ": holds a sweep; tessera sweep with its options and --resume goes on");
    }
    check_form();
    if (json_["command"][1] == "compare") {
        throw UserError(folder_.string() +
                        ": holds a comparison, which can be neither resumed nor run again from "
                        "its folder; give tessera compare its options again");
    }
    result_ = folder.read("result.json").value_or("");
    read_kept(folder);
}

void StoredRun::read_kept(const base::Directory& folder) {
    static const std::regex form(R"(input-\d+\.(yaml|cfg))");
    for (const io::ParsedJson& input : json_["inputs"]) {
        const std::string name = text_at(input, "kept").value_or("");
        const std::optional<std::string> text =
            std::regex_match(name, form) ? folder.read(name) : std::nullopt;
        if (text && io::sha256(*text) == text_at(input, "sha256").value_or("")) {
            kept_[input_path(input)] = *text;
        }
    }
}

void StoredRun::read_anew(const options::Description& known,
                          const std::vector<std::string>& given) {
    for (const options::Given& option : options::given(given, known)) {
        const std::string role = option.name == "arch" ? "architecture" : option.name;
        for (const io::ParsedJson& input : json_["inputs"]) {
            if (text_at(input, "role") == role) {
                kept_.erase(input_path(input));
            }
        }
    }
}

std::string StoredRun::input_path(const io::ParsedJson& input) const {
    return spec::file_identity((directory() / *text_at(input, "path")).string());
}

std::vector<std::string> StoredRun::changed_inputs() const {
    std::vector<std::string> lines;
    for (const auto& [path, text] : kept_) {
        std::error_code ignored;
        if (fs::is_regular_file(path, ignored) && !is_text_of(path, text)) {
            lines.push_back(base::one_line(path) +
                            " was changed since the run; what the run keeps of it is used");
        }
    }
    return lines;
}

void StoredRun::check_form() const {
    const auto list_of = [&](const char* key, const auto& good) {
        const auto found = json_.find(key);
        return found != json_.end() && found->is_array() &&
               std::all_of(found->begin(), found->end(), good);
    };
    const auto word = [](const io::ParsedJson& one) { return io::exact_text(one).has_value(); };
    const auto input = [](const io::ParsedJson& one) {
        return has_string(one, "role") && has_string(one, "sha256") && text_at(one, "path");
    };
    const auto plugin = [](const io::ParsedJson& one) {
        return has_string(one, "kind") && has_string(one, "name");
    };
    const bool good = has_string(json_, "tessera_version") && list_of("command", word) &&
                      json_["command"].size() >= 2 && list_of("inputs", input) &&
                      (!json_.contains("plugins") || list_of("plugins", plugin)) &&
                      (!json_.contains("options") || json_["options"].is_object());
    if (!good) {
        throw UserError(file() + ": is no description of a run; choose another folder");
    }
}

std::vector<std::string> StoredRun::arguments(const options::Description& known,
                                              const std::vector<std::string>& given,
                                              const std::string& again) const {
    std::set<std::string> without = {"output", "force", "resume", "skip-if-exists"};
    for (const options::Given& option : options::given(given, known)) {
        without.insert(option.name);
    }
    std::vector<std::string> command;
    for (const io::ParsedJson& word : json_["command"]) {
        command.push_back(*io::exact_text(word));
    }
    std::vector<std::string> result;
    std::string plugins;
    try {
        for (const options::Given& option :
             options::given({command.begin() + 2, command.end()}, known)) {
            if (without.count(option.name) > 0) {
                continue;
            }
            if (option.name == "plugin") {
                plugins +=
                    " --plugin " + shell_word((directory() / option.values.front()).string());
            }
            result.insert(result.end(), option.tokens.begin(), option.tokens.end());
        }
    } catch (const std::invalid_argument& error) {
        throw UserError(file() + ": this program cannot run its command: " + error.what());
    }
    if (!plugins.empty()) {
        throw UserError(file() +
                        ": the run used plugins, whose code is not loaded because a folder says "
                        "so; if you trust these files, name them yourself: " +
                        again + plugins);
    }
    return result;
}

fs::path StoredRun::directory() const {
    const auto at = json_.find("directory");
    return at == json_.end() ? "." : io::exact_text(*at).value_or(".");
}

/// Where a file lies does not matter, nor what its comments say.
bool StoredRun::has_input(const io::ParsedJson& stored, const io::ParsedJson& now) const {
    const auto kept = kept_.find(input_path(stored));
    return std::any_of(now.begin(), now.end(), [&](const io::ParsedJson& one) {
        if (one.value("role", "") != stored.value("role", "")) {
            return false;
        }
        const std::string path = text_at(one, "path").value_or("");
        return one.value("sha256", "") == stored.value("sha256", "") ||
               (kept != kept_.end() &&
                spec::same_content(kept->second, spec::read_bytes(path), path));
    });
}

void StoredRun::check_same(const io::Json& mine) const {
    const io::ParsedJson now = io::ParsedJson::parse(io::dumped(mine));  // as it would be stored
    const std::string where = file();
    const auto differ = [&](const std::string& what) {
        throw UserError(where + ": the run there has " + what +
                        "; give the same, choose another folder, or replace it with --force");
    };
    if (json_.value("tessera_version", "") != now["tessera_version"]) {
        differ("another version of tessera, " + json_.value("tessera_version", ""));
    }
    for (const io::ParsedJson& input : json_["inputs"]) {
        if (!has_input(input, now["inputs"])) {
            differ("other content in the " + *text_at(input, "role") + " " +
                   *text_at(input, "path"));
        }
    }
    if (json_["inputs"].size() != now["inputs"].size()) {
        differ("another number of input files");
    }
    if (plugin_contents(json_) != plugin_contents(now)) {
        differ("other plugins, or another build of one");
    }
    if (json_.value("defines", io::ParsedJson()) != now["defines"]) {
        differ("other variables (-D)");
    }
    if (json_.value("settings", io::ParsedJson()) != now.value("settings", io::ParsedJson())) {
        differ("other values (--set)");
    }
    if (json_.value("seed", io::ParsedJson()) != now["seed"]) {
        differ("another --seed");
    }
    const io::ParsedJson stored = json_.value("options", io::ParsedJson::object());
    for (const auto& [name, value] : now["options"].items()) {
        if (stored.value(name, io::ParsedJson()) != value) {
            differ("another " + name);
        }
    }
}

void StoredRun::compare(const io::Json& result, std::ostream& err) const {
    if (result_.empty()) {
        err << "tessera: " << folder_.string() << " has no result to compare with\n";
        return;
    }
    const bool same = base::written(base::parsed_json(result_)) == result;
    err << "tessera: the result is " << (same ? "the same as" : "not the same as") << " in "
        << (folder_ / "result.json").string() << "\n";
}

WorkingDirectory::WorkingDirectory(const StoredRun& run) : kept_(run.kept()) {
    const fs::path path = run.directory();
    before_ = fs::current_path();
    std::error_code failed;
    fs::current_path(path, failed);
    if (failed) {
        throw UserError(run.file() + ": the run was started in '" + path.string() +
                        "', which cannot be entered: " + failed.message());
    }
}

WorkingDirectory::~WorkingDirectory() {
    std::error_code ignored;
    fs::current_path(before_, ignored);
}

std::vector<std::string> with_absolute(const std::vector<std::string>& args,
                                       const options::Description& known) {
    static const std::set<std::string> files = {"output", "knobs", "plugin", "start"};
    std::vector<std::string> result;
    for (const options::Given& option : options::given(args, known)) {
        if (files.count(option.name) > 0 && option.values.size() == 1) {
            result.push_back("--" + option.name);
            result.push_back(fs::absolute(option.values.front()).string());
        } else {
            result.insert(result.end(), option.tokens.begin(), option.tokens.end());
        }
    }
    return result;
}

}  // namespace tessera::cli
