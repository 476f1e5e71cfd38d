// Inputs that once did what an input must not do. Each is a folder of test/fuzz/inputs: files, the
// command (`command`, a word a line), and, where the message matters, a part of it (`says`).
#include <boost/test/unit_test.hpp>

#include "fuzz/readers.hpp"
#include "support/paths.hpp"

using namespace tessera::fuzz;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_CASE(inputs_that_once_failed) {
    const fs::path cell =
        fs::temp_directory_path() / ("tessera-inputs-" + std::to_string(::getpid()));
    std::size_t count = 0;
    for (const auto& entry :
         fs::directory_iterator(tessera::test::test_folder() + "/fuzz/inputs")) {
        BOOST_TEST_CONTEXT(entry.path().filename().string()) {
            Input input = Input::load(entry.path());
            const auto says = input.files.extract("says");
            const Outcome outcome = run(input, cell, Way::fork);
            const bool of_a_run = input.files.count("run/run.json") > 0;
            BOOST_TEST(fault(input, outcome, of_a_run ? Place::file : Place::position) == "");
            if (!says.empty()) {
                const std::string part = says.mapped().substr(0, says.mapped().find('\n'));
                const std::string all = outcome.err + outcome.out;
                BOOST_TEST(all.find(part) != std::string::npos, "says '" << all << "'");
            }
        }
        ++count;
    }
    fs::remove_all(cell);
    BOOST_TEST(count > 0);
}

// The verdict itself: each of its rules fails on what it forbids.
BOOST_AUTO_TEST_CASE(a_verdict_finds_what_is_forbidden) {
    const Input input{{{"arch.yaml", "x"}}, {"tessera", "check", "-a", "arch.yaml"}};
    Outcome good;
    good.code = 2;
    good.err = "tessera: arch.yaml:1:1: not a map\n";
    good.files = input.files;
    const auto verdict = [&](auto change) {
        Outcome outcome = good;
        change(outcome);
        return fault(input, outcome, Place::position);
    };
    BOOST_TEST(verdict([](Outcome&) {}) == "");
    BOOST_TEST(verdict([](Outcome& o) { o.hung = true; }) == "hangs");
    BOOST_TEST(verdict([](Outcome& o) { o.grew = true; }) == "needs more than 1 GiB");
    BOOST_TEST(verdict([](Outcome& o) { o.signal = 11; }) == "signal 11");
    BOOST_TEST(verdict([](Outcome& o) { o.code = 70; }) == "internal error");
    BOOST_TEST(verdict([](Outcome& o) { o.code = 9; }) == "exit code 9");
    BOOST_TEST(verdict([](Outcome& o) { o.err = ""; }) == "no message");
    BOOST_TEST(verdict([](Outcome& o) { o.err = "not a map\n"; }) == "message without a place");
    BOOST_TEST(verdict([](Outcome& o) { o.files["new"] = ""; }) ==
               "refused, yet files were written");
    BOOST_TEST(verdict([](Outcome& o) { o.out = "half a document"; }) ==
               "refused, yet something was printed");
    for (const char* control : {"\x1b[2J", "\a", "\r", "\x7f", "\xc2\x9b"}) {
        for (std::string Outcome::*stream : {&Outcome::out, &Outcome::err}) {
            BOOST_TEST(verdict([&](Outcome& o) { o.*stream += control; }) ==
                       "raw control character");
        }
    }
}

// The system starts no program with an argument of more than 128 KiB.
BOOST_AUTO_TEST_CASE(long_arguments_reach_the_program) {
    const fs::path cell =
        fs::temp_directory_path() / ("tessera-arguments-" + std::to_string(::getpid()));
    const Input input{{}, {"tessera", "map", "-a", std::string(1U << 18U, 'x')}};
    const Outcome outcome = run(input, cell, Way::program);
    fs::remove_all(cell);
    BOOST_TEST(outcome.code == 2, outcome.err.substr(0, 1000));
}
