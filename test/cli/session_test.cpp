// One way in: whatever searches begins with members of the searched mapspace alone. A mapping that
// is none is refused by all in the same words; none of them calls it optimal.
#include <boost/test/unit_test.hpp>
#include <map>

#include "cli/session.hpp"
#include "tessera/tessera.hpp"

using namespace tessera;
using namespace tessera::cli_test;

namespace {

using Args = std::vector<std::string>;

Args joined(Args first, const Args& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// Whether each way into a search takes a mapping to begin with.
struct Ways {
    Folder folder;
    std::string arch = folder.file("arch.yaml", small_arch);
    std::string workload = folder.file("workload.yaml", small_workload);
    std::string start;

    explicit Ways(const std::string& mapping) : start(folder.file("start.yaml", mapping)) {}

    std::string instances(const std::string& key) const {
        return folder.file("instances.yaml", "- {name: one, arch: " + arch + ", workload: " +
                                                 workload + ", " + key + ": " + start + "}\n");
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
        outcomes["compare --instances"] = invoke(
            joined({"compare", "--instances", instances("start"), "--mapper", "ffm", "-q"}, space));
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
    ways.refused({"--imperfect-spatial"}, "[imperfect]");
}

BOOST_AUTO_TEST_SUITE_END()
