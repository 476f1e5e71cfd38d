// What a search prints when nobody looks: no escape codes, no carriage returns, few lines, one
// document.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "run/process.hpp"

using namespace tessera::run_test;
using Json = nlohmann::ordered_json;

namespace {

const Args search = {"map", "-a",          "simba",      "-w", "matmuls",
                     "-D",  "N_EINSUMS=2", "--max-time", "20s"};

void is_plain(const std::string& text) {
    BOOST_TEST((text.find('\x1b') == std::string::npos), text);
    BOOST_TEST((text.find('\r') == std::string::npos), text);
}

struct Surrounding {
    const char* name;
    Process::How how;
};

std::vector<Surrounding> surroundings() {
    std::vector<Surrounding> all(4);
    all[0] = {"file", {}};
    all[1] = {"TERM=dumb", {}};
    all[1].how.environment = {"TERM=dumb"};
    all[2] = {"no stdin", {}};
    all[2].how.close_stdin = true;
    all[3] = {"CI", {}};
    all[3].how.environment = {"CI=true", "CLICOLOR_FORCE=1", "TERM=xterm-256color"};
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_view_writes_escape_codes_where_there_is_no_terminal) {
    for (const Surrounding& where : surroundings()) {
        for (const char* ui : {"auto", "line", "tui", "json", "none"}) {
            BOOST_TEST_CONTEXT(where.name << ", --ui " << ui) {
                const Folder folder;
                Process process(folder.path(), joined(search, {"--json", "--ui", ui}), where.how);
                BOOST_REQUIRE_EQUAL(process.wait(), 0);
                is_plain(process.out());
                is_plain(process.err());
                BOOST_TEST(Json::parse(process.out())["status"] == "optimal");
                BOOST_TEST((std::string(ui) == "none") == process.err().empty());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(json_events_are_one_document_a_line) {
    const Folder folder;
    Process process(folder.path(), joined(search, {"--json", "--ui", "json"}));
    BOOST_REQUIRE_EQUAL(process.wait(), 0);
    std::istringstream lines(process.err());
    std::vector<std::string> events;
    for (std::string line; std::getline(lines, line);) {
        events.push_back(Json::parse(line)["event"]);
    }
    BOOST_REQUIRE(events.size() > 3);
    BOOST_TEST(events.front() == "start");
    BOOST_TEST(events.back() == "end");
    BOOST_TEST(std::count(events.begin(), events.end(), "incumbent") > 0);
}

BOOST_AUTO_TEST_CASE(closed_streams_harm_nothing) {
    const Folder folder;
    Process::How how;
    how.close_stdin = how.close_stderr = true;
    Process process(folder.path(), joined(search, {"--json", "-o", (folder / "run").string()}),
                    how);
    BOOST_REQUIRE_EQUAL(process.wait(), 0);
    BOOST_TEST(Json::parse(process.out())["status"] == "optimal");
    std::istringstream lines(read(folder / "run" / "events.jsonl"));
    for (std::string line; std::getline(lines, line);) {
        BOOST_TEST(Json::accept(line), line);  // nothing else was written into it
    }
}

BOOST_AUTO_TEST_CASE(json_is_one_document_in_every_outcome) {
    struct Case {
        Args more;
        int code;
        const char* status;
    };
    const Args dim = {"map", "-a", "simba", "-w", "matmuls", "--json", "-q"};
    for (const Case& one :
         {Case{{}, 0, "optimal"}, Case{{"--mapper", "random", "--max-evals", "200"}, 0, "feasible"},
          Case{{"--mapper", "random", "--max-memory", "1kB", "--max-evals", "1"}, 5, "unknown"}}) {
        const Folder folder;
        Process process(folder.path(), joined(dim, one.more));
        BOOST_TEST(process.wait() == one.code, process.err());
        BOOST_TEST(Json::parse(process.out())["status"] == one.status);
    }
}

BOOST_AUTO_TEST_CASE(a_finished_run_is_skipped_and_forced) {
    const Folder folder;
    const Args run = joined(search, {"-q", "--json", "-o", (folder / "run").string()});
    Process first(folder.path(), run);
    BOOST_REQUIRE_EQUAL(first.wait(), 0);
    const std::string result = read(folder / "run" / "result.json");
    const auto written = fs::last_write_time(folder / "run" / "run.json");
    for (const char* how : {"--skip-if-exists", "--resume"}) {
        Process again(folder.path(), joined(run, {how}));
        BOOST_TEST(again.wait() == 0);
        BOOST_TEST(again.out() == result);
    }
    BOOST_TEST((fs::last_write_time(folder / "run" / "run.json") == written));
    Process refused(folder.path(), run);
    BOOST_TEST(refused.wait() == 2);
    Process forced(folder.path(), joined(run, {"--force"}));
    BOOST_TEST(forced.wait() == 0);
    BOOST_TEST(read(folder / "run" / "result.json") == result);
    BOOST_TEST((fs::last_write_time(folder / "run" / "run.json") != written));
    BOOST_TEST(!fs::exists(folder / "run" / ".replaced"));
}
