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
