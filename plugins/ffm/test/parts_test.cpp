// Class bounds and rows by themselves: no run, no join.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <thread>

#include "../bounds/sequential.hpp"
#include "../heuristics/best_first.hpp"
#include "../heuristics/early_search.hpp"
#include "../heuristics/local_search.hpp"
#include "../heuristics/simple.hpp"
#include "../row_search.hpp"
#include "../templates/open.hpp"
#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/join.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using namespace tessera::ffm;

namespace {

const std::string shipped = test::test_folder() + "/../";

/// Einsums on a shipped architecture, opened.
struct Opened {
    Opened(workload::Workload einsums, const std::string& on)
        : workload(std::move(einsums)),
          architecture(arch::load_architecture(shipped + "arch-specs/" + on + ".yaml", {})) {
        options.threads = 1;
        context.problem = &problem;
        context.model = model.get();
        context.options = &options;
        context.mapspace = &options.mapspace;
        context.recorder = &recorder;
        const auto n = workload.einsums.size();
        recorder.set_einsums(std::vector<std::string>(n, "Einsum"));
        recorder.begin_phase("templates");
        for (int e = 0; e < static_cast<int>(n); ++e) {
            spaces.push_back(open_einsum(context, e));
            spaces.back().same = static_cast<std::size_t>(e);
            make_templates(context, spaces.back());
        }
        context.tracked = tracked_memories(spaces);
    }

    mapper::Result optimum(mapper::Metric metric) const {
        mapper::Options of_metric = options;
        of_metric.metrics = {metric};
        return plugin::Registry<mapper::Mapper>::instance().create("ffm")->map(problem, *model,
                                                                               of_metric);
    }
    double least(mapper::Metric metric) const {
        return mapper::metric_value(metric, optimum(metric).solutions.at(0).report);
    }

    workload::Workload workload;
    arch::Architecture architecture;
    model::Problem problem{&workload, &architecture, arch::Compat::none};
    plugin::Owned<model::CostModel> model =
        plugin::Registry<model::CostModel>::instance().create("looptree");
    telemetry::Recorder recorder;
    mapper::Options options;
    ExploreContext context;
    std::vector<EinsumSpace> spaces;
};

/// A chain of matrix products.
struct Chain : Opened {
    explicit Chain(int n)
        : Opened(
              workload::load_workload(
                  shipped + "problem-shapes/matmuls.yaml",
                  {{"N_EINSUMS", std::to_string(n)}, {"M", "24"}, {"KN", "16"}, {"KN_STEP", "2"}}),
              "simple") {}
};

void nothing() {}

/// With its parts.
struct Parts : Chain {
    explicit Parts(int n) : Chain(n) {}
    void find_class_bounds() {
        BOOST_TEST_REQUIRE(bounds.find(nothing, std::numeric_limits<double>::infinity(), false));
    }

