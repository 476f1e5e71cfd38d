// tools/run-tests: a stand-in for a suite, and the report that it leaves for other tools.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "support/paths.hpp"

using namespace tessera;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_CASE(reports_of_suites_name_what_failed_and_what_never_ran) {
    const fs::path build =
        fs::temp_directory_path() / ("tessera-suites-" + std::to_string(getpid()));
    fs::create_directories(build / "test");
    const fs::path suite = build / "test" / "stand-in";
    std::ofstream(suite) << "#!/bin/sh\n"
                            "printf 'plan 4\\npass one\\nfail two<3\\nskip four\\n' "
                            ">\"$TESSERA_TEST_PROTOCOL\"\n"
                            "echo 'error: 2 & 3'\nexit 201\n";
    ::chmod(suite.c_str(), 0700);
    const int status = std::system(("JUNIT=" + (build / "junit").string() + " " +
                                    test::test_folder() + "/../tools/run-tests " + build.string() +
                                    " >" + (build / "out").string() + " 2>&1")
                                       .c_str());
    BOOST_TEST(WEXITSTATUS(status) == 1);
    const auto read = [](const fs::path& path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    };
    BOOST_TEST(read(build / "out").find("1 passed, 2 failed") != std::string::npos);
    const std::string report = read(build / "junit" / "stand-in.xml");
    for (const char* part : {"tests=\"4\" failures=\"2\" skipped=\"1\"", "name=\"one\"></testcase>",
                             "name=\"two&lt;3\"><failure/>", "name=\"four\"><skipped/>",
                             "name=\"never run\"><failure/>", "error: 2 &amp; 3"}) {
        BOOST_TEST(report.find(part) != std::string::npos, part << " in " << report);
    }
    fs::remove_all(build);
}
