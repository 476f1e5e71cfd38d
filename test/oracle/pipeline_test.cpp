// Pipelines of random LoopTrees: cost model and checker against a simulation, round by round.
//
// With TESSERA_SOAK=N in the environment, N instances from TESSERA_SOAK_FROM on are drawn.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>

#include "model/overlap.hpp"
#include "oracle/oracle_instance.hpp"
#include "oracle/pipeline_simulator.hpp"
#include "oracle/points.hpp"
#include "support/setting.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;

namespace {

/// Trees of which some are looked at, drawn as they come.
class Drawn {
public:
    Drawn(std::size_t most, std::uint64_t seed) : most_(most), random_(seed) {}

    void offer(const oracle::Tree& tree) {
        ++seen_;
        if (trees_.size() < most_) {
            trees_.push_back(tree);
        } else if (const int at = random_.below(static_cast<int>(std::min(seen_, 1'000'000)));
                   at < static_cast<int>(most_)) {
            trees_[static_cast<std::size_t>(at)] = tree;
        }
    }
    const std::vector<oracle::Tree>& trees() const {
        return trees_;
    }

private:
    std::size_t most_;
    int seen_ = 0;
    oracle::Random random_;
    std::vector<oracle::Tree> trees_;
};

mapping::Mapping mapping_of(const oracle::Space& space, const oracle::Tree& tree,
                            const std::vector<oracle::AtOnce>& overlap) {
    std::vector<mapping::Branch> branches;
    for (std::size_t i = 0; i < tree.rows.size(); ++i) {
        const oracle::ChainRow& row = *tree.rows[i];
        branches.push_back(
            {&space.einsums[i].paths[static_cast<std::size_t>(row.path)], row.example});
    }
    mapping::Mapping mapping = mapping::assemble(branches, tree.shared);
    for (const oracle::AtOnce& one : overlap) {
        std::vector<std::string> names;
        for (int i = one.first; i <= one.last; ++i) {
            names.push_back(branches[static_cast<std::size_t>(i)].path->einsum.name);
        }
        mapping::run_at_once(mapping, names);
    }
    return mapping;
}

struct Seen {
    int pipelines = 0, full = 0, faster = 0, reordered = 0;
};

/// A written tree may list holders that nothing separates in another order than a chain does, and
/// then charges another of them further down.
bool holds_the_same(const oracle::Space& space, const oracle::Tree& tree,
                    const model::Report& report) {
    for (std::size_t i = 0; i < tree.rows.size(); ++i) {
        const std::size_t width = tree.groups[i]->prefix.size() + 1;
        for (std::size_t m = 0; m < space.memories.size(); ++m) {
            double bits = 0, shares = 0;
            for (std::size_t d = 0; d < width; ++d) {
                bits += tree.rows[i]->bits[m * width + d];
            }
            for (const oracle::Backing& held : tree.groups[i]->backings) {
                bits += held.memory == space.memories[m].name ? held.bits : 0;
            }
            for (const model::ComponentReport& one : report.einsums[i].components) {
                for (const model::TensorReport& tensor : one.tensors) {
                    shares += one.component == space.memories[m].name ? tensor.occupancy : 0;
                }
            }
            if (!oracle::close(bits, shares * space.memories[m].size_bits)) {
                return false;
            }
        }
    }
    return true;
}

void judge(const oracle::LoadedInstance& instance, const oracle::Space& space,
           const oracle::Tree& tree, const model::CostModel& model, Seen& seen) {
    const std::vector<std::vector<oracle::AtOnce>> overlaps = oracle::all_overlaps(tree.shared);
    const double in_turn_s = oracle::latency_s(space, tree, overlaps.front());
    if (!holds_the_same(space, tree,
                        model.evaluate(instance.problem, mapping_of(space, tree, {})))) {
        ++seen.reordered;
        return;
    }
    double best_s = in_turn_s;
    for (const std::vector<oracle::AtOnce>& overlap : overlaps) {
        best_s = std::min(best_s, oracle::latency_s(space, tree, overlap));
    }
    const mapping::Mapping in_turn = mapping_of(space, tree, {});
    const model::Overlapped made =
        model::best_overlap(instance.problem, in_turn, model.evaluate(instance.problem, in_turn));
    BOOST_TEST(made.complete);
    BOOST_TEST(oracle::close(made.latency_s, best_s));
    BOOST_TEST(oracle::close(model.evaluate(instance.problem, made.mapping).latency_s(), best_s));
    for (std::size_t i = 1; i < std::min<std::size_t>(overlaps.size(), 8); ++i) {
        const double expected_s = oracle::latency_s(space, tree, overlaps[i]);
        const mapping::Mapping mapping = mapping_of(space, tree, overlaps[i]);
        const auto violations = mapspace::check(instance.problem, mapping, nullptr);
        const bool legal = std::ranges::none_of(violations, [](const mapspace::Violation& v) {
            return v.severity == mapspace::Severity::physical;
        });
        BOOST_TEST(legal == std::isfinite(expected_s), mapping::to_text(mapping));
        ++seen.pipelines;
        try {
            const model::Report report = model.evaluate(instance.problem, mapping);
            BOOST_TEST(oracle::close(report.latency_s(), expected_s),
                       report.latency_s() << " instead of " << expected_s << "\n"
                                          << mapping::to_text(mapping));
            // Whoever runs at once is never slower for it.
            BOOST_TEST(report.latency_s() <= in_turn_s * (1 + 1e-9));
            BOOST_TEST((report.peak_occupancy.empty() ||
                        std::ranges::all_of(report.peak_occupancy, [](const auto& memory) {
                            return memory.second <= 1 + 1e-9;
                        })));
            seen.faster += report.latency_s() < in_turn_s * (1 - 1e-9);
        } catch (const IllegalMapping& error) {
            BOOST_TEST(std::isinf(expected_s), error.what() << "\n" << mapping::to_text(mapping));
            ++seen.full;
        }
    }
}

Seen judge_instances(std::uint64_t from, std::uint64_t n,
                     oracle::Instance (*draw)(std::uint64_t seed)) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    Seen seen;
    for (std::uint64_t seed = from; seed < from + n; ++seed) {
        const oracle::Instance drawn = draw(seed);
        if (drawn.options.imperfect_temporal || drawn.options.imperfect_spatial) {
            continue;
        }
        try {
            const oracle::LoadedInstance instance(drawn.yaml, arch::Compat::none);
            const oracle::Space space =
                oracle::make_space(instance.problem, drawn.options, 4'000, true);
            Drawn trees(6, seed);
            try {
                oracle::for_each_tree(
                    space,
                    [&](const oracle::Tree& tree) {
                        if (tree.rows.size() > 1) {
                            trees.offer(tree);
                        }
                    },
                    60'000);
            } catch (const oracle::TooMany&) {  // those so far
            }
            for (const oracle::Tree& tree : trees.trees()) {
                BOOST_TEST_CONTEXT("seed " << seed << " " << drawn.kind << "\n" << drawn.yaml) {
                    judge(instance, space, tree, *model, seen);
                }
            }
        } catch (const oracle::TooMany&) {
        } catch (const oracle::Unsupported&) {
        }
    }
    return seen;
}

/// So many instances, or those of a soak.
void judge_pipelines(std::uint64_t instances, oracle::Instance (*draw)(std::uint64_t seed)) {
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    const Seen seen =
        judge_instances(test::setting("TESSERA_SOAK_FROM", 0), soak > 0 ? soak : instances, draw);
    BOOST_TEST_MESSAGE(seen.pipelines << " pipelines, " << seen.full << " too full, " << seen.faster
                                      << " faster, " << seen.reordered << " reordered trees");
    BOOST_TEST(seen.reordered * 5 < seen.pipelines);
    BOOST_TEST(seen.pipelines > 50);
    BOOST_TEST(seen.full > 0);
    BOOST_TEST(seen.faster > 10);
}

}  // namespace

BOOST_AUTO_TEST_CASE(pipelines_take_as_long_as_their_simulation) {
    judge_pipelines(60, oracle::random_full_instance);
}

BOOST_AUTO_TEST_CASE(pipelines_with_running_states_take_as_long_as_their_simulation) {
    judge_pipelines(40, oracle::random_state_instance);
}
