// The order of the rooms, as README states it, holds in every include.
#include "rooms/rooms.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;
using tessera::rooms_test::crowded_folders;
using tessera::rooms_test::Files;
using tessera::rooms_test::offences;

fs::path top() {
    return fs::path(tessera::test::test_folder()).parent_path();
}

std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

Files repository() {
    Files files;
    for (const char* folder : {"include", "src", "plugins"}) {
        for (const auto& entry : fs::recursive_directory_iterator(top() / folder)) {
            const std::string ending = entry.path().extension().string();
            if (ending == ".cpp" || ending == ".hpp" || ending == ".h") {
                files[entry.path().lexically_relative(top()).string()] = read(entry.path());
            }
        }
    }
    return files;
}

/// The only offence of two files; empty: none.
std::string only(const Files& files) {
    const std::vector<std::string> found = offences(files);
    BOOST_TEST(found.size() <= 1u);
    return found.empty() ? "" : found.front();
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_repository_keeps_the_order_of_its_rooms) {
    const Files files = repository();
    BOOST_TEST(files.size() > 400u);
    for (const std::string& folder : crowded_folders(files, 20)) {
        BOOST_ERROR(folder << ", at most 20 can be looked through: give a part of them its own");
    }
    for (const std::string& offence : offences(files)) {
        BOOST_ERROR(offence);
    }
}

BOOST_AUTO_TEST_CASE(a_folder_with_many_files_is_found) {
    const Files files{{"src/arch/a.cpp", ""},     {"src/arch/a.hpp", ""},
                      {"src/arch/README.md", ""}, {"src/arch/in/b.cpp", ""},
                      {"test/unit/a.cpp", ""},    {"test/unit/b.cpp", ""}};
    BOOST_TEST(crowded_folders(files, 2).empty());
    const std::vector<std::string> found = crowded_folders(files, 1);
    BOOST_TEST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0] == "src/arch has 2 files");
}

BOOST_AUTO_TEST_CASE(every_kind_of_offence_is_seen) {
    BOOST_TEST(only({{"src/spec/a.cpp", "#include \"tessera/arch/b.hpp\"\n"},
                     {"include/tessera/arch/b.hpp", ""}}) ==
               "src/spec/a.cpp includes include/tessera/arch/b.hpp: arch comes after spec");
    BOOST_TEST(only({{"src/arch/a.cpp", "#include \"spec/b.hpp\"\n"}, {"src/spec/b.hpp", ""}}) ==
               "src/arch/a.cpp includes src/spec/b.hpp: it is private to spec");
    BOOST_TEST(
        only({{"include/tessera/arch/a.hpp", "#include \"spec/b.hpp\"\n"},
              {"src/include/spec/b.hpp", ""}}) ==
        "include/tessera/arch/a.hpp includes src/include/spec/b.hpp: a public header includes "
        "one that is not installed");
    BOOST_TEST(
        only({{"plugins/a/a.cpp", "#include \"plugins/b/b.hpp\"\n"}, {"plugins/b/b.hpp", ""}}) ==
        "plugins/a/a.cpp includes plugins/b/b.hpp: it belongs to another plugin");
    BOOST_TEST(only({{"plugins/a/a.cpp", "#include <tessera/tessera.hpp>\n"},
                     {"include/tessera/tessera.hpp", ""}}) ==
               "plugins/a/a.cpp includes include/tessera/tessera.hpp: api comes after plugins");
    BOOST_TEST(only({{"plugins/a/a.cpp", "#include \"model/b.hpp\"\n"},
                     {"src/include/model/b.hpp", ""}}) ==
               "plugins/a/a.cpp includes src/include/model/b.hpp: a plugin from outside could not");
    BOOST_TEST(only({{"src/attic/a.cpp", ""}}) ==
               "src/attic/a.cpp: the room attic has no place in the order");
    BOOST_TEST(only({{"src/spec/a.hpp", "#include \"spec/b.hpp\"\n"},
                     {"src/spec/b.hpp", "#include \"a.hpp\"\n"}}) ==
               "circle of includes: src/spec/a.hpp > src/spec/b.hpp > src/spec/a.hpp");
}

BOOST_AUTO_TEST_CASE(what_is_allowed_is_no_offence) {
    BOOST_TEST(only({{"src/arch/a.cpp",
                      "#include \"arch/own.hpp\"\n#include \"spec/b.hpp\"\n"
                      "#include \"tessera/spec/c.hpp\"\n#include <vector>\n"},
                     {"src/arch/own.hpp", ""},
                     {"src/include/spec/b.hpp", ""},
                     {"include/tessera/spec/c.hpp", ""}}) == "");
    BOOST_TEST(only({{"plugins/ffm/a.cpp", "#include \"b.hpp\"\n#include \"model/c.hpp\"\n"},
                     {"plugins/ffm/b.hpp", ""},
                     {"src/include/model/c.hpp", ""}}) == "");
    BOOST_TEST(
        only({{"plugins/a/test/t.cpp", "#include \"cli/c.hpp\"\n"}, {"src/cli/c.hpp", ""}}) == "");
}

// README's "Reading the code" lists headers from the first room to the last.
BOOST_AUTO_TEST_CASE(the_reading_order_of_the_readme_is_the_order_of_the_rooms) {
    const std::string readme = read(top() / "README.md");
    const std::string list = readme.substr(readme.find("## Reading the code"));
    const std::regex item("\n[0-9]+\\. `([^`]+)`");
    int last = -1, n = 0;
    for (std::sregex_iterator it(list.begin(), list.end(), item), end; it != end; ++it, ++n) {
        const std::string path = (*it)[1].str();
        BOOST_TEST(fs::exists(top() / path), path);
        const auto& rooms = tessera::rooms_test::rooms();
        const int place = static_cast<int>(
            std::find(rooms.begin(), rooms.end(), tessera::rooms_test::room_of(path)) -
            rooms.begin());
        BOOST_TEST(place < static_cast<int>(rooms.size()), path);
        BOOST_TEST(place >= last, path << " comes too late");
        last = place;
    }
    BOOST_TEST(n >= 8);
}

BOOST_AUTO_TEST_CASE(the_readme_lists_the_rooms_in_order) {
    const std::string readme = read(top() / "README.md");
    const std::string before = "from one further on:";
    const std::size_t from = readme.find(before);
    const std::size_t to = readme.find(". The suite", from);
    BOOST_TEST_REQUIRE(from != std::string::npos);
    BOOST_TEST_REQUIRE(to != std::string::npos);
    const std::string list = readme.substr(from + before.size(), to - from - before.size());
    const std::string names = std::regex_replace(list, std::regex("\\(.*\\)|\\bthe\\b"), "");
    const std::regex word("[a-z]+");
    const std::vector<std::string> listed(
        std::sregex_token_iterator(names.begin(), names.end(), word), {});
    BOOST_TEST(listed == tessera::rooms_test::rooms(), boost::test_tools::per_element());
}
