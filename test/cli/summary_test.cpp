// Where energy and time go: every list adds up, the limits are those of closed forms.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

using Args = std::vector<std::string>;

double sum(const Json& entries, const char* key) {
    double total = 0;
    for (const auto& [name, entry] : entries.items()) {
        total += entry.value(key, 0.0);
    }
    return total;
}

void check_sums(const Json& mapping) {
    const auto close = boost::test_tools::tolerance(1e-12);
    const Json& s = mapping["summary"];
    const double energy_j = mapping["energy_j"], latency_s = mapping["latency_s"];
    BOOST_TEST(sum(s["components"], "energy_j") == energy_j, close);
    BOOST_TEST(sum(s["tensors"], "energy_j") == energy_j, close);
    BOOST_TEST(sum(mapping["einsums"], "energy_j") == energy_j, close);
    BOOST_TEST(sum(mapping["einsums"], "latency_s") == latency_s, close);
    BOOST_TEST(sum(s["components"], "limits_s") == latency_s, close);
    BOOST_TEST(s["einsums"].size() == mapping["einsums"].size());
    BOOST_TEST(s["compute_use"].get<double>() <= 1 + 1e-12);
    BOOST_TEST(mapping["traffic_words"].get<double>() >=
               s["least_traffic_words"].get<double>() * (1 - 1e-12));
}

/// One product of 8 x 8 x 8 words of 8 bits, everything on chip, one compute of 1 Gop/s.
std::string chip(double bytes_per_s) {
    return R"(
arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    bits_per_action: 8
    actions: [{name: read, energy: 2e-12, throughput: )" +
           std::to_string(bytes_per_s) + R"(}, {name: write, energy: 2e-12, throughput: )" +
           std::to_string(bytes_per_s) + R"(}]
    tensors: {keep: All}
  - !Memory
    name: Buffer
    size: 100000
    actions: [{name: read, energy: 0, throughput: inf}, {name: write, energy: 0, throughput: inf}]
    tensors: {keep: All}
  - !Compute {name: MAC, actions: [{name: compute, energy: 1e-12, throughput: 1e9}]}
)";
}

Json product_on(const Folder& folder, double bytes_per_s) {
    const std::string file = folder.file("chip.yaml", chip(bytes_per_s));
    const Outcome outcome =
        invoke({"map", "-a", file, "-w", "matmul", "-D", "M=8", "-D", "K=8", "-D", "L=8",
                "--metric", "energy", "-q", "--json"});
    BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return outcome.json()["mappings"][0];
}

}  // namespace

BOOST_AUTO_TEST_CASE(summaries_add_up_to_the_totals) {
    const std::vector<Args> pairs = {
        {"-a", "tpu-v4i", "-w", "gpt3-6.7b", "-D", "TOKENS=256"},
        {"-a", "simba", "-w", "matmuls", "-D", "N_EINSUMS=3"},
        {"-a", "edge", "-w", "llama3-8b", "-D", "TOKENS=64"},
        {"-a", "snowcat", "-w", "three-matmuls"},
        {"-a", "one-buffer", "-w", "attention", "--metric", "traffic"}};
    for (Args args : pairs) {
        args.insert(args.begin(), "map");
        args.insert(args.end(), {"-q", "--json", "--max-time", "20s"});
        BOOST_TEST_CONTEXT(args[2] << " " << args[4]) {
            const Outcome outcome = invoke(args);
            BOOST_REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
            check_sums(outcome.json()["mappings"][0]);
        }
    }
}

// 192 words move once; 512 computes. At 1 Gop/s the computes take 512 ns.
BOOST_AUTO_TEST_CASE(summary_of_a_product_is_that_of_its_closed_form) {
    const Folder folder;
    const auto close = boost::test_tools::tolerance(1e-9);
    const Json bound = product_on(folder, 1e8);
    const double read_s = 192 / 1e8;  // reads and writes share the time of the memory
    BOOST_TEST(bound["summary"]["einsums"]["Matmul"]["limit"] == "Main");
    BOOST_TEST(bound["summary"]["components"]["Main"]["limits_s"].get<double>() ==
                   bound["latency_s"].get<double>(),
               close);
    BOOST_TEST(bound["latency_s"].get<double>() <= read_s * (1 + 1e-9));
    BOOST_TEST(bound["summary"]["compute_use"].get<double>() ==
                   512e-9 / bound["latency_s"].get<double>(),
               close);
    const Json computing = product_on(folder, 1e12);
    BOOST_TEST(computing["summary"]["einsums"]["Matmul"]["limit"] == "MAC");
    BOOST_TEST(computing["summary"]["compute_use"].get<double>() == 1, close);
    BOOST_TEST(computing["latency_s"].get<double>() == 512e-9, close);
    BOOST_TEST(computing["summary"]["components"]["MAC"]["energy_j"].get<double>() == 512e-12,
               close);
    BOOST_TEST(computing["summary"]["components"]["Main"]["energy_j"].get<double>() == 384e-12,
               close);
    BOOST_TEST(computing["summary"]["tensors"]["(compute)"]["energy_j"].get<double>() == 512e-12,
               close);
    BOOST_TEST(computing["summary"]["tensors"]["A"]["energy_j"].get<double>() == 128e-12, close);
    BOOST_TEST(computing["summary"]["least_traffic_words"] == 192);
    BOOST_TEST(computing["traffic_words"] == 192);
}

BOOST_AUTO_TEST_CASE(summary_is_text_with_tables_on_request) {
    const Args map = {"map", "-a", "snowcat", "-w", "three-matmuls", "-q"};
    const auto with = [&](const Args& more) {
        Args args = map;
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    };
    const Outcome plain = with({});
    BOOST_TEST(plain.prints("  spent in "));
    BOOST_TEST(plain.prints(" per compute\n"));
    BOOST_TEST(plain.prints(" times the least (each input and result once)\n"));
    BOOST_TEST(!plain.prints("Components:"));
    const Outcome tables = with({"--by", "component,einsum,tensor", "--top", "2"});
    BOOST_TEST(tables.prints("Einsums (2 of 3):"));
    BOOST_TEST(tables.prints("Tensors (2 of "));
    BOOST_TEST(tables.prints("limited by"));
    const Outcome wrong = with({"--by", "layer"});
    BOOST_TEST(wrong.code == 2);
    BOOST_TEST(wrong.says("component, einsum, tensor"));
    BOOST_TEST(with({"--top", "-1"}).code == 2);
}
