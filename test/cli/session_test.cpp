// One way in: whatever searches begins with members of the searched mapspace alone. A mapping that
// is none is refused by all in the same words; none of them calls it optimal.
#include <boost/test/unit_test.hpp>
#include <map>

#include "cli/session.hpp"
#include "tessera/tessera.hpp"

using namespace tessera;
using namespace tessera::cli_test;

namespace {

/// Whether each way into a search takes a mapping to begin with.
struct Ways {
    Folder folder;
    std::string arch = folder.file("arch.yaml", small_arch);
    std::string workload = folder.file("workload.yaml", small_workload);
    std::string start;

    explicit Ways(const std::string& mapping) : start(folder.file("start.yaml", mapping)) {}

    std::string instances() const {
        return folder.file("instances.yaml", "- {name: one, arch: " + arch + ", workload: " +
                                                 workload + ", start: " + start + "}\n");
    }

    /// By the name of the way.
    std::map<std::string, Outcome> all(const Args& space) const {
        const Args problem = {"-a", arch, "-w", workload, "--mapper", "ffm", "--json", "-q"};
        const Args begun = joined(joined(problem, {"--start", start}), space);
        std::map<std::string, Outcome> outcomes;
        for (const char* command : {"map", "compare", "sweep"}) {
            outcomes[command] = invoke(joined({command}, begun));
        }
        // Its document has no errors of single searches.
        outcomes["compare --instances"] =
            invoke(joined({"compare", "--instances", instances(), "--mapper", "ffm", "-q"}, space));
        return outcomes;
    }

