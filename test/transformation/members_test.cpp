// No mapping that the checker takes for a member of the mapspace is better than the optimum that
// the search proves: random changes of mappings, costed by the model. What is legal and better must
// break a rule of the mapspace, which the checker names.
//
// With TESSERA_MEMBERS=N in the environment, N problems from TESSERA_MEMBERS_FROM (default 1000000)
// on are drawn instead of the first few, and the counts printed.
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "support/setting.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "transformation/mutated.hpp"
#include "transformation/solve.hpp"

using namespace tessera;
using namespace tessera::transformation;
using mapper::Metric;

namespace {

constexpr std::uint64_t problems_of_a_test_run = 60;
constexpr int changes_of_a_problem = 600;
constexpr std::size_t most_kept = 48;
constexpr double limit_s = 20;

/// Now and then with partial tiles, or memories in any order.
Problem drawn(std::uint64_t seed, Random& r) {
    Problem problem = random_problem(seed);
    if (problem.compat != arch::Compat::none) {
        return problem;
    }
    problem.options.imperfect_temporal |= r.chance(20);
    problem.options.imperfect_spatial |= r.chance(20);
    if (r.chance(20)) {
        problem.options.force_memory_hierarchy_order = false;
    }
    return problem;
}

struct Tally {
    int problems = 0, legal = 0, members = 0;
    std::map<std::string, int> outside, better;  ///< by rule; mappings better than the optimum
    std::vector<std::string> errors;

    void add(const Tally& other) {
        problems += other.problems;
        legal += other.legal;
        members += other.members;
        for (const auto& [rule, n] : other.outside) {
            outside[rule] += n;
        }
        for (const auto& [rule, n] : other.better) {
            better[rule] += n;
        }
        errors.insert(errors.end(), other.errors.begin(), other.errors.end());
    }
    void print() const {
        std::fprintf(stderr, "%d problems, %d legal mappings, %d members\n", problems, legal,
                     members);
        for (const auto& [rule, n] : outside) {
            const auto found = better.find(rule);
            std::fprintf(stderr, "  %-36s %8d, %d of them better than the optimum\n", rule.c_str(),
                         n, found == better.end() ? 0 : found->second);
        }
    }
};

class Walk {
public:
    explicit Walk(std::uint64_t seed)
        : random_(seed ^ 0x3e3b), seed_(seed), problem_(drawn(seed, random_)), loaded_(problem_) {
        loaded_.problem.paths = loaded_.problem.paths_or_new();
    }

    Tally run() {
        try {
            walk();
        } catch (const std::exception& error) {
            tally_.errors.push_back("seed " + std::to_string(seed_) + ": " + error.what() + "\n" +
                                    options_text() + transformation::text(problem_));
        }
        return tally_;
    }

private:
    void walk() {
        for (const Metric metric : {Metric::energy, Metric::latency, Metric::edp}) {
            const std::optional<Optimum> optimum = solve(problem_, {metric}, {}, limit_s);
            if (!optimum || !optimum->mapping) {
                return;
            }
            optima_.emplace_back(metric, optimum->points.front());
            kept_.push_back(*optimum->mapping);
        }
        tally_.problems = 1;
        for (int i = 0; i < changes_of_a_problem; ++i) {
            const auto from =
                static_cast<std::size_t>(random_.below(static_cast<int>(kept_.size())));
            judge(mutated(kept_[from], problem_, random_));
        }
    }