    TemplateExplorer explorer{context, spaces};
    ClassBounds bounds{explorer};
};

Incumbents below(double product) {
    return {true, {{product, 1.0}}};
}

std::size_t rows(const EinsumSpace& space) {
    std::size_t sum = 0;
    for (const mapspace::PmappingGroup& g : space.groups) {
        sum += g.rows();
    }
    return sum;
}

/// Least product of energy and latency among the groups of one Einsum.
double least_product(const EinsumSpace& space) {
    double least = HUGE_VAL;
    for (const mapspace::PmappingGroup& g : space.groups) {
        for (std::size_t r = 0; r < g.rows(); ++r) {
            least = std::min(least, g.row(r)[0] * g.row(r)[1]);
        }
    }
    return least;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_class_bounds_of_one_einsum_are_its_least_costs) {
    Parts chain(1);
    BOOST_TEST(chain.bounds.nothing_shared());
    BOOST_TEST(chain.bounds.find_root_bounds());
    const mapspace::CostPoint root = chain.bounds.bound().front();
    chain.find_class_bounds();
    const mapspace::CostPoint least = chain.bounds.bound().front();
    BOOST_TEST(least[0] == chain.least(mapper::Metric::energy), boost::test_tools::tolerance(1e-9));
    BOOST_TEST(least[1] == chain.least(mapper::Metric::latency),
               boost::test_tools::tolerance(1e-9));
    BOOST_TEST(root[0] <= least[0] * (1 + 1e-9));
    BOOST_TEST(root[1] <= least[1] * (1 + 1e-9));
    BOOST_TEST(root[0] > 0);
}

BOOST_AUTO_TEST_CASE(the_relaxation_bounds_whole_mappings) {
    Parts chain(3);
    BOOST_TEST(!chain.bounds.nothing_shared());
    BOOST_TEST(chain.bounds.relaxation() == nullptr);
    chain.find_class_bounds();
    BOOST_TEST_REQUIRE(chain.bounds.relaxation() != nullptr);
    const double edp = chain.least(mapper::Metric::edp);
    BOOST_TEST(chain.bounds.least_value() <= edp * (1 + 1e-9));
    BOOST_TEST(chain.bounds.least_value() > 0.2 * edp);
    // What completes a class of the bound is the least of the others.
    const auto completions = chain.bounds.relaxation()->completions();
    for (std::size_t e = 0; e < chain.spaces.size(); ++e) {
        double least = HUGE_VAL;
        BOOST_TEST_REQUIRE(completions[e].size() == chain.spaces[e].classes.size());
        for (std::size_t k = 0; k < completions[e].size(); ++k) {
            const auto& own = chain.spaces[e].classes[k].least;
            for (std::size_t at = 0; at < completions[e][k].size(); at += 2) {
                least = std::min(
                    least, (own[0] + completions[e][k][at]) * (own[1] + completions[e][k][at + 1]));
            }
        }
        BOOST_TEST(least == chain.bounds.least_value(), boost::test_tools::tolerance(1e-9));
    }
}

BOOST_AUTO_TEST_CASE(what_an_earlier_run_has_found_is_not_looked_for) {
    Parts first(2);
    first.find_class_bounds();
    BOOST_TEST(first.explorer.evaluated() > 0u);
    std::vector<SavedClassBounds> saved = first.bounds.progress();
    Parts again(2);
    again.bounds.restore(saved);
    const std::uint64_t before = again.explorer.evaluated();
    again.find_class_bounds();
    BOOST_TEST(again.explorer.evaluated() == before);
    BOOST_TEST(again.bounds.least_value() == first.bounds.least_value());

    saved.front().done.pop_back();
    Parts other(2);
    BOOST_CHECK_THROW(other.bounds.restore(saved), UserError);
}

BOOST_AUTO_TEST_CASE(templates_that_one_thread_leaves_for_the_next_call_are_not_lost) {
    using namespace std::chrono_literals;
    Parts alone(2);
    alone.find_class_bounds();
    Parts both(2);
    both.options.threads = 2;
    std::atomic<int> asked = 0;
    std::atomic<bool> left = false;
    // Whoever asks first hears no, but only once the other thread has heard yes.
    const auto pause = [&](double) {
        const int turn = asked++;
        for (int k = 0; turn == 0 && k < 1000 && !left; ++k) {
            std::this_thread::sleep_for(1ms);
        }
        if (turn == 0) {
            std::this_thread::sleep_for(20ms);
        }
        left = left || turn == 1;
        return turn == 1;
    };
    int calls = 0;
    do {
        both.bounds.find(nothing, std::numeric_limits<double>::infinity(), false, pause);
        ++calls;
    } while (both.bounds.paused());
    BOOST_TEST(calls > 1);
    BOOST_TEST(both.bounds.least_value() == alone.bounds.least_value());
}

BOOST_AUTO_TEST_CASE(an_early_search_has_a_row_of_every_einsum_at_whatever_time) {
    Parts chain(3);
    EarlySearch early(chain.explorer, chain.bounds);
    early.sample(std::chrono::steady_clock::now());
    early.share_groups();
    for (const EinsumSpace& space : chain.spaces) {
        BOOST_TEST(rows(space) > 0u);
    }
}

BOOST_AUTO_TEST_CASE(rows_are_those_that_can_beat_the_incumbents) {
    Parts chain(1);
    chain.find_class_bounds();
    RowSearch search(chain.explorer, chain.bounds);
    const double edp = chain.least(mapper::Metric::edp);
    BOOST_TEST(search.find(below(edp * 0.999), 0));
    BOOST_TEST(rows(chain.spaces[0]) == 0u);
    BOOST_TEST(search.find(below(edp), 0));
    BOOST_TEST(rows(chain.spaces[0]) > 0u);
}

BOOST_AUTO_TEST_CASE(without_incumbents_all_pareto_optimal_rows_are_found) {
    Parts chain(2);
    chain.find_class_bounds();
    RowSearch search(chain.explorer, chain.bounds);
    BOOST_TEST(search.find(below(chain.least(mapper::Metric::edp)), 0));
    const std::size_t best = rows(chain.spaces[0]) + rows(chain.spaces[1]);
    BOOST_TEST(search.find({true, {}}, 0));
    BOOST_TEST(rows(chain.spaces[0]) + rows(chain.spaces[1]) > best);
}

BOOST_AUTO_TEST_CASE(a_search_for_rows_is_given_up_and_goes_on) {
    Parts chain(3);
    chain.find_class_bounds();
    RowSearch search(chain.explorer, chain.bounds);
    const Incumbents incumbents = below(chain.least(mapper::Metric::edp) * 1.5);
    search.keep({}, nothing);
    BOOST_TEST(!search.find(incumbents, 1));
    const std::vector<SavedSearch> saved = search.kept().all();
    BOOST_TEST_REQUIRE(saved.size() == 1u);
    std::uint64_t before = chain.explorer.evaluated();
    BOOST_TEST(search.find(incumbents, 0));
    const std::uint64_t all_rows = chain.explorer.evaluated() - before;
    std::vector<std::size_t> all;
    for (const EinsumSpace& space : chain.spaces) {
        all.push_back(rows(space));
        BOOST_TEST(all.back() > 0u);
    }
    // What is kept gives the same rows, and counts as it did.
    Parts again(3);
    again.find_class_bounds();
    RowSearch resumed(again.explorer, again.bounds);
    resumed.keep(search.kept().all(), nothing);
    before = again.explorer.evaluated();
    BOOST_TEST(resumed.find(incumbents, 0));
    BOOST_TEST(again.explorer.evaluated() - before == all_rows);
    for (std::size_t e = 0; e < all.size(); ++e) {
        BOOST_TEST(rows(again.spaces[e]) == all[e]);
        BOOST_TEST(least_product(again.spaces[e]) == least_product(chain.spaces[e]));
    }
    // A beam keeps fewer.
    search.find_some(incumbents, 2);
    for (std::size_t e = 0; e < all.size(); ++e) {
        BOOST_TEST(rows(chain.spaces[e]) > 0u);
        BOOST_TEST(rows(chain.spaces[e]) <= all[e]);
    }
}

BOOST_AUTO_TEST_CASE(first_and_simple_rows_are_legal_pmappings_of_every_einsum) {
    Parts chain(2);
    first_rows(chain.explorer, std::chrono::steady_clock::now());
    for (const EinsumSpace& space : chain.spaces) {
        BOOST_TEST(rows(space) > 0u);
    }
    chain.find_class_bounds();
    simple_rows(chain.explorer);
    for (const EinsumSpace& space : chain.spaces) {
        BOOST_TEST(rows(space) > 0u);
        BOOST_TEST(least_product(space) >= space.least[0] * space.least[1] * (1 - 1e-9));
        for (const mapspace::PmappingGroup& g : space.groups) {
            BOOST_TEST(g.n_loops() == 0);
        }
    }
}

// Running states stand below loops that the Einsums that make them share.
BOOST_AUTO_TEST_CASE(first_rows_make_a_mapping_of_einsums_with_running_states) {
    Opened attention(
        workload::load_workload(shipped + "problem-shapes/attention-one-pass.yaml", {}),
        "transfusion-edge");
    TemplateExplorer explorer(attention.context, attention.spaces);
    first_rows(explorer, std::chrono::steady_clock::now());
    std::vector<std::vector<mapspace::PmappingGroup>> groups;
    for (const EinsumSpace& space : attention.spaces) {
        BOOST_TEST(rows(space) > 0u);
        groups.push_back(space.groups);
    }
    mapspace::JoinOptions beams;
    beams.order = mapspace::EinsumOrder::all;
    beams.beam = beams.beam_states = 100;
    const mapspace::JoinResult joined =
        mapspace::join(attention.workload, groups, attention.context.tracked, beams);
    BOOST_TEST(joined.mappings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(local_search_finds_pmappings_that_do_not_get_worse) {
    Parts chain(1);
    LocalSearch search(chain.explorer);
    const double edp = chain.least(mapper::Metric::edp);
    double before = HUGE_VAL;
    for (int pass = 0; pass < 4; ++pass) {
        search.run({});
        BOOST_TEST_REQUIRE(search.costs().at(0).size() == 2u);
        const double found = search.costs()[0][0] * search.costs()[0][1];
        BOOST_TEST(found >= edp * (1 - 1e-9));
        BOOST_TEST(found <= before);
        before = found;
        // Later passes leave groups only if there are more templates to search.
        BOOST_TEST(rows(chain.spaces[0]) <= 1u);
        if (pass == 0) {
            BOOST_TEST(least_product(chain.spaces[0]) == found,
                       boost::test_tools::tolerance(1e-12));
        }
    }
}

BOOST_AUTO_TEST_CASE(best_first_search_meets_its_bound_at_the_optimum) {
    Parts chain(1);
    BestFirst boxes(chain.explorer);
    const double edp = chain.least(mapper::Metric::edp);
    boxes.make_boxes(HUGE_VAL, 1);
    BOOST_TEST_REQUIRE(boxes.n_boxes() > 0u);
    BOOST_TEST(boxes.bound_of_rank(0) <= edp * (1 + 1e-9));
    BOOST_TEST(boxes.explore_boxes(0, boxes.n_boxes(), HUGE_VAL));
    BOOST_TEST(least_product(chain.spaces[0]) == edp, boost::test_tools::tolerance(1e-9));
    // Nothing is below it.
    BOOST_TEST(!boxes.explore_boxes(0, boxes.n_boxes(), edp * (1 - 1e-9)));
}

BOOST_AUTO_TEST_CASE(explored_einsums_bound_the_others_at_least_as_well_as_class_bounds) {
    Parts chain(3);
    chain.find_class_bounds();
    const double edp = chain.least(mapper::Metric::edp);
    const auto by_class = chain.bounds.relaxation()->completions();
    RowSearch search(chain.explorer, chain.bounds);
    BOOST_TEST(search.find(below(edp * 1.2), 0));
    SequentialBound sequence(chain.context, chain.spaces);
    BOOST_TEST(!sequence.knows_more());
    sequence.add(0);
    sequence.add(1);
    const auto rest = sequence.rest(2);
    BOOST_TEST_REQUIRE(rest.has_value());
    double least = HUGE_VAL;
    for (std::size_t k = 0; k < rest->size(); ++k) {
        double before = HUGE_VAL;
        for (std::size_t at = 0; at < by_class[2][k].size(); at += 2) {
            before = std::min(before, by_class[2][k][at] * by_class[2][k][at + 1]);
        }
        for (const mapspace::CostPoint& p : (*rest)[k]) {
            const auto& own = chain.spaces[2].classes[k].least;
            least = std::min(least, (own[0] + p[0]) * (own[1] + p[1]));
            BOOST_TEST(p[0] * p[1] >= before * (1 - 1e-9));
        }
    }
    BOOST_TEST(least <= edp * (1 + 1e-9));
    BOOST_TEST(least >= chain.bounds.least_value() * (1 - 1e-9));
}
