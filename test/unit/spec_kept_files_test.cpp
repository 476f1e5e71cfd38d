// Files whose text is known already: kept ones, and those that were read before.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "spec/kept_files.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"

using namespace tessera::spec;

namespace {

namespace fs = std::filesystem;

struct Files {
    fs::path folder = fs::temp_directory_path() / ("tessera-kept-" + std::to_string(::getpid()));
    Files() {
        fs::create_directories(folder / "a");
    }
    ~Files() {
        fs::remove_all(folder);
    }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(folder / name) << text;
        return (folder / name).string();
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(spec_kept_files)

BOOST_AUTO_TEST_CASE(a_file_that_is_changed_while_it_is_read_has_one_text) {
    const Files files;
    const std::string path = files.write("x.yaml", "one: 1\n");
    {
        const ReadOnce once;
        BOOST_TEST(read_bytes(path) == "one: 1\n");
        files.write("x.yaml", "two: 2\n");
        BOOST_TEST(read_bytes(path) == "one: 1\n");
        BOOST_TEST(read_bytes((files.folder / "a/../x.yaml").string()) == "one: 1\n");
        BOOST_TEST(read_file(path).find("one") != nullptr);
    }
    BOOST_TEST(read_bytes(path) == "two: 2\n");
}

BOOST_AUTO_TEST_CASE(a_kept_text_stands_for_all_spellings_of_its_file_and_for_no_other) {
    const Files files;
    const std::string path = files.write("x.yaml", "new\n");
    const std::string other = files.write("a/x.yaml", "other\n");
    fs::create_directory(files.folder / "b");
    fs::create_directory_symlink(files.folder / "b", files.folder / "a/link");
    const KeptFiles kept({{file_identity(path), "old\n"}});
    BOOST_TEST(read_bytes(path) == "old\n");
    BOOST_TEST(read_bytes((files.folder / "./a/../x.yaml").string()) == "old\n");
    // The folder above b, where the link leads, not the one that the link is in.
    BOOST_TEST(read_bytes((files.folder / "a/link/../x.yaml").string()) == "old\n");
    BOOST_TEST(read_bytes(other) == "other\n");
}

BOOST_AUTO_TEST_CASE(a_kept_text_needs_no_file) {
    const Files files;
    const std::string path = (files.folder / "gone.yaml").string();
    BOOST_CHECK_THROW(read_bytes(path), tessera::UserError);
    const KeptFiles kept({{file_identity(path), "old\n"}});
    BOOST_TEST(read_bytes(path) == "old\n");
}

BOOST_AUTO_TEST_CASE(comments_and_blanks_are_no_content) {
    BOOST_TEST(same_content("a: [1, 2]\n", "# mine\na:   [1,  2]\n", "x.yaml"));
    BOOST_TEST(same_content("a = 1;\n", "// mine\na = 1;\n", "x.cfg"));
    BOOST_TEST(!same_content("a: 1\n", "a: 2\n", "x.yaml"));
    BOOST_TEST(!same_content("a: 1\n", "a: '1'\n", "x.yaml"));
    BOOST_TEST(!same_content("a: [\n", "a: [ \n", "x.yaml"));
}

BOOST_AUTO_TEST_SUITE_END()
