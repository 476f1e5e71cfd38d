// Random LoopTrees, members of the space and not: the oracle, the legality checker and the cost
// model must agree on each. Chains are paired at random, also such that exceed a memory or read too
// early.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <random>

#include "oracle/oracle_instance.hpp"
#include "oracle/oracle_tree.hpp"
#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;
using oracle::Fit;

namespace {

using Groups = std::vector<const oracle::ChainGroup*>;
using Rows = std::vector<const oracle::ChainRow*>;

struct Sample {
    Groups groups;
    std::vector<int> shared;
};

// Up to `most` combinations of groups of each outcome, evenly drawn from all.
class Draw {
public:
    Draw(const oracle::Space& space, std::size_t most, std::mt19937_64& random)
        : space_(space), most_(most), random_(random) {
        choose();
    }
    const std::vector<Sample>& of(Fit fit) {
        return kept_[fit];
    }

private:
    void choose() {
        if (groups_.size() == space_.einsums.size()) {
            Sample sample{groups_, {}};
            const Fit fit = oracle::fit(space_, groups_, sample.shared);
            auto& kept = kept_[fit];
            const std::size_t seen = ++seen_[fit];
            if (kept.size() < most_) {
                kept.push_back(std::move(sample));
            } else if (const std::size_t place = random_() % seen; place < most_) {
                kept[place] = std::move(sample);
            }
            return;
        }
        for (const auto& group : space_.einsums[groups_.size()].groups) {
            groups_.push_back(&group);
            choose();
            groups_.pop_back();
        }
    }