    void judge(const mapping::Mapping& mapping) {
        Cost cost;
        std::string outside;
        try {
            mapping::check_structure(mapping);
            if (!rule(mapspace::check(loaded_.problem, mapping, nullptr), false).empty()) {
                return;
            }
            const model::Report report = model_->evaluate(loaded_.problem, mapping);
            cost = {report.energy_j(), report.latency_s()};
            outside = rule(mapspace::check(loaded_.problem, mapping, &problem_.options), true);
        } catch (const IllegalMapping&) {
            return;
        } catch (const UserError&) {
            return;
        }
        ++tally_.legal;
        keep(mapping);
        bool better = false;
        for (const auto& [metric, optimum] : optima_) {
            const double least = optimum.of(metric);
            better = better || cost.of(metric) < least - 1e-9 * std::abs(least);
        }
        if (!outside.empty()) {
            ++tally_.outside[outside];
            tally_.better[outside] += better ? 1 : 0;
            return;
        }
        ++tally_.members;
        if (better) {
            complain(mapping, cost);
        }
    }

    /// The first that the mapping breaks. Warnings of the mapspace's best-effort rules say that it
    /// is no member.
    static std::string rule(const std::vector<mapspace::Violation>& found, bool warnings) {
        for (const mapspace::Violation& v : found) {
            if (v.severity != mapspace::Severity::warning ||
                (warnings && v.code != "loop_bounds")) {
                return v.code;
            }
        }
        return "";
    }

    void keep(const mapping::Mapping& mapping) {
        if (kept_.size() < most_kept) {
            kept_.push_back(mapping);
        } else {
            kept_[optima_.size() + static_cast<std::size_t>(random_.below(
                                       static_cast<int>(most_kept - optima_.size())))] = mapping;
        }
    }

    std::string options_text() const {
        const auto& o = problem_.options;
        return "imperfect temporal " + std::to_string(o.imperfect_temporal) + " spatial " +
               std::to_string(o.imperfect_spatial) + ", forced order " +
               std::to_string(o.force_memory_hierarchy_order) + ", fused loops " +
               std::to_string(o.max_fused_loops) + " per variable " +
               std::to_string(o.max_fused_loops_per_rank_variable) + "\n";
    }

    void complain(const mapping::Mapping& mapping, const Cost& cost) {
        std::string text = "seed " + std::to_string(seed_) + ": a member of the mapspace has ";
        for (const auto& [metric, optimum] : optima_) {
            text += std::string(mapper::facts(metric).name) + " " +
                    std::to_string(cost.of(metric)) + " (optimum " +
                    std::to_string(optimum.of(metric)) + ") ";
        }
        text += "\n" + options_text();
        tally_.errors.push_back(text + transformation::text(problem_) + mapping::to_yaml(mapping));
        optima_.clear();  // one is enough
    }

    Random random_;
    std::uint64_t seed_;
    Problem problem_;
    LoadedProblem loaded_;
    plugin::Owned<model::CostModel> model_ =
        plugin::Registry<model::CostModel>::instance().create("looptree");
    std::vector<std::pair<Metric, Cost>> optima_;
    std::vector<mapping::Mapping> kept_;
    Tally tally_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(no_member_is_better_than_the_proven_optimum) {
    const std::uint64_t soak = test::setting("TESSERA_MEMBERS", 0);
    const std::uint64_t wanted = soak > 0 ? soak : problems_of_a_test_run;
    const std::uint64_t from = soak > 0 ? test::setting("TESSERA_MEMBERS_FROM", 1'000'000) : 0;
    Tally all;
    std::mutex guard;
    std::atomic<std::uint64_t> next{from};
    const auto work = [&] {
        for (std::uint64_t seed = next++; seed < from + wanted; seed = next++) {
            const Tally tally = Walk(seed).run();
            const std::lock_guard lock(guard);
            all.add(tally);
        }
    };
    {
        const std::jthread other(work);
        work();
    }
    for (const std::string& error : all.errors) {
        BOOST_ERROR(error);
    }
    if (soak > 0) {
        all.print();
    }
    BOOST_TEST(static_cast<std::uint64_t>(all.problems) * 2 >= wanted);
    BOOST_TEST(static_cast<std::uint64_t>(all.members) >= 10 * wanted);
    BOOST_TEST(static_cast<std::uint64_t>(all.legal - all.members) >= 10 * wanted);
}
