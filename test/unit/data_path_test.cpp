#include "base/data_path.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>

#include "tessera/base/error.hpp"

using namespace tessera;
namespace fs = std::filesystem;

namespace {

/// A data folder of its own, put in front by the environment variable.
struct DataFolder {
    fs::path path = fs::temp_directory_path() / ("tessera-data-" + std::to_string(getpid()));

    DataFolder() {
        fs::create_directories(path / "arch-specs" / "family");
        std::ofstream(path / "arch-specs" / "lonely-chip.yaml") << "arch: {}\n";
        std::ofstream(path / "arch-specs" / "family" / "small.yaml") << "arch: {}\n";
        setenv("TESSERA_DATA_PATH", ("/nonexistent:" + path.string()).c_str(), 1);
    }
    ~DataFolder() {
        unsetenv("TESSERA_DATA_PATH");
        fs::remove_all(path);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(data_is_found_with_and_without_ending, DataFolder) {
    const fs::path wanted = path / "arch-specs" / "lonely-chip.yaml";
    BOOST_TEST(find_data("arch-specs", "lonely-chip") == wanted);
    BOOST_TEST(find_data("arch-specs", "lonely-chip.yaml") == wanted);
    BOOST_TEST(find_data("arch-specs", "family/small") == path / "arch-specs/family/small.yaml");
}

BOOST_FIXTURE_TEST_CASE(an_existing_file_is_taken_as_a_path, DataFolder) {
    const std::string file = (path / "arch-specs" / "lonely-chip.yaml").string();
    BOOST_TEST(find_data("problem-shapes", file) == file);
}

BOOST_FIXTURE_TEST_CASE(a_misspelt_name_brings_up_the_nearest, DataFolder) {
    BOOST_CHECK_EXCEPTION(find_data("arch-specs", "two\nlines"), UserError, [](const UserError& e) {
        return std::string(e.what()).starts_with("'two\\nlines' is neither");
    });
    BOOST_CHECK_EXCEPTION(find_data("arch-specs", "lonly-chip"), UserError, [](const UserError& e) {
        return std::string(e.what()).find("did you mean 'lonely-chip'?") != std::string::npos;
    });
}

BOOST_FIXTURE_TEST_CASE(a_folder_is_no_data_file, DataFolder) {
    BOOST_CHECK_THROW(find_data("arch-specs", "family"), UserError);
    BOOST_CHECK_THROW(find_data("arch-specs", ""), UserError);
}
