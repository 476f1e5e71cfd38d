// tessera plugins check: the contract kits, one process per test. A test that crashes, hangs or
// stays silent fails, and the others go on.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <ostream>

#include "base/child_answer.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "io/json_text.hpp"
#include "plugins_actions.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/loader.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/position.hpp"
#include "tessera/testing/cost_model.hpp"
#include "tessera/testing/mapper.hpp"
#include "tessera/testing/search_strategy.hpp"

namespace tessera::cli {

namespace {

// A test that needs longer is taken for hanging.
constexpr double time_limit_s = 120;

struct Subject {
    std::string kind, name;
    std::vector<testing::Check> checks;
};

template <class Role, class Kit>
void add(const std::string& kind, const std::string& wanted, const std::string& file,
         const testing::Settings& settings, const Kit& kit, std::vector<Subject>& out) {
    for (const plugin::Entry<Role>& entry : plugin::Registry<Role>::instance().entries()) {
        const bool meant = file.empty() ? entry.name == wanted || kind + "/" + entry.name == wanted
                                        : entry.file == file;
        if (meant) {
            out.push_back({kind, entry.name, kit(entry.name, settings)});
        }
    }
}

std::vector<Subject> subjects(const std::string& wanted, const testing::Settings& settings) {
    std::string file;
    std::error_code failed;
    if (wanted.find('/') != std::string::npos && std::filesystem::is_regular_file(wanted, failed)) {
        plugin::load_file(wanted);
        file = std::filesystem::canonical(wanted).string();
    }
    std::vector<Subject> out;
    add<mapper::Mapper>("mapper", wanted, file, settings, testing::mapper_checks, out);
    add<search::SearchStrategy>("strategy", wanted, file, settings, testing::search_strategy_checks,
                                out);
    add<model::CostModel>("model", wanted, file, settings, testing::cost_model_checks, out);
    if (out.empty()) {
        throw UserError(
            "no plugin is called '" + wanted +
            "'; give a name of tessera plugins list, or a file with a slash in its name, "
            "such as ./tessera-mine.so");
    }
    return out;
}

[[noreturn]] void child(const testing::Check& check, int answer) {
    std::string text;
    for (const std::string& finding : testing::findings_of(check)) {
        text += finding + '\0';
    }
    text += "done";
    std::size_t sent = 0;
    while (sent < text.size()) {
        const ssize_t n = ::write(answer, text.data() + sent, text.size() - sent);
        if (n <= 0) {
            break;
        }
        sent += static_cast<std::size_t>(n);
    }
    ::_exit(0);
}

std::vector<std::string> in_child(const testing::Check& check) {
    const auto [failed, text, in_time, status] =
        base::answer_of([&](int pipe) { child(check, pipe); }, time_limit_s);
    if (!failed.empty()) {
        return {failed};
    }
    std::vector<std::string> findings;
    std::size_t begin = 0;
    for (std::size_t at; (at = text.find('\0', begin)) != std::string::npos; begin = at + 1) {
        findings.push_back(text.substr(begin, at - begin));
    }
    if (!in_time) {
        findings.push_back("it did not end within " +
                           std::to_string(static_cast<int>(time_limit_s)) + " s");
    } else if (WIFSIGNALED(status)) {
        findings.push_back("it crashed (signal " + std::to_string(WTERMSIG(status)) + ")");
    } else if (text.substr(begin) != "done") {
        findings.push_back("it ended the process");
    }
    return findings;
}

io::Json to_json(const Subject& subject, const testing::Check& check,
                 const std::vector<std::string>& findings) {
    return {{"kind", subject.kind}, {"name", subject.name},       {"test", check.name},
            {"text", check.text},   {"passed", findings.empty()}, {"findings", findings}};
}

}  // namespace

int check_plugin(const std::string& name_or_file, const CheckOptions& options, std::ostream& out) {
    io::Json document;
    document["schema_version"] = io::schema_version;
    document["seed"] = options.seed;
    document["tests"] = io::Json::array();
    int run = 0, failed = 0;
    for (const Subject& subject : subjects(name_or_file, {options.seed})) {
        if (!options.json) {
            out << subject.kind << " " << subject.name << "\n";
        }
        for (const testing::Check& check : subject.checks) {
            if (!options.only.empty() && options.only != check.name) {
                continue;
            }
            out.flush();
            const std::vector<std::string> findings =
                options.in_process ? testing::findings_of(check) : in_child(check);
            ++run;
            failed += findings.empty() ? 0 : 1;
            document["tests"].push_back(to_json(subject, check, findings));
            if (options.json) {
                continue;
            }
            out << (findings.empty() ? "  ok    " : "  FAIL  ") << check.name << ": " << check.text
                << "\n";
            for (const std::string& finding : findings) {
                out << "          " << finding << "\n";
            }
        }
    }
    document["passed"] = run - failed;
    document["failed"] = failed;
    if (run == 0) {
        throw UserError("there is no test '" + options.only + "'");
    }
    if (options.json) {
        out << io::dumped(document);
    } else {
        out << run - failed << " passed, " << failed << " failed (seed " << options.seed << ")\n";
    }
    return failed == 0 ? 0 : 1;
}

}  // namespace tessera::cli