    void refused(const Args& space, const std::string& why) const {
        const std::string told = "start.yaml: not in the mapspace that is searched: ";
        for (const auto& [way, outcome] : all(space)) {
            const std::string text = outcome.err + outcome.out;
            BOOST_TEST(outcome.code != 0, way + text);
            BOOST_TEST(text.find(told) != std::string::npos, way + ": " + text);
            BOOST_TEST(text.find(why) != std::string::npos, way + ": " + text);
            BOOST_TEST(text.find("optimal") == std::string::npos, way + ": " + text);
        }
    }
    void taken(const Args& space) const {
        for (const auto& [way, outcome] : all(space)) {
            BOOST_TEST(outcome.code == 0, way + ": " + outcome.err + outcome.out);
            const char* const proven = way == "compare --instances" ? "1/1     1/1" : "\"optimal\"";
            BOOST_TEST(outcome.prints(proven), way + ": " + outcome.out);
        }
    }
};

/// With a loop of four iterations that both Einsums share, over m or n.
std::string sharing(const std::string& variable, const std::string& tile_shape,
                    const std::string& kind = "Temporal") {
    const std::string inner = variable == "m" ? "n" : "m";
    return "mapping:\n  nodes:\n  - !Storage {tensors: [X, W, Z], component: Main}\n"
           "  - !" +
           kind + " {rank_variable: " + variable + ", tile_shape: " + tile_shape +
           (kind == "Spatial" ? ", name: X, component: Buffer" : "") +
           "}\n"
           "  - !Storage {tensors: [Y], component: Buffer}\n  - !Sequential\n    nodes:\n"
           "    - !Nested\n      nodes:\n"
           "      - !Temporal {rank_variable: m, tile_shape: 1}\n"
           "      - !Temporal {rank_variable: n, tile_shape: 1}\n"
           "      - !Temporal {rank_variable: k, tile_shape: 1}\n"
           "      - !Compute {einsum: Y, component: MAC}\n"
           "    - !Nested\n      nodes:\n"
           "      - !Temporal {rank_variable: " +
           inner + ", tile_shape: 1}\n      - !Temporal {rank_variable: " + variable +
           ", tile_shape: 1}\n      - !Compute {einsum: Z, component: MAC}\n";
}

/// The optimum of the small problem, which is fused.
std::string best_mapping() {
    const Ways ways(fused_mapping);
    const Outcome found =
        invoke({"map", "-a", ways.arch, "-w", ways.workload, "-q", "-o", ways.folder.at("best")});
    BOOST_TEST_REQUIRE(found.code == 0, found.err);
    return ways.folder.read("best/mapping.yaml");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(session)

BOOST_AUTO_TEST_CASE(a_fused_mapping_begins_no_unfused_search) {
    const Ways ways(fused_mapping);
    ways.taken({});
    ways.refused({"--unfused"}, "but, unfused, must keep");
}

BOOST_AUTO_TEST_CASE(a_shared_loop_begins_no_search_that_has_fewer) {
    const Ways ways(sharing("m", "4"));
    ways.taken({});
    ways.taken({"--max-fused-loops", "1"});
    ways.refused({"--max-fused-loops", "0"}, "[max_fused_loops]");
    ways.refused({"--max-fused-loops-per-rank-variable", "0"},
                 "[max_fused_loops_per_rank_variable]");
}

BOOST_AUTO_TEST_CASE(a_partial_tile_begins_searches_alone_that_have_such_tiles) {
    const Ways ways(sharing("m", "6"));
    ways.taken({"--imperfect-temporal"});
    ways.refused({}, "[imperfect]");
    ways.taken({"--imperfect-temporal", "--imperfect-spatial"});
    ways.refused({"--imperfect-spatial"}, "leaves a partial tile; only spatial loops may");
}

// Whoever puts another mapping into the folder of a run gets no better result by that.
BOOST_AUTO_TEST_CASE(a_resumed_run_takes_members_of_its_mapspace_alone) {
    const Ways ways(best_mapping());
    const std::string run = ways.folder.at("run");
    const Outcome first =
        invoke({"map", "-a", ways.arch, "-w", ways.workload, "--mapper", "random", "--max-evals",
                "20", "--threads", "1", "--unfused", "-q", "-o", run, "--json"});
    BOOST_TEST_REQUIRE(first.code == 0, first.err);
    const auto edp_js = [](const Outcome& outcome) {
        return outcome.json()["mappings"][0]["edp_js"].get<double>();
    };
    const Outcome best =
        invoke({"model", "-a", ways.arch, "-w", ways.workload, "-m", ways.start, "-q", "--json"});
    BOOST_TEST(edp_js(best) < edp_js(first));
    ways.folder.file("run/mapping.yaml", best_mapping());
    ways.folder.file("run/checkpoint.json", R"({"schema_version": 1, "spent_s": 0, "state": ""})");
    const Outcome again = invoke({"map", "--resume", "-o", run, "-q", "--json"});
    BOOST_TEST_REQUIRE(again.code == 0, again.err);
    BOOST_TEST(edp_js(again) == edp_js(first));
}

BOOST_AUTO_TEST_CASE(a_given_mapping_is_ranked_and_proves_nothing) {
    const Ways ways(best_mapping());
    const Args unfused = {"compare",   "-a",       ways.arch, "-w", ways.workload,
                          "--unfused", "--mapper", "ffm",     "-q"};
    const Outcome outcome = invoke(joined(unfused, {"-m", ways.start, "--json"}));
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    const Json contenders = outcome.json()["contenders"];
    BOOST_TEST(contenders[0]["name"] == "start.yaml");
    BOOST_TEST(contenders[0]["proven"] == 0);
    BOOST_TEST(contenders[1]["trials"][0]["status"] == "optimal");
    BOOST_TEST(contenders[1]["bound"].get<double>() >
               contenders[0]["value"]["median"].get<double>());
    // What is proven optimal is so in the mapspace that the table names.
    const Outcome table = invoke(joined(unfused, {"--imperfect-temporal"}));
    BOOST_TEST(table.prints("mapspace full, unfused, imperfect temporal, one seed"), table.out);
}

BOOST_AUTO_TEST_SUITE_END()
