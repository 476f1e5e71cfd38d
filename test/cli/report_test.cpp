// The page of a run: whole in itself, well formed, of the right numbers; its other forms.
#include <boost/test/unit_test.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

void run(const Args& args) {
    const Outcome outcome = invoke(args);
    BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
}

Args map_into(const std::string& folder, const Args& more = {}) {
    Args args = {"map", "-a", "tpu-v4i", "-w", "matmuls", "-D", "N_EINSUMS=3", "-q", "-o", folder};
    args.insert(args.end(), more.begin(), more.end());
    return args;
}

/// Every element is closed by its own end; void ones of HTML need none. Empty: well formed.
std::string malformed(const std::string& html) {
    static const std::set<std::string> alone = {"meta", "!DOCTYPE"};
    static const std::regex tag("<(/?)([A-Za-z0-9!]+)((?:\"[^\"]*\"|[^<>\"])*)(/?)>");
    std::vector<std::string> open;
    for (std::sregex_iterator at(html.begin(), html.end(), tag), end; at != end; ++at) {
        const std::string name = (*at)[2], attributes = (*at)[3];
        if (alone.count(name) > 0 || (!attributes.empty() && attributes.back() == '/')) {
            continue;
        }
        if ((*at)[1].length() == 0) {
            open.push_back(name);
        } else if (open.empty() || open.back() != name) {
            return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
        } else {
            open.pop_back();
        }
    }
    return open.empty() ? "" : open.back() + " stays open";
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++n;
    }
    return n;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_report_is_one_page_that_needs_nothing_else) {
    const Folder folder;
    run(map_into(folder.at("one")));
    const Outcome page = invoke({"report", folder.at("one")});
    BOOST_REQUIRE_MESSAGE(page.code == 0, page.err);
    BOOST_TEST(page.out.rfind("<!DOCTYPE html>", 0) == 0u);
    BOOST_TEST(malformed(page.out) == "");
    BOOST_TEST(page.out.size() < 1u << 20);
    // Nothing is loaded, nothing is run.
    for (const char* foreign :
         {"<script", "<link", "<img", " src=", "@import", "url(http", "onload"}) {
        BOOST_TEST(!page.prints(foreign), foreign);
    }
    for (const char* part :
         {"Proven optimal for edp", "Energy of each Einsum by component", "Roofline at MainMemory",
          "Highest use of each memory", "Lifetimes of tensors", "Best and bound", "SHA-256",
          "tessera rerun", "for</tspan> ", "spatial", "words (", "Matmul1", "role=\"img\"",
          "N_EINSUMS"}) {
        BOOST_TEST(page.prints(part), part);
    }
    // Each drawing says what it is, also to those who do not see it.
    BOOST_TEST(count(page.out, "<svg ") == count(page.out, "role=\"img\""));
    BOOST_TEST(count(page.out, "<svg ") >= 7u);
}

BOOST_AUTO_TEST_CASE(a_report_is_also_markdown_and_files) {
    const Folder folder;
    run({"map", "-a", "tpu-v4i", "-w", "gpt3-6.7b", "-D", "TOKENS=512", "--metric",
         "energy,latency", "-q", "-o", folder.at("one")});
    const Outcome text = invoke({"report", folder.at("one"), "--format", "md"});
    BOOST_TEST(text.code == 0, text.err);
    BOOST_TEST(text.prints("## Energy\n"));
    BOOST_TEST(text.prints("| quantity | value |\n|---|---:|\n| energy | "));
    BOOST_TEST(invoke({"report", folder.at("one"), "--format", "csv"}).says("give a folder"));
    run({"report", folder.at("one"), "--format", "csv", "-o", folder.at("csv")});
    run({"report", "--format", "svg", folder.at("one"), "-o", folder.at("svg")});
    for (const char* name : {"mapping", "energy", "time", "roofline", "memories", "lifetimes"}) {
        BOOST_TEST(folder.read(std::string("svg/") + name + ".svg").rfind("<svg", 0) == 0u, name);
    }
    // The numbers of the CSV are those of result.json, in full.
    const Json best = Json::parse(folder.read("one/result.json"))["mappings"][0];
    const std::string totals = folder.read("csv/totals.csv");
    std::smatch found;
    BOOST_REQUIRE(std::regex_search(totals, found, std::regex("\nenergy,([^\n]*)\n")));
    BOOST_TEST(std::stod(found[1]) == best["energy_j"].get<double>());
    const std::string front = folder.read("csv/front.csv");
    BOOST_TEST(count(front, "\n") >= 3u);
    BOOST_TEST(count(front, "\n") ==
               Json::parse(folder.read("one/result.json"))["mappings"].size() + 1);
    const std::string components = folder.read("csv/energy-components.csv");
    double sum = 0;
    const std::regex row("\n([A-Za-z]+),([^,]*),");
    for (std::sregex_iterator at(components.begin(), components.end(), row), end; at != end; ++at) {
        sum += std::stod((*at)[2]);
    }
    BOOST_TEST(sum == best["energy_j"].get<double>(), boost::test_tools::tolerance(1e-12));
}

