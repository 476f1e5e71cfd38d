// From an installed prefix, with the checkout out of reach: plugins made from the template build,
// are listed, pass their contract tests and are used. And in the checkout: a plugin is one folder.
#include <boost/test/unit_test.hpp>
#include <cstdio>
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
        return (folder_ / "opt/odd+prefix_1.0").string();
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
    // It takes part in comparisons and sweeps as the built-in ones do.
    const std::string with = "TESSERA_PLUGIN_PATH=" + installed().at("my_strategy") + " tessera ";
    const std::string list = installed().at("field.yaml");
    std::ofstream(list) << "- {arch: snowcat, workload: matmuls, define: {N_EINSUMS: 2}}\n";
    const Ran compared = away(with + "compare --instances " + list +
                              " --mapper my_strategy,ffm --max-evals 50 -q --json");
    BOOST_REQUIRE_MESSAGE(compared.code == 0, compared.err);
    const auto field = nlohmann::json::parse(compared.out);
    const auto& standings = field["mappers"];  // in the order of their ratios
    BOOST_REQUIRE(standings.size() == 2U);
    const auto& own = standings[standings[0]["name"] == "my_strategy" ? 0 : 1];
    BOOST_TEST(own["name"] == "my_strategy");
    BOOST_TEST(own["found"] == 1);
    const Ran swept = away(with +
                           "sweep -a snowcat -w matmuls -D N_EINSUMS=1,2 "
                           "--mapper my_strategy --max-evals 50 -q --json");
    BOOST_REQUIRE_MESSAGE(swept.code == 0, swept.err);
    const auto points = nlohmann::json::parse(swept.out)["points"];
    BOOST_REQUIRE(points.size() == 2U);
    BOOST_TEST(points[0]["status"] == "feasible");
    BOOST_TEST(points[1]["status"] == "feasible");
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

