// Metric `traffic` and model `traffic`: words in every command.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "cli/session.hpp"
#include "tessera/fusecu/matmul.hpp"

using namespace tessera::cli_test;

namespace {

Outcome map(const Args& more) {
    return invoke(joined({"map", "-a", "one-buffer", "-q", "--threads", "1"}, more));
}

double words(const Outcome& outcome) {
    BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return outcome.json()["mappings"][0]["traffic_words"].get<double>();
}

}  // namespace

BOOST_AUTO_TEST_CASE(traffic_of_fusecu_is_printed_for_a_product_and_a_pair) {
    const Args fusecu = {"--model",           "traffic",  "--mapper", "fusecu", "--knob",
                         "fusecu.rule=exact", "--metric", "traffic",  "--json"};
    BOOST_TEST(words(map(joined({"-w", "matmul", "-D", "M=1024", "-D", "K=768", "-D", "L=768", "-D",
                               "BUFFER=524288"},
                              fusecu))) == 2752512);
    // Each tensor once: A, B, D, E of 1024 x 64.
    BOOST_TEST(words(map(joined({"-w", "matmul-pair", "-D", "BUFFER=100000000"}, fusecu))) ==
               4 * 1024 * 64);
    // Tiles of a prime rank: partial ones, without a switch.
    const Outcome prime = map(joined(
        {"-w", "matmul", "-D", "M=101", "-D", "K=103", "-D", "L=107", "-D", "BUFFER=120"}, fusecu));
    BOOST_TEST(
        words(prime) ==
        static_cast<double>(tessera::fusecu::exact_matmul({101, 103, 107}, 120)->traffic_words));
}

BOOST_AUTO_TEST_CASE(traffic_is_minimised_by_every_mapper_and_bounded_by_ffm) {
    const Args problem = {"-w",       "matmul-pair", "-D",    "BUFFER=4096",
                          "--metric", "traffic",     "--json"};
    const Outcome proven = map(joined(problem, {"--model", "traffic"}));
    BOOST_TEST(proven.json()["status"] == "optimal");
    BOOST_TEST(proven.json()["bound"]["traffic_words"].get<double>() == words(proven));
    for (const char* mapper : {"annealing", "random", "fusecu"}) {
        const Outcome found = map(joined(problem, {"--model", "traffic", "--mapper", mapper,
                                                 "--max-evals", "2000", "--imperfect-temporal"}));
        BOOST_TEST(words(found) >=
                   words(map(joined(problem, {"--model", "traffic", "--imperfect-temporal"}))));
    }
    // Model looptree counts outputs of n passes 2n - 1 times: in pJ this architecture's energy.
    const Outcome energy = map(problem);
    const auto best = energy.json()["mappings"][0];
    BOOST_TEST(std::abs(best["energy_j"].get<double>() * 1e12 - words(energy)) < 1e-3);
    BOOST_TEST(words(map(joined(problem, {"--model", "traffic", "--knob", "traffic.outputs=rmw"}))) ==
               words(energy));
}

BOOST_AUTO_TEST_CASE(traffic_and_latency_have_a_pareto_set) {
    const Outcome both = invoke({"map", "-a", "snowcat", "-w", "matmul", "-D", "M=64", "-D", "K=64",
                                 "-D", "L=64", "-q", "--metric", "traffic,latency", "--json"});
    BOOST_REQUIRE_MESSAGE(both.code == 0, both.err);
    const auto mappings = both.json()["mappings"];
    for (std::size_t i = 1; i < mappings.size(); ++i) {
        BOOST_TEST(mappings[i]["traffic_words"].get<double>() >
                   mappings[i - 1]["traffic_words"].get<double>());
    }
    const Outcome alone = invoke({"map", "-a", "snowcat", "-w", "matmul", "-D", "M=64", "-D",
                                  "K=64", "-D", "L=64", "-q", "--metric", "traffic", "--json"});
    BOOST_TEST(words(alone) == mappings[0]["traffic_words"].get<double>());
}

BOOST_AUTO_TEST_CASE(traffic_is_text_and_a_unit_and_a_column) {
    const Outcome text = map({"-w", "matmul", "--metric", "traffic", "--mapper", "fusecu"});
    BOOST_TEST(text.prints("traffic  "));
    BOOST_TEST(text.prints(" words, "));
    BOOST_TEST(text.prints("imperfect temporal"));
    BOOST_TEST(text.prints("stays, tiles"));
    const Outcome compared =
        invoke({"compare", "-a", "one-buffer", "-w", "matmul", "--metric", "traffic", "--mapper",
                "ffm", "--mapper", "fusecu", "--max-time", "2s", "-q"});
    BOOST_TEST(compared.code == 0, compared.err);
    BOOST_TEST(compared.prints("words"));
    const Folder folder;
    const Outcome sweep = invoke({"sweep", "-a", "one-buffer", "-w", "matmul", "-D",
                                  "BUFFER=1000,2000", "--metric", "traffic", "--json", "-q"});
    BOOST_REQUIRE_MESSAGE(sweep.code == 0, sweep.err);
    BOOST_TEST(sweep.json()["points"][0]["traffic_words"].get<double>() >
               sweep.json()["points"][1]["traffic_words"].get<double>());
}

BOOST_AUTO_TEST_CASE(traffic_of_a_model_that_does_not_count_it_is_refused) {
    const Outcome layer =
        invoke({"map", "-a", "eyeriss", "-w", "matmul", "--model", "timeloop", "--mapper",
                "timeloop", "--metric", "traffic", "-q", "--max-time", "1s"});
    BOOST_TEST(layer.code == 2);
    BOOST_TEST(layer.says("does not count traffic"));
    BOOST_TEST(map({"-w", "matmul", "--metric", "energy,latency,traffic"}).code == 2);
    BOOST_TEST(map({"-w", "matmul", "--metric", "edp,traffic"}).code == 2);
}
