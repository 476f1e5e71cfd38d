// What is given away: the archive of the sources and the Debian package.
#include <boost/test/unit_test.hpp>
#include <string>

#include "abi/program.hpp"
#include "support/paths.hpp"

using namespace tessera::abi_test;

namespace {

std::string checkout() {
    return fs::path(tessera::test::test_folder()).parent_path().string();
}

/// The last line that a command prints.
std::string last_line(std::string text) {
    text.erase(text.find_last_not_of('\n') + 1);
    return text.substr(text.rfind('\n') + 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(package)

BOOST_AUTO_TEST_CASE(the_archive_has_the_sources_and_they_build) {
    if (!fs::exists(checkout() + "/.git")) {
        BOOST_TEST_MESSAGE("no checkout: no commit to make an archive of");
        return;
    }
    const Folder folder;
    const std::string to = folder.path().string();
    const Ran made = run(checkout() + "/tools/dist " + to);
    BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
    const std::string archive = last_line(made.out);
    BOOST_REQUIRE(archive.ends_with(".tar.gz"));
    BOOST_REQUIRE(run("tar xzf " + archive + " -C " + to).code == 0);
    const std::string sources = archive.substr(0, archive.size() - 7);
    for (const char* file : {"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "CITATION.cff",
                             "CONTRIBUTING.md", "Dockerfile", "SConstruct", "Makefile"}) {
        BOOST_TEST(fs::exists(sources + "/" + file), file);
    }
    BOOST_TEST(!fs::exists(sources + "/build"));
    BOOST_TEST(!fs::exists(sources + "/.git"));
    // A dry run finds every source of every target, and that there is no checkout.
    const Ran dry = run("cd " + sources + " && scons -n -Q BUILD=build program");
    BOOST_TEST(dry.code == 0, dry.err);
    BOOST_TEST(dry.out.find("LINK build/tessera\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_debian_package_holds_the_program_and_has_no_errors) {
    if (run("command -v dpkg-deb && command -v dpkg-shlibdeps").code != 0) {
        BOOST_TEST_MESSAGE("no Debian: no package");
        return;
    }
    const Folder folder;
    const std::string to = folder.path().string();
    const Ran made = run(checkout() + "/tools/deb " + build().string());
    BOOST_REQUIRE_MESSAGE(made.code == 0, made.err);
    const std::string package = last_line(made.out);
    BOOST_REQUIRE(package.ends_with(".deb"));
    const Ran fields = run("dpkg-deb -f " + package + " Package Depends");
    BOOST_TEST(fields.out.find("Package: tessera\n") != std::string::npos, fields.out);
    BOOST_TEST(fields.out.find("libyaml-cpp") != std::string::npos, fields.out);
    BOOST_REQUIRE(run("dpkg-deb -x " + package + " " + to).code == 0);
    const Ran version = run(to + "/usr/bin/tessera --version");
    BOOST_TEST(version.out.starts_with("tessera "), version.out + version.err);
    const Ran shown = run(to + "/usr/bin/tessera show");
    BOOST_TEST(shown.out.find("eyeriss") != std::string::npos, shown.out + shown.err);
    if (run("command -v lintian").code == 0) {
        const Ran found = run("lintian --allow-root --tag-display-limit 0 " + package);
        BOOST_TEST(!found.out.starts_with("E:"), found.out);
        BOOST_TEST(found.out.find("\nE:") == std::string::npos, found.out);
    }
}

BOOST_AUTO_TEST_SUITE_END()