namespace {

/// EDP with all digits and status, as the example prints them, of a JSON document of `map`.
std::string answer(const std::string& document) {
    const auto json = nlohmann::json::parse(document);
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.17g", json["mappings"][0]["edp_js"].get<double>());
    return std::string(digits) + " " + json["status"].get<std::string>() + "\n";
}

std::string demo() {
    const Ran ran = away("tessera map -a tpu-v4i -w gpt3-6.7b -D BATCH=1 -D TOKENS=2048 -q --json");
    BOOST_REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return answer(ran.out);
}

/// The examples as they are in the checkout, out of its reach.
std::string example(const std::string& name) {
    const std::string to = installed().at("examples-" + name);
    fs::copy(fs::path(checkout()) / "examples" / name, to,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    return to;
}

void gives_the_demo(const Ran& built, const std::string& program,
                    const std::string& variables = "") {
    BOOST_REQUIRE_MESSAGE(built.code == 0, built.out + built.err);
    const Ran ran = away(variables + program);
    BOOST_TEST(ran.code == 0, ran.err);
    BOOST_TEST(ran.out == demo());
    BOOST_TEST(ran.err.find("EDP") != std::string::npos);
    const Ran needs = away("ldd " + program);
    BOOST_TEST(needs.out.find("libyaml-cpp") != std::string::npos);
    BOOST_TEST(needs.out.find("ncurses") == std::string::npos);
    BOOST_TEST(needs.out.find("tinfo") == std::string::npos);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_program_with_the_shared_library_equals_the_command_line) {
    const std::string folder = example("embed");
    const Ran built = away("cd " + folder +
                           " && c++ -std=c++20 -Wall -Wextra -Werror embed.cpp"
                           " $(pkg-config --cflags --libs tessera) -o embed");
    gives_the_demo(built, folder + "/embed");
    BOOST_TEST(away("ldd " + folder + "/embed").out.find("libtessera.so.0.2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_program_with_the_static_library_equals_the_command_line) {
    const std::string folder = example("embed");
    const Ran built = away("cd " + folder +
                           " && c++ -std=c++20 embed.cpp $(pkg-config --cflags tessera)"
                           " -Wl,-Bstatic $(pkg-config --libs-only-L tessera) -ltessera"
                           " -Wl,-Bdynamic $(pkg-config --static --libs tessera) -o embed-static");
    gives_the_demo(built, folder + "/embed-static",
                   "TESSERA_DATA_PATH=" + installed().prefix() + "/share/tessera ");
}

BOOST_AUTO_TEST_CASE(a_program_that_cmake_builds_equals_the_command_line) {
    const std::string folder = example("embed");
    const Ran built = away("cmake -S " + folder + " -B " + folder + "/made -DCMAKE_PREFIX_PATH=" +
                           installed().prefix() + " && cmake --build " + folder + "/made");
    gives_the_demo(built, folder + "/made/embed");
    const Ran newer = away("sed -i s/0.2/0.3/ " + folder + "/CMakeLists.txt && cmake -S " + folder +
                           " -B " + folder + "/newer -DCMAKE_PREFIX_PATH=" + installed().prefix());
    BOOST_TEST(newer.code != 0);
}

BOOST_AUTO_TEST_CASE(examples_of_plugins_work) {
    struct Example {
        const char *folder, *name, *use;
    };
    const std::string map = "tessera map -a snowcat -w matmuls -D N_EINSUMS=2 -q --json ";
    for (const Example& e : {Example{"strategy", "hill_climbing", "--mapper hill_climbing"},
                             Example{"model", "launch", "--model launch --knob launch.overhead=0"},
                             Example{"mapper", "one_by_one", "--mapper one_by_one"}}) {
        const std::string name = e.name, file = "tessera-" + name + ".so";
        const Ran built = away("cd " + example(e.folder) + " && c++ -Wall -Wextra -Werror " + name +
                               ".cpp $(pkg-config --cflags --libs tessera-plugin) -o " + file +
                               " && tessera plugins check ./" + file);
        BOOST_REQUIRE_MESSAGE(built.code == 0, name << built.out << built.err);
        BOOST_TEST(built.out.find(" 0 failed") != std::string::npos);
        const Ran used = away(map + e.use + " --max-evals 20000 --plugin " +
                              installed().at("examples-" + std::string(e.folder)) + "/" + file);
        BOOST_REQUIRE_MESSAGE(used.code == 0, name << used.err);
        // All of them can reach the optimum here, bit for bit.
        const std::string found = answer(used.out), optimum = answer(away(map).out);
        BOOST_TEST(found.substr(0, found.find(' ')) == optimum.substr(0, optimum.find(' ')), name);
    }
}

BOOST_AUTO_TEST_CASE(uninstall_leaves_nothing) {
    const Folder folder;
    const std::string make = "make -C " + checkout() + " BUILD=" + build().string() +
                             " DESTDIR=" + (folder / "stage").string() + " PREFIX=/opt/t ";
    BOOST_REQUIRE(run(make + "install-files").code == 0);
    BOOST_TEST(fs::exists(folder / "stage/opt/t/bin/timeloop-mapper"));
    BOOST_TEST(read(folder / "stage/opt/t/lib/pkgconfig/tessera.pc").find("prefix=/opt/t\n") !=
               std::string::npos);
    // What is not ours stays, and what an older version left goes.
    std::ofstream(folder / "stage/opt/t/bin/mine") << "mine";
    std::ofstream(folder / "stage/opt/t/share/tessera/old") << "old";
    std::ofstream(folder / "stage/opt/t/share/tessera/installed", std::ios::app)
        << "share/tessera/old\n";
    BOOST_REQUIRE(run(make + "install-files").code == 0);
    BOOST_TEST(!fs::exists(folder / "stage/opt/t/share/tessera/old"));
    BOOST_TEST(run(make + "uninstall").code == 0);
    BOOST_TEST(fs::exists(folder / "stage/opt/t/bin/mine"));
    fs::remove(folder / "stage/opt/t/bin/mine");
    BOOST_REQUIRE(run(make + "install-files").code == 0);
    BOOST_TEST(run(make + "uninstall").code == 0);
    BOOST_TEST(!fs::exists(folder / "stage/opt/t/bin"));
    BOOST_TEST(run("find " + (folder / "stage").string() + " -type f -o -type l").out == "");
    const Ran again = run(make + "uninstall");
    BOOST_TEST(again.code != 0);
    BOOST_TEST(again.err.find("nothing of tessera is installed there") != std::string::npos);
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
    const Ran planned =
        run(scons + "-n VERBOSE=1 build/tessera | grep -e \"-o build/obj/builtins.o\"");
    BOOST_TEST(planned.code == 0);
    BOOST_TEST(planned.out.find("plugins/dropped/dropped.o") != std::string::npos);
}