    const oracle::Space& space_;
    std::size_t most_;
    std::mt19937_64& random_;
    Groups groups_;
    std::map<Fit, std::vector<Sample>> kept_;
    std::map<Fit, std::size_t> seen_;
};

Rows random_rows(const Groups& groups, std::mt19937_64& random) {
    Rows rows;
    for (const auto* g : groups) {
        rows.push_back(&g->rows[random() % g->rows.size()]);
    }
    return rows;
}

mapping::Mapping tree(const oracle::Space& space, const Rows& rows,
                      const std::vector<int>& shared) {
    std::vector<mapping::Branch> branches;
    for (std::size_t e = 0; e < rows.size(); ++e) {
        const auto& paths = space.einsums[e].paths;
        branches.push_back({&paths[static_cast<std::size_t>(rows[e]->path)], rows[e]->example});
    }
    return mapping::assemble(branches, shared);
}

// Holders that no loop separates may come back in another order: one that all branches share is
// written above the split. That can only lower what is charged further down.
bool keeps_orders(const oracle::LoadedInstance& instance, const mapping::Mapping& mapping,
                  const Rows& rows) {
    const auto chains =
        mapping::split(mapping, instance.workload, *instance.architecture, instance.problem.compat);
    for (std::size_t e = 0; e < rows.size(); ++e) {
        const auto& nodes = rows[e]->example;
        const bool same =
            std::equal(nodes.begin(), nodes.end(), chains[e].nodes.begin(), chains[e].nodes.end(),
                       [](const mapping::PmappingNode& a, const mapping::PmappingNode& b) {
                           return a.kind == b.kind && a.tensor == b.tensor &&
                                  a.rank_variable == b.rank_variable && a.tile == b.tile;
                       });
        if (!same) {
            return false;
        }
    }
    return true;
}

bool is_legal(const std::vector<mapspace::Violation>& violations, bool same_order) {
    return std::all_of(violations.begin(), violations.end(), [&](const mapspace::Violation& v) {
        return v.severity == mapspace::Severity::warning ||
               (!same_order && v.code == "tensor_order");
    });
}

std::string text(const std::vector<mapspace::Violation>& violations) {
    std::string all;
    for (const auto& v : violations) {
        all += v.code + ": " + v.message + "\n";
    }
    return all;
}

struct Totals {
    int legal = 0, too_full = 0, too_early = 0, reordered = 0;
};

void judge_fitting(const oracle::Space& space, const oracle::LoadedInstance& instance,
                   const mapspace::MapSpaceOptions& options, const model::CostModel& model,
                   const Sample& sample, const Rows& rows, Totals& totals) {
    const auto mapping = tree(space, rows, sample.shared);
    std::map<std::string, double> peaks;
    bool fits = true;
    for (std::size_t m = 0; m < space.memories.size(); ++m) {
        const double bits = oracle::peak_bits(space, sample.groups, rows, sample.shared, m);
        const double size = space.memories[m].size_bits;
        peaks[space.memories[m].name] = bits / size;
        fits = fits && bits <= size;
    }
    const bool same = keeps_orders(instance, mapping, rows);
    if (!same && !fits) {
        return;
    }
    totals.reordered += same ? 0 : 1;
    const auto violations = mapspace::check(instance.problem, mapping, &options);
    BOOST_TEST(is_legal(violations, same) == fits,
               (fits ? "legal, but the checker says\n" : "too full, but the checker says\n")
                   << text(violations) << mapping::to_text(mapping));
    ++(fits ? totals.legal : totals.too_full);
    if (!fits) {
        BOOST_CHECK_THROW(model.evaluate(instance.problem, mapping), IllegalMapping);
        return;
    }
    const auto report = model.evaluate(instance.problem, mapping);
    double energy = 0, latency = 0;
    for (const auto* row : rows) {
        energy += row->energy_j;
        latency += row->latency_s;
    }
    BOOST_TEST(report.energy_j() == energy, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(report.latency_s() == latency, boost::test_tools::tolerance(1e-12));
    for (const auto& [memory, peak] : peaks) {
        const auto found = report.peak_occupancy.find(memory);
        const double reported = found == report.peak_occupancy.end() ? 0 : found->second;
        BOOST_TEST((same ? std::abs(reported - peak) <= 1e-12 : reported <= peak),
                   memory << ": the model reports " << reported << ", the walk " << peak << "\n"
                          << mapping::to_text(mapping));
    }
}

void judge_early(const oracle::Space& space, const oracle::LoadedInstance& instance,
                 const mapspace::MapSpaceOptions& options, const Sample& sample, const Rows& rows,
                 Totals& totals) {
    const auto mapping = tree(space, rows, sample.shared);
    const auto violations = mapspace::check(instance.problem, mapping, &options);
    BOOST_TEST(
        std::any_of(violations.begin(), violations.end(),
                    [](const mapspace::Violation& v) { return v.code == "unfinished_read"; }),
        "reads too early, but the checker says\n"
            << text(violations) << mapping::to_text(mapping));
    ++totals.too_early;
}

}  // namespace

BOOST_AUTO_TEST_CASE(oracle_checker_and_model_agree_on_random_trees) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::mt19937_64 random(3);
    Totals totals;
    std::ifstream in(tessera::test::test_folder() + "/oracle/seeds.txt");
    std::map<std::string, int> used;
    std::string kind;
    for (std::uint64_t seed; in >> kind >> seed;) {
        if (++used[kind] > 20) {
            continue;
        }
        const auto drawn = oracle::random_instance(seed);
        const oracle::LoadedInstance instance(drawn.yaml);
        const auto space = oracle::make_space(instance.problem, drawn.options, 400'000);
        Draw draw(space, 60, random);
        BOOST_TEST_CONTEXT(kind << ", seed " << seed) {
            for (const auto& sample : draw.of(Fit::yes)) {
                judge_fitting(space, instance, drawn.options, *model, sample,
                              random_rows(sample.groups, random), totals);
            }
            for (const auto& sample : draw.of(Fit::unfinished)) {
                judge_early(space, instance, drawn.options, sample,
                            random_rows(sample.groups, random), totals);
            }
        }
    }
    BOOST_TEST(totals.legal >= 1000);
    BOOST_TEST(totals.too_full >= 40);
    BOOST_TEST(totals.too_early >= 150);
}
