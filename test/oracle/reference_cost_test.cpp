// The oracle's cost evaluator against the reference's figures: every evaluated mapping that uses no
// feature outside the oracle (tolls, networks, copies, partial tiles, power gating).
#include <zlib.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>

#include "oracle/oracle_cost.hpp"
#include "spec/reader.hpp"
#include "support/paths.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

const std::string folder = tessera::test::test_folder() + "/reference/accelforge/";

std::vector<std::string> lines_of(const std::string& file) {
    gzFile in = gzopen(file.c_str(), "rb");
    BOOST_REQUIRE(in != nullptr);
    std::string text;
    std::vector<char> block(1 << 16);
    for (int n; (n = gzread(in, block.data(), static_cast<unsigned>(block.size()))) > 0;) {
        text.append(block.data(), static_cast<std::size_t>(n));
    }
    gzclose(in);
    std::vector<std::string> lines;
    for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
        lines.push_back(text.substr(at, end - at));
    }
    return lines;
}

double number(const spec::Node& n) {
    return std::stod(n.text);
}

bool close(double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

using Counts = std::map<std::vector<std::string>, double>;

Counts read_counts(const spec::Node& rows) {
    Counts counts;
    for (const auto& row : rows.items) {
        std::vector<std::string> key;
        for (std::size_t i = 0; i + 1 < row.items.size(); ++i) {
            key.push_back(row.items[i].is_null() ? "" : row.items[i].text);
        }
        counts[key] = number(row.items.back());
    }
    return counts;
}

struct Totals {
    double dynamic = 0, leak = 0, latency = 0;
    Counts actions, usage;
};

void add(const arch::Path& path, const oracle::ChainCost& c, Totals& totals) {
    const auto& e = path.einsum;
    totals.dynamic += c.dynamic_energy_j;
    totals.leak += c.leak_energy_j;
    totals.latency += c.latency_s;
    for (const auto& h : c.holders) {
        const auto& level = path.levels[static_cast<std::size_t>(h.level)];
        const auto& tensor = e.tensors[static_cast<std::size_t>(h.tensor)].name;
        const double scale = level.actions_scale * e.n_instances;
        totals.actions[{e.name, level.name, tensor, "read"}] = h.reads * scale;
        totals.actions[{e.name, level.name, tensor, "write"}] = h.writes * scale;
        totals.usage[{e.name, level.name, tensor}] =
            std::isinf(level.size_bits) ? 0 : h.bits / level.size_bits;
    }
    totals.actions[{e.name, path.compute().name, "", "compute"}] =
        c.computes * path.compute().actions_scale * e.n_instances;
}

bool supported(const spec::Node& features) {
    const std::set<std::string> outside{"toll",      "copy_einsum",       "network",
                                        "imperfect", "imperfect_spatial", "power_gateable"};
    return std::none_of(features.items.begin(), features.items.end(),
                        [&](const spec::Node& f) { return outside.count(f.text) > 0; });
}

// Also a tile that does not divide the extent of a sum's variable, which no feature tells.
bool has_partial_tiles(const std::vector<mapping::EinsumMapping>& chains) {
    for (const auto& chain : chains) {
        std::vector<std::int64_t> tile;
        for (const auto& v : chain.path.einsum.rank_variables) {
            tile.push_back(v.bound);
        }
        for (const auto& n : chain.nodes) {
            if (n.rank_variable >= 0) {
                auto& outer = tile[static_cast<std::size_t>(n.rank_variable)];
                if (outer % n.tile != 0) {
                    return true;
                }
                outer = n.tile;
            }
        }
    }
    return false;
}

}  // namespace

BOOST_AUTO_TEST_CASE(reference_mappings_cost_the_same) {
    int cases = 0, several_einsums = 0;
    for (const auto& line : lines_of(folder + "evaluate.jsonl.gz")) {
        const spec::Node c = spec::read_text(line, "evaluate.jsonl");
        if (!supported(*c.find("features"))) {
            continue;
        }
        BOOST_TEST_CONTEXT("case " << c.find("id")->text) {
            const auto workload =
                workload::load_workload(folder + "workload/" + c.find("workload")->text, {});
            const auto architecture =
                arch::load_architecture(folder + "arch/" + c.find("arch")->text, {});
            const auto mapping = mapping::read_mapping(
                *spec::read_text(c.find("mapping_yaml")->text, "mapping").find("mapping"));
            Totals totals;
            const auto chains =
                mapping::split(mapping, workload, architecture, arch::Compat::accelforge);
            if (has_partial_tiles(chains)) {
                continue;
            }
            for (const auto& chain : chains) {
                add(chain.path, oracle::cost(chain.path, chain.nodes), totals);
            }
            ++cases;
            several_einsums += chains.size() > 1 ? 1 : 0;
            const spec::Node& result = *c.find("result");
            BOOST_TEST(close(totals.dynamic, number(*result.find("dynamic_energy_j"))));
            BOOST_TEST(close(totals.leak, number(*result.find("leak_energy_j"))));
            BOOST_TEST(close(totals.latency, number(*result.find("latency_s"))));
            for (const auto& [key, count] : read_counts(*result.find("actions"))) {
                BOOST_TEST(totals.actions[key] == count,
                           key[0] << " " << key[1] << " " << key[2] << " " << key[3] << ": "
                                  << totals.actions[key] << ", not " << count);
            }
            for (const auto& [key, fraction] : read_counts(*result.find("usage"))) {
                BOOST_TEST(close(totals.usage[key], fraction),
                           key[0] << " " << key[1] << " " << key[2] << ": " << totals.usage[key]
                                  << ", not " << fraction);
            }
        }
    }
    BOOST_TEST(cases >= 250);
    BOOST_TEST(several_einsums >= 100);
}
