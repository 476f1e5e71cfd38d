#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "base/directory.hpp"
#include "base/units.hpp"
#include "io/report_json.hpp"
#include "io/run_directory.hpp"
#include "io/sha256.hpp"
#include "tessera/base/error.hpp"

using namespace tessera;
namespace fs = std::filesystem;

namespace {

struct Folder {
    fs::path path = fs::temp_directory_path() / ("tessera-io-" + std::to_string(::getpid()));
    Folder() {
        fs::remove_all(path);
        fs::create_directories(path);
    }
    ~Folder() {
        fs::remove_all(path);
    }
};

std::string content(const fs::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::size_t entries(const fs::path& path) {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

}  // namespace

BOOST_AUTO_TEST_CASE(sha256_of_published_vectors) {
    BOOST_TEST(io::sha256("") ==
               "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    BOOST_TEST(io::sha256("abc") ==
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    BOOST_TEST(io::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

BOOST_AUTO_TEST_CASE(quantities_have_prefixes) {
    BOOST_TEST(base::quantity(0.0123456, "J") == "12.35 mJ");
    BOOST_TEST(base::quantity(0.9999999, "s") == "1 s");
    BOOST_TEST(base::quantity(0, "s") == "0 s");
    BOOST_TEST(base::quantity(1234567, "") == "1.235 M");
    BOOST_TEST(base::quantity(2.5e-21, "J") == "2.5 zJ");
    BOOST_TEST(base::quantity(1.08248e-3, "J s") == "1.082 mJ s");
    BOOST_TEST(base::quantity(3.2e9, "/s") == "3.2 G/s");
    BOOST_TEST(base::quantity(1e-30, "J") == "1e-30 J");
    BOOST_TEST(base::quantity(1e30, "s") == "1e+30 s");
    BOOST_TEST(base::quantity(INFINITY, "s") == "inf s");
}

// The prefix of what is counted stands apart from the noun.
BOOST_AUTO_TEST_CASE(amounts_are_whole_until_they_are_large) {
    BOOST_TEST(base::amount(1, "word") == "1 word");
    BOOST_TEST(base::amount(9999, "words") == "9999 words");
    BOOST_TEST(base::amount(9999.6, "words") == "10 k words");
    BOOST_TEST(base::amount(16777216, "words") == "16.78 M words");
    BOOST_TEST(base::amount(999999) == "1 M");
    BOOST_TEST(base::quantity(123456, "cycles") == "123.5 k cycles");
    BOOST_TEST(base::amount(0.5) == "0.5");
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_left_out) {
    io::Json object = io::Json::object();
    io::put(object, "a", 1.5);
    io::put(object, "b", std::numeric_limits<double>::infinity());
    io::put(object, "c", std::numeric_limits<double>::quiet_NaN());
    BOOST_TEST(object.dump() == "{\"a\":1.5}");
}

using Policy = io::RunDirectory::Policy;
using State = io::RunDirectory::State;

namespace {

constexpr const char* description =
    R"({"tessera_version": "0.1.0", "command": ["tessera", "map"], "inputs": []})";

/// A run from beginning to end, or up to where it was killed.
void make_run(const fs::path& path, Policy policy, const std::string& result) {
    io::RunDirectory run(path, policy);
    run.open();
    run.write("run.json", description);
    run.write("checkpoint.json", "{}");
    if (result.empty()) {
        run.write("mapping.yaml", "found on the way");
    } else {
        run.finish({{"result.json", result}, {"mapping.yaml", "m"}}, true);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_directory_fills_and_ends) {
    const Folder folder;
    const fs::path target = folder.path / "deep" / "run";
    io::RunDirectory run(target, Policy::refuse);
    BOOST_TEST((run.state() == State::free));
    run.open();
    run.write("run.json", description);
    run.write("mapping-2.yaml", "found on the way");
    BOOST_TEST(content(target / "run.json") == description);
    std::ofstream(target / ".status.json.17-3.tmp") << "half";
    run.finish({{"result.json", "r"}, {"mapping.yaml", "m"}}, true);
    BOOST_TEST(entries(target) == 3U);
    BOOST_TEST(entries(folder.path / "deep") == 1U);
}

BOOST_AUTO_TEST_CASE(an_existing_run_is_kept_unless_forced) {
    const Folder folder;
    const fs::path target = folder.path / "run";
    make_run(target, Policy::refuse, "old");
    BOOST_CHECK_THROW(io::RunDirectory(target, Policy::refuse), UserError);
    BOOST_TEST((io::RunDirectory(target, Policy::skip).state() == State::finished));
    BOOST_TEST((io::RunDirectory(target, Policy::resume).state() == State::finished));
    make_run(target, Policy::replace, "new");
    BOOST_TEST(content(target / "result.json") == "new");
    BOOST_TEST(entries(target) == 3U);
    BOOST_TEST(entries(folder.path) == 1U);
}

BOOST_AUTO_TEST_CASE(a_killed_run_can_be_resumed) {
    const Folder folder;
    const fs::path target = folder.path / "run";
    make_run(target, Policy::refuse, "");
    BOOST_CHECK_THROW(io::RunDirectory(target, Policy::refuse), UserError);
    BOOST_CHECK_THROW(io::RunDirectory(target, Policy::skip), UserError);
    io::RunDirectory run(target, Policy::resume);
    BOOST_TEST((run.state() == State::unfinished));
    run.open();
    BOOST_TEST(run.read("run.json") == description);
    BOOST_CHECK_THROW(io::RunDirectory(target, Policy::resume).open(), UserError);  // locked
}

BOOST_AUTO_TEST_CASE(a_forced_run_without_result_brings_the_old_one_back) {
    const Folder folder;
    const fs::path target = folder.path / "run";
    make_run(target, Policy::refuse, "old");
    {
        io::RunDirectory run(target, Policy::replace);
        run.open();
        run.write("run.json", std::string(description) + " ");
        BOOST_TEST(!fs::exists(target / "result.json"));
    }
    BOOST_TEST(content(target / "result.json") == "old");
    BOOST_TEST(content(target / "run.json") == description);
    BOOST_TEST(entries(target) == 3U);
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_no_run_is_left_alone) {
    const Folder folder;
    std::ofstream(folder.path / "precious.txt") << "mine";
    for (const Policy policy : {Policy::refuse, Policy::replace, Policy::resume, Policy::skip}) {
        BOOST_CHECK_THROW(io::RunDirectory(folder.path, policy), UserError);
    }
    BOOST_TEST(content(folder.path / "precious.txt") == "mine");
}

BOOST_AUTO_TEST_CASE(files_of_others_in_a_run_are_left_alone) {
    const Folder folder;
    const fs::path target = folder.path / "run";
    make_run(target, Policy::refuse, "old");
    std::ofstream(target / "notes.txt") << "mine";
    std::ofstream(target / "mine.mapping.yaml") << "mine";
    fs::create_directory(target / "mapping");
    make_run(target, Policy::replace, "new");
    BOOST_TEST(content(target / "result.json") == "new");
    BOOST_TEST(content(target / "notes.txt") == "mine");
    BOOST_TEST(content(target / "mine.mapping.yaml") == "mine");
    BOOST_TEST(entries(target) == 6U);
    // Any run.json is not enough.
    std::ofstream(target / "run.json") << "{\"command\": [\"make\"]}";
    BOOST_CHECK_THROW(io::RunDirectory(target, Policy::replace), UserError);
    // Nor is one beside things in the place of our files.
    std::ofstream(target / "run.json") << description;
    fs::create_symlink(folder.path / "elsewhere", target / "events.jsonl");
    for (const Policy policy : {Policy::refuse, Policy::replace, Policy::resume, Policy::skip}) {
        BOOST_CHECK_THROW(io::RunDirectory(target, policy), UserError);
    }
    BOOST_TEST(!fs::exists(folder.path / "elsewhere"));
}

BOOST_AUTO_TEST_CASE(a_comparison_names_its_files) {
    const Folder folder;
    const fs::path target = folder.path / "comparison";
    constexpr const char* comparison =
        R"({"tessera_version": "0.1.0", "command": ["tessera", "compare"], "contenders": ["ffm"]})";
    fs::create_directory(target);
    std::ofstream(target / "run.json") << comparison;
    std::ofstream(target / "ffm.mapping.yaml") << "old";
    std::ofstream(target / "mine.mapping.yaml") << "mine";
    std::string message;
    try {
        io::RunDirectory(target, Policy::refuse);
    } catch (const UserError& error) {
        message = error.what();
    }
    BOOST_TEST(message.find("cannot be resumed") != std::string::npos, message);
    BOOST_TEST(message.find("--resume") == std::string::npos, message);
    make_run(target, Policy::replace, "new");
    BOOST_TEST(!fs::exists(target / "ffm.mapping.yaml"));
    BOOST_TEST(content(target / "mine.mapping.yaml") == "mine");
}

BOOST_AUTO_TEST_CASE(a_run_writes_to_the_folder_it_locked) {
    const Folder folder;
    const fs::path a = folder.path / "a", b = folder.path / "b";
    io::RunDirectory run(a, Policy::refuse);
    run.open();
    run.write("run.json", description);
    fs::rename(a, b);
    make_run(a, Policy::refuse, "another");
    BOOST_TEST(run.finish({{"result.json", "r"}, {"mapping.yaml", "m"}}, true).empty());
    BOOST_TEST(content(a / "result.json") == "another");
    BOOST_TEST(content(b / "result.json") == "r");
}

BOOST_AUTO_TEST_CASE(who_comes_second_is_told_so) {
    const Folder folder;
    const fs::path target = folder.path / "run";
    const auto message = [&](const auto& call) -> std::string {
        try {
            call();
        } catch (const UserError& error) {
            return error.what();
        }
        return "no error";
    };
    io::RunDirectory late(target, Policy::refuse);  // looks before anything is there
    io::RunDirectory run(target, Policy::refuse);
    run.open();
    const std::string being_written = "is being written by another process";
    BOOST_TEST(message([&] { late.open(); }).find(being_written) != std::string::npos);
    for (const char* file : {"checkpoint.json", "run.json"}) {  // at any stage of its beginning
        run.write(file, description);
        for (const Policy policy : {Policy::refuse, Policy::replace, Policy::resume}) {
            const std::string told = message([&] { io::RunDirectory(target, policy); });
            BOOST_TEST(told.find(being_written) != std::string::npos, told);
        }
    }
}

// As a child does of a writer that was killed while it forked, until it closes what it inherited.
BOOST_AUTO_TEST_CASE(a_lock_that_is_held_for_a_moment_is_waited_for) {
    const Folder folder;
    const fs::path target = folder.path / "run";
    make_run(target, Policy::refuse, "first");
    std::optional<base::Directory> heir(target);
    BOOST_TEST_REQUIRE(heir->lock(true));
    std::thread closes([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        heir.reset();
    });
    BOOST_CHECK_NO_THROW(io::RunDirectory(target, Policy::replace));
    closes.join();
}

BOOST_AUTO_TEST_CASE(what_was_found_is_not_removed_when_a_file_fails) {
    const Folder folder;
    const fs::path target = folder.path / "run";
    {
        io::RunDirectory run(target, Policy::refuse);
        run.open();
        run.write("run.json", description);
        run.write("checkpoint.json", "{}");
        fs::create_directories(target / "looptree.svg" / "full");
        const auto unwritten =
            run.finish({{"looptree.svg", "s"}, {"mapping.yaml", "m"}, {"result.json", "r"}}, true);
        BOOST_REQUIRE_EQUAL(unwritten.size(), 1U);
        BOOST_TEST(unwritten.front().name == "looptree.svg");
    }
    BOOST_TEST(content(target / "mapping.yaml") == "m");
    BOOST_TEST(content(target / "result.json") == "r");
    BOOST_TEST(content(target / "checkpoint.json") == "{}");  // --resume writes the rest
}

BOOST_AUTO_TEST_CASE(a_refusal_makes_no_folder) {
    const Folder folder;
    BOOST_CHECK_THROW(io::RunDirectory(folder.path / "missing" / ".." / "x", Policy::refuse).open(),
                      UserError);
    BOOST_TEST(entries(folder.path) == 0U);
}

BOOST_AUTO_TEST_CASE(a_failed_write_leaves_nothing) {
    const Folder folder;
    {
        io::RunDirectory run(folder.path / "run", Policy::refuse);
        run.open();
        BOOST_CHECK_THROW(run.write("no/such/folder.txt", ""), UserError);
    }
    BOOST_TEST(entries(folder.path) == 0U);
}
