#include "sweep_work.hpp"

#include <memory>
#include <sstream>

#include "base/leave.hpp"
#include "base/printable.hpp"
#include "cli/commands.hpp"
#include "cli/ranks/ranked.hpp"
#include "cli/run/map_options.hpp"
#include "cli/run/run_description.hpp"
#include "spec/kept_files.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

using io::ParsedJson;

/// Plugins by name and content: where they lie may differ from host to host.
std::string plugins_text(const Components& components) {
    const ParsedJson plugins = base::parsed_json(plugins_json(components).dump());
    std::string text;
    for (const ParsedJson& one : plugins) {
        text +=
            (text.empty() ? "" : ", ") + io::text_of(one, "kind") + " " + io::text_of(one, "name");
        const std::string sha256 = io::text_of(one, "sha256");
        text += sha256.empty() ? "" : " (" + sha256.substr(0, 12) + ")";
    }
    return text;
}

std::vector<std::string> texts_of(const ParsedJson& list) {
    std::vector<std::string> result;
    for (const ParsedJson& one : list) {
        result.push_back(io::exact_text(one).value_or(""));
    }
    return result;
}

FileTexts files_of(const ParsedJson& list) {
    FileTexts result;
    for (const ParsedJson& one : list) {
        result[io::text_of(one, "name")] = io::text_of(one, "text");
    }
    return result;
}

api::Choice choice_of(const std::string& text) {
    api::Choice choice;
    const ParsedJson json = base::parsed_json(text);
    for (const ParsedJson& one : json.at("defines")) {
        choice.defines[io::text_of(one, "name")] = io::text_of(one, "value");
    }
    for (const ParsedJson& one : json.at("settings")) {
        choice.settings.push_back({io::text_of(one, "name"), io::text_of(one, "value")});
    }
    return choice;
}

io::Json pair(const std::string& name, const std::string& value) {
    io::Json one;
    one["name"] = io::exact(name);
    one["value"] = io::exact(value);
    return one;
}

/// What the manager has read, in a process that has its words only.
class RemoteSearch {
public:
    RemoteSearch(const ParsedJson& job, const std::vector<std::string>& args)
        : arguments_("sweep", args, sweep_text().options),
          files_(files_of(job.at("files"))),
          components_(arguments_, true),
          family_(io::text_of(job, "arch"), io::text_of(job, "workload")),
          settings_(sweep_settings(arguments_, components_)) {}

    ranks::Work work() const {
        ranks::Work result;
        result.traits = plugins_text(components_);
        result.pool.jobs = jobs_of_rank(arguments_);
        result.pool.limit_s = kill_after_s(settings_);
        return result;
    }
    SweepOutcome outcome(const std::string& task) const {
        const SweepSearch search{family_, components_, settings_, arguments_.compat(),
                                 arguments_.list("start")};
        return search_point(search, choice_of(task));
    }

private:
    const Arguments arguments_;
    const spec::KeptFiles files_;
    const Components components_;
    const api::ProblemFamily family_;
    const mapper::Options settings_;
};

}  // namespace

mapper::Options sweep_settings(const Arguments& arguments, const Components& components) {
    mapper::Options settings = mapper_options(arguments);
    if (settings.metrics.size() != 1) {
        arguments.refuse("metric", "one metric: each point is one search; see --pareto");
    }
    settings.threads = arguments.given("threads") ? settings.threads : 1;
    check_mapspace(arguments, components.mapper);
    settings.mapspace = components.searched(settings.mapspace);
    return settings;
}

double kill_after_s(const mapper::Options& settings) {
    const double limit_s = settings.budget.max_time_s;
    return limit_s > 0 ? 2 * limit_s + 30 : 0;
}

int jobs_of_rank(const Arguments& arguments) {
    return arguments.given("jobs") ? static_cast<int>(arguments.whole("jobs", 1, 1024)) : 1;
}

ranks::Job sweep_job(const std::vector<std::string>& args, const SweepSearch& search,
                     const FileTexts& texts) {
    io::Json job;
    job["args"] = io::Json::array();
    for (const std::string& arg : args) {
        job["args"].push_back(io::exact(arg));
    }
    for (const api::Input& input : search.family.files()) {
        job[input.role == "architecture" ? "arch" : "workload"] = io::exact(input.path);
    }
    job["files"] = io::Json::array();
    for (const auto& [name, text] : texts) {
        io::Json one;
        one["name"] = io::exact(name);
        one["text"] = io::exact(text);
        job["files"].push_back(std::move(one));
    }
    const std::string own = plugins_text(search.components);
    return {own_program(), job.dump(), own, [own](const std::string& other) {
                return "has " + base::one_line(other) + ", the manager has " + own +
                       "; install the same plugins on all hosts";
            }};
}

std::string choice_text(const api::Choice& choice) {
    io::Json json;
    json["defines"] = io::Json::array();
    for (const auto& [name, value] : choice.defines) {
        json["defines"].push_back(pair(name, value));
    }
    json["settings"] = io::Json::array();
    for (const spec::Setting& setting : choice.settings) {
        json["settings"].push_back(pair(setting.path, setting.text));
    }
    return json.dump();
}

ranks::Work sweep_work(const std::string& text) {
    const ParsedJson job = base::parsed_json(text);
    const std::vector<std::string> args = texts_of(job.at("args"));
    std::ostringstream told;  // by the manager too
    load_plugins(args, told);
    const auto search = std::make_shared<const RemoteSearch>(job, args);
    ranks::Work work = search->work();
    work.body = [search](const std::string& task, int pipe) {
        base::end_process_after_search();
        base::write_to_pipe(pipe, outcome_json(search->outcome(task)).dump());
    };
    return work;
}

}  // namespace tessera::cli
