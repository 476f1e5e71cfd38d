// tools/fingerprints.py: what changes the fingerprint of a header, and what does not.
#include <boost/test/unit_test.hpp>

#include "abi/program.hpp"
#include "support/paths.hpp"

using namespace tessera::abi_test;

namespace {

const std::string inner = "tessera/base/inner.hpp";
const std::string contract = "tessera/search/strategy.hpp";

/// A small tree of headers.
class Headers {
public:
    Headers() {
        for (const char* name : {"model/cost_model", "mapper/mapper", "telemetry/recorder",
                                 "workload/workload", "spec/directives"}) {
            write("tessera/" + std::string(name) + ".hpp", "");
        }
        write(inner, "struct Inner { int a; };\n");
        write(contract, text_);
        write("tessera/other.hpp", "int other;\n");
    }
    void write(const std::string& name, const std::string& text) const {
        fs::create_directories((folder_ / name).parent_path());
        std::ofstream(folder_ / name) << text;
    }
    /// What the build makes of them.
    std::string prints() const {
        const fs::path tool =
            fs::path(tessera::test::test_folder()).parent_path() / "tools/fingerprints.py";
        const fs::path to = folder_ / "made/fingerprints.hpp";
        const Ran ran =
            run("python3 " + tool.string() + " " + folder_.path().string() + " " + to.string());
        BOOST_REQUIRE_MESSAGE(ran.code == 0, ran.err);
        return read(to);
    }
    /// The fingerprints after one change of the contract, which is then taken back.
    std::string with(const std::string& before, const std::string& after) const {
        std::string changed = text_;
        const std::size_t at = changed.find(before);
        BOOST_REQUIRE(at != std::string::npos);
        write(contract, changed.replace(at, before.size(), after));
        const std::string result = prints();
        write(contract, text_);
        return result;
    }

private:
    Folder folder_;
    const std::string text_ =
        "#include \"tessera/base/inner.hpp\"\n"
        "// a comment\n"
        "struct S { virtual void f(int n = 1'000); virtual void g(); long member; "
        "const char* text = \"// no comment\"; };\n";
};

}  // namespace

BOOST_AUTO_TEST_CASE(comments_and_white_space_do_not_count) {
    const Headers headers;
    const std::string before = headers.prints();
    BOOST_TEST(before.find(inner) != std::string::npos);
    BOOST_TEST(before.find("other") == std::string::npos);
    BOOST_TEST(headers.with("// a comment", "// isn't it \"another\" comment?") == before);
    BOOST_TEST(headers.with("// a comment\n", "/* a\n longer */\n\n") == before);
    BOOST_TEST(headers.with("void f(int n", "void  f( int\n  n") == before);
    headers.write("tessera/other.hpp", "double other;\n");
    BOOST_TEST(headers.prints() == before);
}

BOOST_AUTO_TEST_CASE(everything_else_counts) {
    const Headers headers;
    const std::string before = headers.prints();
    BOOST_TEST(headers.with("long member", "long renamed") != before);
    BOOST_TEST(headers.with("long member", "int member") != before);
    BOOST_TEST(headers.with("1'000", "1'001") != before);
    BOOST_TEST(headers.with("// no comment", "// no  comment") != before);
    BOOST_TEST(headers.with("virtual void f(int n = 1'000); virtual void g();",
                            "virtual void g(); virtual void f(int n = 1'000);") != before);
    headers.write(inner, "struct Inner { int b; };\n");
    const std::string changed = headers.prints();
    BOOST_TEST(changed != before);
    // A strategy is handed a workload by reference.
    headers.write("tessera/workload/workload.hpp", "struct Workload {};\n");
    BOOST_TEST(headers.prints() != changed);
}
