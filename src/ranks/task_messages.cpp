#include "task_messages.hpp"

#include "base/parsed_json.hpp"

namespace tessera::ranks {

namespace {

using base::Json;
using base::ParsedJson;

constexpr const char* names[] = {"hello", "ready", "refused", "end", "gone"};

std::optional<Said::What> what(const std::string& name) {
    for (int i = 0; i < static_cast<int>(std::size(names)); ++i) {
        if (name == names[i]) {
            return static_cast<Said::What>(i);
        }
    }
    return std::nullopt;
}

}  // namespace

std::string to_line(const Said& said) {
    Json json;
    json["what"] = names[static_cast<int>(said.what)];
    switch (said.what) {
        case Said::What::hello:
            json["program"] = said.program;
            json["host"] = said.host;
            break;
        case Said::What::ready:
            json["traits"] = said.traits;
            break;
        case Said::What::refused:
        case Said::What::gone:
            json["message"] = said.message;
            json["exit_code"] = said.exit_code;
            break;
        case Said::What::end:
            json["task"] = said.task;
            json["text"] = said.end.text;
            json["failed"] = said.end.failed;
            json["wall_s"] = said.end.wall_s;
            json["cpu_s"] = said.end.cpu_s;
            json["memory_bytes"] = said.end.peak_memory_bytes;
            break;
    }
    return json.dump();
}

std::optional<Said> read_said(const std::string& line) {
    const ParsedJson json = base::parsed_json(line);
    try {
        const std::optional<Said::What> known = what(json.at("what").get<std::string>());
        if (!known) {
            return std::nullopt;
        }
        Said said;
        said.what = *known;
        said.program = json.value("program", "");
        said.host = json.value("host", "");
        said.traits = json.value("traits", "");
        said.message = json.value("message", "");
        said.exit_code = json.value("exit_code", 0);
        said.task = json.value("task", std::size_t{0});
        said.end.text = json.value("text", "");
        said.end.failed = json.value("failed", "");
        said.end.wall_s = json.value("wall_s", 0.0);
        said.end.cpu_s = json.value("cpu_s", 0.0);
        said.end.peak_memory_bytes = json.value("memory_bytes", std::uint64_t{0});
        return said;
    } catch (const ParsedJson::exception&) {
        return std::nullopt;
    }
}

std::string to_line(const Task& task) {
    Json json;
    json["task"] = task.number;
    json["text"] = task.text;
    return json.dump();
}

std::optional<Task> read_task(const std::string& line) {
    const ParsedJson json = base::parsed_json(line);
    try {
        return Task{json.at("task").get<std::size_t>(), json.at("text").get<std::string>()};
    } catch (const ParsedJson::exception&) {
        return std::nullopt;
    }
}

}  // namespace tessera::ranks