// Its numbers are those of result.json; a hostile one is escaped or refused.
BOOST_AUTO_TEST_CASE(a_comparison_has_a_report) {
    const Folder folder;
    run({"compare", "-a", "simba", "-w", "matmuls", "--mapper", "ffm,random", "--seeds", "2",
         "--max-evals", "2000", "-q", "-o", folder.at("race")});
    const Outcome page = invoke({"report", folder.at("race")});
    BOOST_REQUIRE_MESSAGE(page.code == 0, page.err);
    BOOST_TEST(malformed(page.out) == "");
    BOOST_TEST(page.prints("matmuls on simba: 2 contenders"));
    BOOST_TEST(page.prints("ffm leads"));
    BOOST_TEST(page.prints("Mapping of random"));
    BOOST_TEST(page.prints("tessera compare -a simba"));
    BOOST_TEST(count(page.out, "<svg ") == 1u);
    run({"report", folder.at("race"), "--format", "csv", "-o", folder.at("csv")});
    BOOST_TEST(count(folder.read("csv/trials.csv"), "\n") == 5u);
    const Json result = Json::parse(folder.read("race/result.json"));
    const std::string best = folder.read("csv/ranking.csv");
    std::smatch found;
    BOOST_REQUIRE(std::regex_search(best, found, std::regex("\nffm,([^,]*),")));
    BOOST_TEST(std::stod(found[1]) == result["contenders"][0]["value"]["median"].get<double>());
    BOOST_TEST(invoke({"report", folder.at("race"), folder.at("race")}).says("give it alone"));
    Json hostile = result;
    hostile["workload"] = "<script>x</script>";
    hostile["contenders"][0]["name"] = "../run";
    hostile["contenders"][0]["trials"] = 7;
    hostile["contenders"][1]["trials"][0]["curve"] = {1, "x", {{"a", 2}}};
    folder.file("race/result.json", hostile.dump());
    const Outcome odd = invoke({"report", folder.at("race")});
    BOOST_REQUIRE_MESSAGE(odd.code == 0, odd.err);
    BOOST_TEST(malformed(odd.out) == "");
    BOOST_TEST(!odd.prints("<script>x"));
    hostile["contenders"] = 3;
    folder.file("race/result.json", hostile.dump());
    BOOST_TEST(invoke({"report", folder.at("race")}).says("names no contenders"));
}

BOOST_AUTO_TEST_CASE(reports_set_runs_side_by_side) {
    const Folder folder;
    run(map_into(folder.at("fused")));
    run(map_into(folder.at("apart"), {"--unfused"}));
    const Outcome page = invoke({"report", folder.at("fused"), folder.at("apart")});
    BOOST_REQUIRE_MESSAGE(page.code == 0, page.err);
    BOOST_TEST(malformed(page.out) == "");
    BOOST_TEST(page.prints("Comparison of 2 mappings"));
    BOOST_TEST(page.prints("times that of the first"));
    const auto energy = [&](const char* run) {
        return Json::parse(
                   folder.read(std::string(run) + "/result.json"))["mappings"][0]["energy_j"]
            .get<double>();
    };
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "(%.4g)", energy("apart") / energy("fused"));
    BOOST_TEST(page.prints(ratio), ratio);
}

BOOST_AUTO_TEST_CASE(reports_refuse_what_they_cannot_tell_truly) {
    const Folder folder;
    BOOST_TEST(invoke({"report"}).says("folders of runs"));
    BOOST_TEST(invoke({"report", folder.at("none")}).code == 2);
    const std::string workload = folder.file("w.yaml", small_workload);
    run({"map", "-a", folder.file("a.yaml", small_arch), "-w", workload, "-q", "-o",
         folder.at("run")});
    BOOST_TEST(invoke({"report", folder.at("run")}).code == 0);
    // The folder keeps the text, and says so; without it nobody can tell.
    folder.file("w.yaml", std::string(small_workload) + "# changed\n");
    const Outcome kept = invoke({"report", folder.at("run")});
    BOOST_TEST(kept.code == 0, kept.err);
    BOOST_TEST(kept.prints("was changed since the run; what the run keeps of it is used"));
    BOOST_TEST(folder.read("run/input-2.yaml") == small_workload);
    folder.file("run/input-2.yaml", "workload: {}\n");
    const Outcome changed = invoke({"report", folder.at("run")});
    BOOST_TEST(changed.code == 2);
    BOOST_TEST(changed.says("has changed since"), changed.err);
}

// Names that would be markup stay text.
BOOST_AUTO_TEST_CASE(reports_escape_foreign_names) {
    const Folder folder;
    std::string arch = small_arch;
    arch.replace(arch.find("name: Buffer"), 12, "name: \"B<b>&'x\"");
    const Outcome made =
        invoke({"map", "-a", folder.file("a.yaml", arch), "-w",
                folder.file("w.yaml", small_workload), "-q", "-o", folder.at("<run>")});
    if (made.code == 0) {  // else the reader has refused the name
        const Outcome page = invoke({"report", folder.at("<run>")});
        BOOST_TEST(page.code == 0, page.err);
        BOOST_TEST(malformed(page.out) == "");
        BOOST_TEST(!page.prints("<b>"));
        return;
    }
    run({"map", "-a", folder.file("b.yaml", small_arch), "-w", folder.at("w.yaml"), "-q", "-o",
         folder.at("<run>")});
    const Outcome page = invoke({"report", folder.at("<run>")});
    BOOST_TEST(page.code == 0, page.err);
    BOOST_TEST(!page.prints("<run>"));
    BOOST_TEST(page.prints("&lt;run&gt;"));
}
