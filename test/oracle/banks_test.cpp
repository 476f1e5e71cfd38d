// Memories whose banks hold one tensor each: by hand, against brute force, and against the checker.
#include <boost/test/unit_test.hpp>
#include <functional>
#include <sstream>
#include <string>

#include "oracle/few_instances.hpp"
#include "oracle/full_compare.hpp"
#include "oracle/oracle_tree.hpp"
#include "oracle/points.hpp"
#include "oracle/random.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/search/open_space.hpp"

using namespace tessera;

namespace {

/// The specification with `banks` in every memory that has a size.
std::string with_banks(const std::string& yaml, const std::function<int(int)>& banks_of) {
    std::istringstream in(yaml);
    std::string out;
    for (std::string line; std::getline(in, line);) {
        out += line + "\n";
        const std::string key = "    size: ";
        if (line.rfind(key, 0) == 0 && line != key + "inf") {
            out +=
                "    banks: " + std::to_string(banks_of(std::stoi(line.substr(key.size())))) + "\n";
        }
    }
    return out;
}

/// Two to five banks.
std::string with_some_banks(const oracle::Instance& drawn) {
    oracle::Random r(drawn.seed);
    return with_banks(drawn.yaml, [&](int bits) {
        std::vector<int> banks;
        for (int n = 2; n <= 5; ++n) {
            if (bits % n == 0) {
                banks.push_back(n);
            }
        }
        return banks.empty() ? 1 : r.pick(banks);
    });
}

std::string machine(const std::string& size, const std::string& banks) {
    std::string text = "arch:\n  nodes:\n";
    const auto memory = [&](const std::string& name, const std::string& bits,
                            const std::string& more, int energy) {
        const std::string e = std::to_string(energy);
        text += "  - !Memory\n    name: " + name + "\n    size: " + bits + "\n" + more +
                "    leak_power: 0\n    area: 0\n    actions:\n    - {name: read, energy: " + e +
                ", throughput: inf}\n    - {name: write, energy: " + e +
                ", throughput: inf}\n    tensors: {keep: All}\n";
    };
    memory("MainMemory", "inf", "", 10);
    memory("Buffer", size, banks.empty() ? "" : "    banks: " + banks + "\n", 1);
    return text +
           "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n    actions:\n"
           "    - {name: compute, energy: 0, throughput: 1}\n"
           "workload:\n  iteration_space_shape:\n    k: 0 <= k < 2\n    m: 0 <= m < 3\n"
           "    n: 0 <= n < 2\n  bits_per_value: {All: 1}\n  einsums:\n  - name: E0\n"
           "    tensor_accesses:\n    - {name: A, projection: [m, k]}\n"
           "    - {name: B, projection: [k, n]}\n"
           "    - {name: C, projection: [m, n], output: True}\n";
}

mapper::Options one_thread(const mapspace::MapSpaceOptions& limits) {
    mapper::Options options;
    options.mapspace = limits;
    options.threads = 1;
    return options;
}

/// The least energy; and the occupancy of the buffer in that mapping.
std::pair<double, double> least_energy(const std::string& size, const std::string& banks) {
    const oracle::LoadedInstance instance(machine(size, banks));
    mapper::Options options = one_thread({});
    options.metrics = {mapper::Metric::energy};
    const mapper::Solution best = oracle::mapped(instance.problem, options, "ffm").solutions.at(0);
    return {best.report.energy_j(), best.report.peak_occupancy.at("Buffer")};
}

std::string error_of(const std::string& size, const std::string& banks) {
    try {
        const oracle::LoadedInstance instance(machine(size, banks));
        instance.architecture->path(instance.workload, 0, "MAC", instance.problem.compat);
    } catch (const UserError& e) {
        return e.what();
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_bank_holds_one_tensor) {
    // A has 6 bits, B 4 and C 6. What is held whole is moved once: 16 words between the memories,
    // 10 J and 1 J each, and 4 accesses by each of 12 computes, less 6 first reads of C. What has
    // to be set aside for that depends on the order of the loops below the buffer:
    //   m first: B whole, 4 bits; then k: one value of A and a row of C, or n: a row of A and one
    //            value of C; 7 bits
    //   n first: A whole, 6 bits, and at least a value of B and of C; 8 bits or more
    //   k first: C whole, likewise
    const double whole = 16 * 10 + 16 + 12 * 4 - 6;
    BOOST_TEST(least_energy("7", "").first == whole);
    BOOST_TEST(least_energy("6", "").first > whole);
    // Banks of 3 bits: the whole tensor takes two, the others one each; 9 bits are enough without.
    BOOST_TEST(least_energy("9", "").first == whole);
    BOOST_TEST(least_energy("9", "3").first > whole);
    const auto [energy, occupancy] = least_energy("12", "4");
    BOOST_TEST(energy == whole);
    BOOST_TEST(occupancy == 1);
    BOOST_TEST(least_energy("8", "4").first == whole);
    BOOST_TEST(least_energy("6", "3").first > whole);
    // Each of three tensors is held, be it with one value.
    const oracle::LoadedInstance two(machine("1024", "2"));
    const mapper::Result none = oracle::mapped(two.problem, one_thread({}), "ffm");
    BOOST_TEST((none.status == mapper::Status::infeasible));
    BOOST_TEST(none.solutions.empty());
}

BOOST_AUTO_TEST_CASE(wrong_banks_are_refused) {
    const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };
    BOOST_TEST(has(error_of("16", "3"), "does not consist of 3 equal banks"));
    BOOST_TEST(has(error_of("16", "32"), "equal banks"));
    BOOST_TEST(has(error_of("inf", "4"), "equal banks"));
    BOOST_TEST(has(error_of("16", "2.5"), "equal banks"));
    BOOST_TEST(has(error_of("16", "0"), "banks"));
    BOOST_TEST(has(error_of("16", "-4"), "banks"));
    BOOST_TEST(error_of("16", "4").empty());
    BOOST_TEST(error_of("inf", "inf").empty());
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_with_banks) {
    int judged = 0, mapped = 0, different = 0;
    for (const auto& [kind, seeds] : oracle::few_seeds(7)) {
        for (const std::uint64_t seed : seeds) {
            oracle::Instance drawn = oracle::random_instance(seed);
            const oracle::LoadedInstance plain(drawn.yaml);
            drawn.yaml = with_some_banks(drawn);
            BOOST_TEST_CONTEXT(kind << " " << seed << "\n" << drawn.yaml) {
                const oracle::Outcome outcome = oracle::judge(drawn);
                BOOST_TEST(outcome.error == "");
                judged += outcome.judged;
                if (!outcome.mapped) {
                    continue;
                }
                ++mapped;
                const oracle::LoadedInstance banked(drawn.yaml);
                const mapper::Options options = one_thread(drawn.options);
                const double with =
                    oracle::mapped(banked.problem, options, "ffm").solutions.at(0).report.edp_js();
                const double without =
                    oracle::mapped(plain.problem, options, "ffm").solutions.at(0).report.edp_js();
                BOOST_TEST(with >= without * (1 - 1e-9));
                different += !oracle::close(with, without);
            }
        }
    }
    BOOST_TEST_MESSAGE(judged << " judged, " << mapped << " mapped, " << different << " differ");
    BOOST_TEST(judged >= 60);
    BOOST_TEST(mapped >= 30);
    BOOST_TEST(different >= 8);
}

BOOST_AUTO_TEST_CASE(banks_of_one_bit_are_no_banks) {
    for (const auto& [kind, seeds] : oracle::few_seeds(4)) {
        for (const std::uint64_t seed : seeds) {
            const oracle::Instance drawn = oracle::random_instance(seed);
            const oracle::LoadedInstance plain(drawn.yaml);
            const oracle::LoadedInstance banked(
                with_banks(drawn.yaml, [](int bits) { return bits; }));
            const mapper::Options options = one_thread(drawn.options);
            BOOST_TEST(
                oracle::close(
                    oracle::mapped(banked.problem, options, "ffm").solutions.at(0).report.edp_js(),
                    oracle::mapped(plain.problem, options, "ffm").solutions.at(0).report.edp_js()),
                kind << " " << seed);
        }
    }
}

// Points of the space, and mappings of the space without banks: checker and model agree.
BOOST_AUTO_TEST_CASE(strategies_model_and_checker_know_banks) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    int points = 0, refused = 0, allowed = 0;
    for (const auto& [kind, seeds] : oracle::few_seeds(5)) {
        for (const std::uint64_t seed : seeds) {
            const oracle::Instance drawn = oracle::random_instance(seed);
            const oracle::LoadedInstance plain(drawn.yaml), banked(with_some_banks(drawn));
            const mapper::Result best =
                oracle::mapped(banked.problem, one_thread(drawn.options), "ffm");
            const search::OpenSpace any(plain.problem, *model, {drawn.options, 1, nullptr});
            search::Worker without(any);
            for (std::uint64_t i = 0; i < 20; ++i) {
                search::Point point;
                if (!without.draw(i, point).legal()) {
                    continue;
                }
                const mapping::Mapping mapping = without.mapping(point);
                bool fits = true;
                try {
                    model->evaluate(banked.problem, mapping);
                } catch (const IllegalMapping&) {
                    fits = false;
                }
                const auto violations = mapspace::check(banked.problem, mapping, &drawn.options);
                const bool legal = std::ranges::none_of(violations, [](const auto& v) {
                    return v.severity != mapspace::Severity::warning;
                });
                BOOST_TEST(fits == legal, kind << " " << seed);
                (fits ? allowed : refused) += 1;
            }
            if (best.solutions.empty()) {
                continue;
            }
            const search::OpenSpace space(banked.problem, *model, {drawn.options, 1, nullptr});
            search::Worker worker(space);
            for (std::uint64_t i = 0; i < 20; ++i) {
                search::Point point;
                const search::Outcome outcome = worker.draw(i, point);
                if (!outcome.legal()) {
                    continue;
                }
                ++points;
                const mapping::Mapping mapping = worker.mapping(point);
                const model::Report report = model->evaluate(banked.problem, mapping);
                BOOST_TEST(oracle::close(report.energy_j(), outcome.energy_j));
                BOOST_TEST(report.edp_js() >= best.solutions[0].report.edp_js() * (1 - 1e-9));
                for (const auto& v : mapspace::check(banked.problem, mapping, &drawn.options)) {
                    BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
                }
            }
        }
    }
    BOOST_TEST_MESSAGE(points << " points; " << allowed << " mappings allowed, " << refused
                              << " refused");
    BOOST_TEST(points >= 500);
    BOOST_TEST(refused >= 100);
    BOOST_TEST(allowed >= 100);
}
