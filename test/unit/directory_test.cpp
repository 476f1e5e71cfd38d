// Folders in which others plant, move and replace things.
#include "base/directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <sstream>

#include "tessera/base/error.hpp"

using namespace tessera;
using base::Directory;
namespace fs = std::filesystem;

namespace {

struct Folder {
    fs::path path;
    Folder() {
        std::string name = (fs::temp_directory_path() / "tessera-directory-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~Folder() {
        fs::remove_all(path);
    }
    fs::path operator/(const std::string& name) const {
        return path / name;
    }
};

void put(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

template <class Call>
std::string error_of(Call call) {
    try {
        call();
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(directory)

BOOST_AUTO_TEST_CASE(files_go_where_the_folder_is_moved) {
    const Folder top;
    fs::create_directory(top / "a");
    const Directory held(top / "a");
    fs::rename(top / "a", top / "b");
    fs::create_directory(top / "a");
    held.write("x", "mine", true);
    BOOST_TEST(content(top / "b/x") == "mine");
    BOOST_TEST(fs::is_empty(top / "a"));
    BOOST_TEST(!held.is_in_place());
    BOOST_TEST(held.place() == fs::canonical(top / "b"));
    fs::remove_all(top / "b");
    BOOST_TEST(held.place().empty());
    BOOST_TEST(has(error_of([&] { held.write("x", ""); }), "/a/x: cannot be written: "));
}

BOOST_AUTO_TEST_CASE(links_are_neither_read_nor_written_through) {
    const Folder top, other;
    put(other / "precious", "precious");
    const Directory held(top.path);
    for (const char* name : {"read", "written", "appended", "removed"}) {
        fs::create_symlink(other / "precious", top / name);
    }
    BOOST_TEST(has(error_of([&] { held.read("read"); }), "read: is no regular file"));
    held.write("written", "new");
    BOOST_TEST(content(top / "written") == "new");
    BOOST_TEST(has(error_of([&] { held.open_to_append("appended"); }), "appended: is no regular"));
    BOOST_TEST(!held.remove("removed"));
    fs::create_hard_link(other / "precious", top / "second-name");
    BOOST_TEST(has(error_of([&] { held.open_to_append("second-name"); }), "is no regular file"));
    fs::create_directory_symlink(other.path, top / "folder");
    BOOST_CHECK_THROW(Directory(held, "folder"), UserError);
    BOOST_TEST(content(other / "precious") == "precious");
}

BOOST_AUTO_TEST_CASE(a_pipe_is_not_waited_for) {
    const Folder top;
    const Directory held(top.path);
    BOOST_REQUIRE(::mkfifo((top / "pipe").c_str(), 0666) == 0);
    BOOST_TEST(has(error_of([&] { held.read("pipe"); }), "pipe: is no regular file"));
    BOOST_TEST(has(error_of([&] { held.open_to_append("pipe"); }), "pipe: is no regular file"));
    BOOST_TEST(has(error_of([&] { base::read_regular_file(top / "pipe"); }), "is no regular"));
    BOOST_TEST(!held.stamp("pipe"));
    BOOST_TEST(!held.remove("pipe"));
}

BOOST_AUTO_TEST_CASE(a_file_without_end_is_not_read) {
    const Folder top;
    put(top / "large", "");
    fs::resize_file(top / "large", base::largest_file_bytes + 1);
    BOOST_TEST(has(error_of([&] { Directory(top.path).read("large"); }), "is larger than 256 MiB"));
}

BOOST_AUTO_TEST_CASE(what_fails_leaves_nothing) {
    const Folder top;
    const Directory held(top.path);
    fs::create_directory(top / "taken");
    put(top / "taken/full", "");
    BOOST_CHECK_THROW(held.write("taken", "x"), UserError);
    BOOST_CHECK_THROW(base::make_folders(top / "missing/../x"), UserError);
    put(top / "file", "");
    BOOST_CHECK_THROW(base::make_folders(top / "file/deep/x"), UserError);
    BOOST_TEST(held.names() == (std::vector<std::string>{"file", "taken"}));
    BOOST_TEST(base::make_folders(top / "deep/x").size() == 2U);
    BOOST_TEST(base::make_folders(top / "deep/../deep/x/").empty());
}

BOOST_AUTO_TEST_CASE(locks_are_of_the_folder_not_of_its_name) {
    const Folder top;
    fs::create_directory(top / "a");
    const Directory first(top / "a");
    BOOST_TEST(first.lock(true));
    fs::rename(top / "a", top / "b");
    fs::create_directory(top / "a");
    BOOST_TEST(!Directory(top / "b").lock(false));
    BOOST_TEST(Directory(top / "a").lock(true));
    first.unlock();
    BOOST_TEST(Directory(top / "b").lock(false));
}

BOOST_AUTO_TEST_SUITE_END()
