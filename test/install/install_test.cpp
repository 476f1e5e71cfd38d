// From an installed prefix, with the checkout out of reach: plugins made from the template build,
// are listed, pass their contract tests and are used. And in the checkout: a plugin is one folder.
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "abi/program.hpp"
#include "support/paths.hpp"

using namespace tessera::abi_test;

namespace {

std::string checkout() {
    return fs::path(tessera::test::test_folder()).parent_path().string();
}

/// Installed once for all cases.
class Installed {
public:
    Installed() {
        const Ran made = run("make -C " + checkout() + " install-files BUILD=" + build().string() +
                             " PREFIX=" + prefix());
        BOOST_REQUIRE_MESSAGE(made.code == 0, made.out + made.err);
    }
    std::string prefix() const {
        return (folder_ / "prefix").string();
    }
    std::string tool() const {
        return prefix() + "/bin/tessera";
    }
    std::string at(const std::string& name) const {
        return (folder_ / name).string();
    }
    const fs::path& path() const {
        return folder_.path();
    }

private:
    Folder folder_;
};

const Installed& installed() {
    static const Installed once;
    return once;
}

/// Puts an empty folder over the checkout for one command, where the system lets us.
std::string hidden(const std::string& command) {
    static const bool possible = run("unshare -m true").code == 0;
    const std::string there = "cd " + installed().path().string() + " && " + command;
    if (!possible) {
        BOOST_TEST_MESSAGE("no mount namespaces here: the checkout is not hidden");
        return there;
    }
    return "unshare -m sh -c \"mount -t tmpfs none " + checkout() + " && test ! -e " + checkout() +
           "/SConstruct && " + there + "\"";
}

Ran away(const std::string& command) {
    return run(hidden(command), {{"PATH", installed().prefix() + "/bin:/usr/bin:/bin"},
                                 {"PKG_CONFIG_PATH", installed().prefix() + "/lib/pkgconfig"}});
}

void works(const std::string& kind, const std::string& name, const std::string& use,
           const std::string& compiler) {
    const std::string file = name + "/tessera-" + name + ".so";
    const Ran made = away("tessera plugins new " + kind + " " + name + " && make -C " + name +
                          " CXX=" + compiler);
    BOOST_REQUIRE_MESSAGE(made.code == 0, made.out + made.err);
    BOOST_TEST(made.err == "");
    const Ran listed =
        away("TESSERA_PLUGIN_PATH=" + installed().at(name) + " tessera plugins list --json");
    BOOST_TEST(listed.out.find("\"name\": \"" + name + "\"") != std::string::npos);
    BOOST_TEST(listed.err == "");
    const Ran checked = away("tessera plugins check ./" + file);
    BOOST_TEST(checked.code == 0, checked.out + checked.err);
    BOOST_TEST(checked.out.find(" 0 failed") != std::string::npos);
    const Ran used = away("TESSERA_PLUGIN_PATH=" + installed().at(name) +
                          " tessera map -a snowcat -w matmuls -D N_EINSUMS=2 -q --json " + use);
    BOOST_TEST(used.code == 0, used.err);
    BOOST_TEST(nlohmann::json::parse(used.out)["mappings"].size() == 1u);
    // The test that came with it.
    const Ran tested = away("cd " + name + " && sh test/run.sh");
    BOOST_TEST(tested.code == 0, tested.out + tested.err);
    BOOST_TEST(tested.out.find("EDP ") != std::string::npos, tested.out);
}

}  // namespace

BOOST_AUTO_TEST_CASE(data_is_found_by_name) {
    const Ran ran = away("tessera map -a tpu-v4i -w three-matmuls -q");
    BOOST_TEST(ran.code == 0, ran.err);
    BOOST_TEST(ran.out.find("Proven optimal") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_strategy_from_the_template_works) {
    works("search", "my_strategy", "--mapper my_strategy --max-evals 200", "g++");
}

BOOST_AUTO_TEST_CASE(a_mapper_from_the_template_works) {
    works("mapper", "my_mapper", "--mapper my_mapper", "clang++");
}

BOOST_AUTO_TEST_CASE(a_model_from_the_template_works) {
    works("model", "my_model", "--model my_model", "g++");
}

BOOST_AUTO_TEST_CASE(wrong_requests_for_a_template_are_refused) {
    const Ran kind = away("tessera plugins new serach x");
    BOOST_TEST(kind.code == 2);
    BOOST_TEST(kind.err.find("did you mean") != std::string::npos);
    const Ran name = away("tessera plugins new search My-Strategy");
    BOOST_TEST(name.code == 2);
    const Ran taken = away("mkdir -p there && tessera plugins new search there");
    BOOST_TEST(taken.code == 2);
    BOOST_TEST(taken.err.find("exists already") != std::string::npos);
    for (const char* known : {"search random", "mapper random", "search ffm", "model looptree"}) {
        const Ran used = away(std::string("tessera plugins new ") + known);
        BOOST_TEST(used.code == 2, known);
        BOOST_TEST(used.err.find("in the program itself, and a second one could not be loaded") !=
                       std::string::npos,
                   used.err);
    }
}

// A copy of the checkout with one more folder under plugins/: nothing else is edited.
BOOST_AUTO_TEST_CASE(a_built_in_plugin_is_one_folder) {
    const Folder folder;
    for (const auto& entry : fs::directory_iterator(checkout())) {
        const std::string name = entry.path().filename().string();
        if (name == "plugins") {
            fs::copy(entry.path(), folder / name, fs::copy_options::recursive);
        } else if (name[0] != '.' && name.rfind("build", 0) != 0) {
            fs::create_symlink(entry.path(), folder / name);
        }
    }
    fs::create_directory(folder / "plugins/dropped");
    std::ofstream(folder / "plugins/dropped/dropped.cpp") << R"(
#include "tessera/plugin/search_strategy.hpp"
namespace {
class Dropped : public tessera::search::SearchStrategy {
    std::string name() const override { return "dropped"; }
    void start(const tessera::search::Space&, std::uint64_t) override {}
    std::size_t ask(std::span<tessera::search::Candidate> batch) override {
        for (auto& c : batch) {
            c.how = tessera::search::Candidate::How::draw;
            c.seed = ++drawn_;
        }
        return batch.size();
    }
    void tell(std::span<const tessera::search::Candidate>) override {}
    std::uint64_t drawn_ = 0;
};
TESSERA_PLUGIN(tessera::search::SearchStrategy, Dropped, "dropped", "draws", "");
}
)";
    const std::string scons = "cd " + folder.path().string() + " && scons -Q BUILD=build ";
    const std::string object = "build/loaded/lib/tessera/plugins/tessera-dropped.so";
    const Ran built = run(scons + object);
    BOOST_REQUIRE_MESSAGE(built.code == 0, built.out + built.err);
    const Ran used = run(small_map() + " --mapper dropped --max-evals 50 --plugin " +
                         (folder / object).string());
    BOOST_TEST(used.code == 0, used.err);
    // Linked in, it is part of the program's command line.
    const Ran planned = run(scons + "-n VERBOSE=1 build/tessera | grep -e \"-o build/tessera \"");
    BOOST_TEST(planned.code == 0);
    BOOST_TEST(planned.out.find("plugins/dropped/dropped.o") != std::string::npos);
}
