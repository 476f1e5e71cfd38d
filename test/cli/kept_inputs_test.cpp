// A run folder keeps its inputs: what is done with it later does not depend on their files.
#include <boost/test/unit_test.hpp>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

struct Kept : Folder {
    std::string arch = file("arch.yaml", small_arch);
    std::string workload = file("workload.yaml", small_workload);
    std::string run = at("run");

    Outcome map(const Args& more) const {
        return invoke(joined({"map", "-a", arch, "-w", workload, "-o", run, "-q"}, more));
    }
    /// The architecture, changed: with a comment, or with another energy.
    void comment() const {
        file("arch.yaml", "# mine\n" + std::string(small_arch));
    }
    void other() const {
        std::string text = small_arch;
        file("arch.yaml", text.replace(text.find("energy: 10"), 10, "energy: 99"));
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kept_inputs)

BOOST_AUTO_TEST_CASE(results_name_what_was_searched) {
    const Kept kept;
    const Outcome outcome = kept.map({"--json", "--mapper", "random", "--max-evals", "20"});
    BOOST_REQUIRE_EQUAL(outcome.code, 0);
    for (const Json& root : {outcome.json(), Json::parse(kept.read("run/result.json"))}) {
        BOOST_TEST(root["workload"] == "workload");
        BOOST_TEST(root["architecture"] == "arch");
        BOOST_TEST(root["defines"].empty());
        BOOST_TEST(root["mapper"] == "search");
        BOOST_TEST(root["strategy"] == "random");
        BOOST_TEST(root["model"] == "looptree");
        BOOST_TEST(root["tessera_version"] == tessera::version);
    }
    const Json model = invoke({"model", "-a", kept.arch, "-w", kept.workload, "-m",
                               kept.at("run/mapping.yaml"), "--json"})
                           .json();
    BOOST_TEST(model["workload"] == "workload");
    BOOST_TEST(model["architecture"] == "arch");
    BOOST_TEST(model["model"] == "looptree");
    BOOST_TEST(model["tessera_version"] == tessera::version);
}

BOOST_AUTO_TEST_CASE(rerun_and_report_use_the_inputs_of_the_folder) {
    const Kept kept;
    BOOST_REQUIRE_EQUAL(kept.map({}).code, 0);
    BOOST_TEST(kept.read("run/input-1.yaml") == small_arch);
    BOOST_TEST(kept.read("run/input-2.yaml") == small_workload);
    const Outcome same = invoke({"rerun", kept.run});
    BOOST_TEST(same.code == 0, same.err);
    BOOST_TEST(!same.says("was changed since the run"), same.err);
    kept.other();
    const Outcome changed = invoke({"rerun", kept.run});
    BOOST_TEST(changed.code == 0, changed.err);
    BOOST_TEST(changed.says("arch.yaml was changed since the run"), changed.err);
    BOOST_TEST(changed.says("the result is the same as"), changed.err);
    const Outcome page = invoke({"report", kept.run});
    BOOST_TEST(page.code == 0, page.err);
    BOOST_TEST(page.prints("was changed since the run"));
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_if_a_comment_was_added_and_not_if_a_number_was_changed) {
    const Kept kept;
    BOOST_REQUIRE_EQUAL(kept.map({}).code, 0);
    kept.comment();
    const Outcome comment = kept.map({"--resume"});
    BOOST_TEST(comment.code == 0, comment.err);
    BOOST_TEST(invoke({"map", "--resume", "-o", kept.run, "-q"}).code == 0);
    kept.other();
    const Outcome other = kept.map({"--resume"});
    BOOST_TEST(other.code == 2);
    BOOST_TEST(other.says("other content in the architecture"), other.err);
    BOOST_TEST(invoke({"map", "--resume", "-o", kept.run, "-q"}).code == 0);
}

// What was written into the folder by hand is not what was searched.
BOOST_AUTO_TEST_CASE(a_kept_input_that_was_changed_is_not_used) {
    const Kept kept;
    BOOST_REQUIRE_EQUAL(kept.map({}).code, 0);
    std::string text = small_arch;
    kept.file("run/input-1.yaml", text.replace(text.find("energy: 10"), 10, "energy: 99"));
    BOOST_TEST(invoke({"rerun", kept.run}).code == 0);
    kept.comment();
    const Outcome refused = invoke({"rerun", kept.run});
    BOOST_TEST(refused.code == 2);
    BOOST_TEST(refused.says("other content in the architecture"), refused.err);
}

BOOST_AUTO_TEST_CASE(an_input_that_is_named_again_is_read_again) {
    const Kept kept;
    BOOST_REQUIRE_EQUAL(kept.map({}).code, 0);
    kept.other();
    const Outcome again = invoke({"rerun", kept.run, "-a", kept.arch});
    BOOST_TEST(again.code == 2);
    BOOST_TEST(again.says("other content in the architecture"), again.err);
    BOOST_TEST(!again.says("what the run keeps"), again.err);
}

BOOST_AUTO_TEST_CASE(included_files_are_kept_too) {
    const Kept kept;
    std::filesystem::create_directory(kept.at("parts"));
    kept.file("parts/arch.yaml", small_arch);
    kept.file("arch.yaml", "include: parts/../parts/arch.yaml\n");
    BOOST_REQUIRE_EQUAL(kept.map({}).code, 0);
    BOOST_TEST(kept.read("run/input-2.yaml") == small_arch);
    BOOST_TEST(kept.read("run/input-3.yaml") == small_workload);
    std::string text = small_arch;
    kept.file("parts/arch.yaml", text.replace(text.find("energy: 10"), 10, "energy: 99"));
    const Outcome again = invoke({"rerun", kept.run});
    BOOST_TEST(again.code == 0, again.err);
    BOOST_TEST(again.says("parts/arch.yaml was changed since the run"), again.err);
    BOOST_TEST(again.says("the result is the same as"), again.err);
}

BOOST_AUTO_TEST_CASE(a_link_in_place_of_a_kept_input_is_not_followed) {
    const Kept kept;
    BOOST_REQUIRE_EQUAL(kept.map({}).code, 0);
    std::filesystem::remove(kept.at("run/input-1.yaml"));
    std::filesystem::create_symlink(kept.arch, kept.at("run/input-1.yaml"));
    const Outcome read = invoke({"rerun", kept.run});
    BOOST_TEST(read.code == 2);
    BOOST_TEST(read.says("input-1.yaml: is no regular file; remove it"), read.err);
    const std::string mine = kept.file("mine.yaml", "mine\n");
    std::filesystem::remove(kept.at("run/input-1.yaml"));
    std::filesystem::create_symlink(mine, kept.at("run/input-1.yaml"));
    BOOST_TEST(kept.map({"--force"}).code == 2);
    BOOST_TEST(kept.read("mine.yaml") == "mine\n");
}

// run.json names kept files; whoever gave the folder away wrote it.
BOOST_AUTO_TEST_CASE(kept_inputs_lie_in_the_folder) {
    const Kept kept;
    BOOST_REQUIRE_EQUAL(kept.map({}).code, 0);
    std::filesystem::rename(kept.at("run/input-1.yaml"), kept.at("input-1.yaml"));
    for (const char* name : {"../input-1.yaml", "input-1.yaml/../../input-1.yaml", ".", ""}) {
        Json run = Json::parse(kept.read("run/run.json"));
        run["inputs"][0]["kept"] = name;
        kept.file("run/run.json", run.dump());
        kept.other();
        const Outcome refused = invoke({"rerun", kept.run});
        BOOST_TEST(refused.code == 2, name);
        BOOST_TEST(refused.says("other content in the architecture"), refused.err);
    }
}

BOOST_AUTO_TEST_CASE(a_huge_input_is_not_kept) {
    const Kept kept;
    kept.file("arch.yaml", std::string(small_arch) + "#" + std::string(17 << 20, 'x') + "\n");
    BOOST_REQUIRE_EQUAL(kept.map({}).code, 0);
    BOOST_TEST(!std::filesystem::exists(kept.at("run/input-1.yaml")));
    BOOST_TEST(kept.read("run/input-2.yaml") == small_workload);
    BOOST_TEST(!Json::parse(kept.read("run/run.json"))["inputs"][0].contains("kept"));
    BOOST_TEST(invoke({"rerun", kept.run}).code == 0);
}

BOOST_AUTO_TEST_SUITE_END()
