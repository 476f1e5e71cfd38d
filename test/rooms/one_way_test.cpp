// One way in: what sets a search up, admits a mapping to begin with, runs a mapper or judges a
// result stands in one file, and each command that searches goes there.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

/// What only these files may say.
struct Right {
    const char* what;
    const char* pattern;
    std::set<std::string> files;
};

const std::vector<Right>& rights() {
    static const std::string session = "src/api/session.cpp", components = "src/api/components.cpp",
                             explain = "src/api/explain.cpp",
                             timeloop = "src/cli/timeloop/timeloop_search.cpp",
                             drop_in = "src/cli/timeloop/timeloop_mapper.cpp";
    static const std::vector<Right> all = {
        {"runs a mapper", R"(mapper_?\s*(->|\.)\s*map\s*\(|run_mapper\s*\()", {session}},
        {"makes a mapper", R"(make_mapper\s*\()", {session, components}},
        {"makes a component",
         R"((Registry<[\w:]+>|Models|Mappers|Strategies)::instance\(\)\s*\.create\s*\()",
         {components, timeloop}},
        {"asks a mapper for its mapspace", R"((->|\.)preferred\s*\()", {components}},
        {"admits a mapping",
         R"(start\s*\.\s*(push_back|emplace_back)\s*\(\s*(known|member|\{))",
         {session}},
        {"judges a mapping", R"(mapspace::check\s*\()", {session, explain}},
        {"searches Timeloop's mapspace", R"(search_mappings\s*\()", {timeloop, drop_in}},
    };
    return all;
}

/// Without what stands behind //.
std::string code_of(const std::string& text) {
    static const std::regex comment("//[^\n]*");
    return std::regex_replace(text, comment, "");
}

std::vector<std::string> offences(const Files& files) {
    std::vector<std::string> all;
    for (const auto& [path, text] : files) {
        const std::string code = code_of(text);
        for (const Right& right : rights()) {
            if (right.files.count(path) == 0 &&
                std::regex_search(code, std::regex(right.pattern))) {
                all.push_back(path + " " + right.what + ", which tessera/session.hpp does");
            }
        }
    }
    return all;
}

fs::path top() {
    return fs::path(tessera::test::test_folder()).parent_path();
}

std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Sources of the commands and of the library's front door.
Files sources() {
    Files files;
    for (const char* folder : {"src/cli", "src/api", "src/dashboard"}) {
        for (const auto& entry : fs::recursive_directory_iterator(top() / folder)) {
            if (entry.is_regular_file()) {
                files[entry.path().lexically_relative(top()).string()] = read(entry.path());
            }
        }
    }
    return files;
}

/// Where each command makes its session; empty: it searches nothing.
const std::map<std::string, std::string>& commands() {
    static const std::string map = "src/cli/run/map_run.cpp";
    static const std::map<std::string, std::string> all = {
        {"map", map},    {"compare", "src/cli/compare/compare.cpp"},
        {"rerun", map},  {"sweep", "src/cli/sweep/sweep_search.cpp"},
        {"top", ""},     {"report", ""},
        {"model", ""},   {"show", ""},
        {"init", ""},    {"check", ""},
        {"explain", ""}, {"train", ""},
        {"plugins", ""}, {"completion", ""},
        {"man", ""},     {"schema", ""},
    };
    return all;
}

bool makes_session(const std::string& text) {
    static const std::regex made(R"(Session\s+session_?\b|Session>\s+session_?\b|\bSession\()");
    const std::string code = code_of(text);
    return code.find("#include \"tessera/session.hpp\"") != std::string::npos &&
           std::regex_search(code, made);
}

}  // namespace

BOOST_AUTO_TEST_CASE(searches_are_set_up_and_judged_in_one_place) {
    const Files files = sources();
    BOOST_TEST(files.size() > 150u);
    for (const std::string& offence : offences(files)) {
        BOOST_ERROR(offence);
    }
    for (const Right& right : rights()) {  // a rule that nothing needs says nothing
        bool said = false;
        for (const auto& [path, text] : files) {
            said = said || std::regex_search(code_of(text), std::regex(right.pattern));
        }
        BOOST_TEST(said, "no file " << right.what);
    }
}

BOOST_AUTO_TEST_CASE(each_command_that_searches_makes_a_session) {
    const std::string table = read(top() / "src/cli/run/run.cpp");
    const std::regex row("\\{\"([a-z]+)\", \"");
    std::size_t n = 0;
    for (std::sregex_iterator it(table.begin(), table.end(), row), end; it != end; ++it, ++n) {
        const auto known = commands().find((*it)[1].str());
        BOOST_TEST_REQUIRE((known != commands().end()),
                           "say here where command " << (*it)[1].str()
                                                     << " makes its session, or that it has none");
        if (!known->second.empty()) {
            BOOST_TEST(makes_session(read(top() / known->second)), known->second);
        }
    }
    BOOST_TEST(n == commands().size());
    BOOST_TEST(makes_session(read(top() / "src/api/map.cpp")));
    // The searches of `compare --instances` are those of `compare`.
    BOOST_TEST(read(top() / "src/cli/field/field_search.cpp").find("compare_command(") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_second_way_in_is_seen) {
    for (const char* line :
         {"auto r = mapper->map(problem, model, options);", "api::run_mapper(*mapper, p, m, s);",
          "const auto mapper = components.make_mapper();",
          "plugin::Registry<mapper::Mapper>::instance().create(name);",
          "options.mapspace = mapper->preferred(options.mapspace);",
          "settings_.start.push_back(known(file));", "settings.start.push_back({m, report});",
          "for (const auto& v : mapspace::check(problem, mapping)) {",
          "timeloop::search_mappings(problem, arch);"}) {
        BOOST_TEST(offences({{"src/cli/other.cpp", line}}).size() == 1u, line);
        BOOST_TEST(offences({{"src/cli/other.cpp", std::string("// ") + line}}).empty(), line);
    }
    BOOST_TEST(!makes_session("#include \"tessera/session.hpp\"\nint x;\n"));
    BOOST_TEST(!makes_session("Session session(problem, options);\n"));
}
