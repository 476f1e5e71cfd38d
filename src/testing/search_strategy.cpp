#include "tessera/testing/search_strategy.hpp"

#include <chrono>
#include <thread>

#include "search/space_data.hpp"
#include "tessera/base/error.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/workload/workload.hpp"
#include "testing/common.hpp"

namespace tessera::testing {

namespace {

using search::Candidate;

/// A strategy at work on an opened space, without the mapper.
class Bench {
public:
    explicit Bench(const std::string& name, std::uint64_t seed)
        : small_(2, 16, 8, 2048),
          model_(plugin::Registry<model::CostModel>::instance().create("looptree")),
          space_(small_.problem(), *model_, {}),
          worker_(space_),
          strategy_(plugin::Registry<search::SearchStrategy>::instance().create(name)),
          batch_(64) {
        std::vector<double> values;
        for (std::uint64_t i = 0; i < 64; ++i) {
            search::Point point;
            const search::Outcome drawn = worker_.draw(i, point);
            values.push_back(drawn.legal() ? drawn.energy_j * drawn.latency_s : 0);
        }
        refuse_vacuous(values);
        strategy_->start(space_, seed);
    }

    search::SearchStrategy& strategy() {
        return *strategy_;
    }
    const search::OpenSpace& space() const {
        return space_;
    }

    /// One round; `nothing_legal`: nothing is ever legal.
    std::span<const Candidate> round(std::size_t room, bool nothing_legal = false) {
        const std::size_t n = strategy_->ask({batch_.data(), room});
        if (n > room) {
            throw Bug("ask() returned " + std::to_string(n) + " of at most " +
                      std::to_string(room));
        }
        for (std::size_t i = 0; i < n; ++i) {
            Candidate& c = batch_[i];
            worker_.run(c);
            c.outcome.value = c.outcome.energy_j * c.outcome.latency_s;
            if (nothing_legal) {
                c.outcome = {};
                c.outcome.verdict = search::Verdict::capacity;
            }
        }
        strategy_->tell({batch_.data(), n});
        return {batch_.data(), n};
    }

private:
    SmallProblem small_;
    plugin::Owned<model::CostModel> model_;
    search::OpenSpace space_;
    search::Worker worker_;
    plugin::Owned<search::SearchStrategy> strategy_;
    std::vector<Candidate> batch_;
};

bool same(std::span<const Candidate> a, std::span<const Candidate> b) {
    bool equal = a.size() == b.size();
    for (std::size_t i = 0; equal && i < a.size(); ++i) {
        const search::Space *const of_a = a[i].space, *const of_b = b[i].space;
        const bool seeded = a[i].how != Candidate::How::point;
        equal = a[i].how == b[i].how && a[i].point == b[i].point &&
                (!seeded || a[i].seed == b[i].seed) && (of_a == nullptr) == (of_b == nullptr) &&
                (of_a == nullptr || of_a->bounds() == of_b->bounds());
    }
    return equal;
}

/// Why a point is not of the space; empty: it is.
std::string fault_of(const search::OpenSpace& space, const search::Point& point) {
    const search::OpenSpace::Data& data = space.data();
    if (point.choices.size() != space.n_einsums()) {
        return "it has " + std::to_string(point.choices.size()) + " choices, the workload has " +
               std::to_string(space.n_einsums()) + " Einsums";
    }
    if (point.order >= space.n_orders()) {
        return "order " + std::to_string(point.order) + ": there are " +
               std::to_string(space.n_orders());
    }
    std::size_t at = 0;
    for (std::uint32_t e = 0; e < space.n_einsums(); ++e) {
        const std::uint32_t chosen = point.choices[e].tmpl;
        const std::string where = "Einsum " + data.problem.workload->einsums[e].name +
                                  ", template " + std::to_string(chosen);
        if (chosen >= space.n_templates(e)) {
            return where + ": there are " + std::to_string(space.n_templates(e)) + " templates";
        }
        const search::TemplateData& t = data.einsums[e].templates[chosen];
        if (at + t.symbols.size() > point.tiles.size()) {
            return where + " needs tile shapes " + std::to_string(at) + " to " +
                   std::to_string(at + t.symbols.size() - 1) + ", the point has " +
                   std::to_string(point.tiles.size());
        }
        const std::vector<double> values(
            point.tiles.begin() + static_cast<std::ptrdiff_t>(at),
            point.tiles.begin() + static_cast<std::ptrdiff_t>(at + t.symbols.size()));
        if (const int i = search::wrong_tile_shape(t, values.data()); i >= 0) {
            const mapspace::TileShapeSymbol& symbol = t.symbols[i];
            const auto outer =
                symbol.outer >= 0 ? static_cast<std::int64_t>(values[symbol.outer]) : symbol.bound;
            const int variable = t.tmpl.symbols[i].rank_variable;
            return where + ": tiles[" + std::to_string(at + i) + "] (symbol " + std::to_string(i) +
                   ", a loop over " + data.problem.workload->rank_variables[variable].name +
                   ") is " + std::to_string(point.tiles[at + i]) +
                   ", expected a divisor of what is around it, " + std::to_string(outer);
        }
        at += t.symbols.size();
    }
    return at == point.tiles.size()
               ? ""
               : "it has " + std::to_string(point.tiles.size()) +
                     " tile shapes, its templates have " + std::to_string(at) + " symbols";
}

/// That a candidate is of.
const search::OpenSpace& space_of(const Candidate& c, const search::OpenSpace& searched) {
    const auto* const other = dynamic_cast<const search::OpenSpace*>(c.space);
    return other != nullptr ? *other : searched;
}

void check_in_space(const std::string& name, const Settings& s, bool nothing_legal, Findings& f) {
    Bench bench(name, s.seed);
    for (int i = 0; i < 20; ++i) {
        for (const Candidate& c : bench.round(32, nothing_legal)) {
            const std::uint32_t n = bench.space().n_einsums();
            if (c.how == Candidate::How::draw) {
                continue;
            }
            if (c.how == Candidate::How::move) {
                f.expect(c.einsum < n && static_cast<std::size_t>(c.move) < search::n_moves,
                         "a move that there is not, or of an Einsum that does not exist");
                f.expect(c.outcome.legal() || c.outcome.verdict == search::Verdict::no_point ||
                             nothing_legal,
                         "a move from a point that is not legal is proposed");
            }
            if (c.how == Candidate::How::cross) {
                f.expect(c.einsum <= c.end && c.end <= n,
                         "a crossover of Einsums that do not exist is proposed");
                const std::string fault = fault_of(space_of(c, bench.space()), c.mate);
                f.expect(fault.empty(), "a mate outside the space is proposed: " + fault);
            }
            const std::string fault = fault_of(space_of(c, bench.space()), c.point);
            f.expect(fault.empty(), "a point outside the space is proposed: " + fault);
        }
    }
}

void check_seed(const std::string& name, const Settings& s, Findings& f) {
    Bench first(name, s.seed), second(name, s.seed);
    for (int i = 0; i < 20; ++i) {
        if (!f.expect(
                same(first.round(24), second.round(24)),
                "round " + std::to_string(i) + " differs between two runs of the same seed")) {
            return;
        }
    }
}

/// Rounds until so many candidates were proposed, as a strategy with a width proposes few a round.
std::vector<Candidate> rounds(Bench& bench, std::size_t n) {
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < n && all.size() < n; ++i) {
        const std::span<const Candidate> some = bench.round(24);
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

void check_resume(const std::string& name, const Settings& s, Findings& f) {
    constexpr std::size_t before = 240, after = 480;
    Bench first(name, s.seed), second(name, s.seed);
    rounds(first, before);
    const std::string state = first.strategy().save();
    if (state.empty()) {
        return;  // it starts over, which is allowed
    }
    if (f.expect(second.strategy().restore(state), "it does not understand its own state")) {
        f.expect(same(rounds(first, after), rounds(second, after)),
                 "it goes on differently after restore()");
    }
}

/// A saved state comes from a file: cut short or changed it is refused, or something to go on from.
void check_states(const std::string& name, const Settings& s, Findings& f) {
    Bench saved(name, s.seed);
    rounds(saved, 240);
    const std::string state = saved.strategy().save();
    constexpr std::size_t places = 24;
    for (std::size_t at = 0; at < state.size(); at += state.size() / places + 1) {
        std::string digit = state, letter = state;
        digit[at] = '9';
        letter[at] = 'x';
        for (const std::string& odd : {state.substr(0, at), digit, letter, state + digit}) {
            Bench other(name, s.seed);
            try {
                if (other.strategy().restore(odd)) {
                    other.round(24);
                    other.round(24);
                }
            } catch (const std::exception& error) {
                f.expect(false, "a state that was changed at its byte " + std::to_string(at) +
                                    " is not refused but ends in an error: " + error.what());
            }
        }
    }
}

void check_batches(const std::string& name, const Settings& s, Findings& f) {
    Bench bench(name, s.seed);
    const std::size_t width = bench.strategy().width();
    for (int i = 0; i < 10 && width > 0; ++i) {
        f.expect(bench.round(width + 10).size() <= width, "more candidates than width() says");
    }
    f.expect(bench.strategy().width() == width, "width() changes");
    for (const std::size_t room : {1u, 7u, 64u, 1u}) {
        f.expect(bench.round(room).size() <= room, "more candidates than asked for");
    }
    f.expect(bench.round(0).empty(), "candidates although none were asked for");
}

mapper::Result run(const std::string& name, const mapper::Options& options, int einsums = 2) {
    const SmallProblem small(einsums, 16, 8, 2048);
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    return plugin::Registry<mapper::Mapper>::instance()
        .create("search", {{"strategy", name}})
        ->map(small.problem(), *model, options);
}

std::string text_of(const mapper::Result& result) {
    std::string text;
    for (const mapper::Solution& solution : result.solutions) {
        text += mapping::to_yaml(solution.mapping);
    }
    return text;
}

void check_threads(const std::string& name, const Settings& s, Findings& f) {
    std::string first;
    for (const int threads : {1, 2, 8}) {
        mapper::Options options;
        options.seed = s.seed;
        options.threads = threads;
        options.budget.max_evals = 3000;
        const std::string text = text_of(run(name, options));
        f.expect(!text.empty(), "no legal mapping was found in 3000 evaluations");
        f.expect(threads == 1 || text == first,
                 std::to_string(threads) + " threads find another mapping than one");
        first = threads == 1 ? text : first;
    }
}

void check_budget(const std::string& name, const Settings& s, Findings& f) {
    for (const std::uint64_t evals : {1u, 10u}) {
        mapper::Options options;
        options.seed = s.seed;
        options.threads = 1;
        options.budget.max_evals = evals;
        f.expect(run(name, options).statistics.evaluated <= evals, "more evaluations than allowed");
    }
}

void check_stop(const std::string& name, const Settings& s, Findings& f) {
    std::atomic<bool> stop{false};
    double cpu_at_stop = 0;
    mapper::Options options;
    options.seed = s.seed;
    options.threads = 1;
    options.stop = &stop;
    options.budget.max_time_s = 60;
    std::jthread timer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        cpu_at_stop = cpu_s();
        stop = true;
    });
    run(name, options, 3);
    const double end = cpu_s();
    timer.join();
    // CPU time: a busy machine must not fail a plugin.
    f.expect(
        cpu_at_stop == 0 || end - cpu_at_stop <= 0.2,
        "it took " + std::to_string(end - cpu_at_stop) + " s of CPU time to stop, allowed are 0.2");
}

}  // namespace

std::vector<Check> search_strategy_checks(const std::string& name, const Settings& s) {
    std::vector<Check> own = {
        {"batches", "never more candidates than asked for",
         [=](Findings& f) { check_batches(name, s, f); }},
        {"space", "no point outside the space",
         [=](Findings& f) { check_in_space(name, s, false, f); }},
        {"nothing_legal", "goes on when nothing is legal",
         [=](Findings& f) { check_in_space(name, s, true, f); }},
        {"seed", "same seed, same proposals", [=](Findings& f) { check_seed(name, s, f); }},
        {"resume", "save() and restore() go on with the same proposals",
         [=](Findings& f) { check_resume(name, s, f); }},
        {"states", "a state that was changed or cut short does no harm",
         [=](Findings& f) { check_states(name, s, f); }},
        {"threads", "1, 2 and 8 threads find the same mapping",
         [=](Findings& f) { check_threads(name, s, f); }},
        {"budget", "a limit on evaluations is kept",
         [=](Findings& f) { check_budget(name, s, f); }},
        {"stop", "stops within 200 ms", [=](Findings& f) { check_stop(name, s, f); }},
    };
    return with_common_checks<search::SearchStrategy>(name, std::move(own), [=] {
        mapper::Options options;
        options.seed = s.seed;
        options.budget.max_evals = 500;
        run(name, options);
    });
}

}  // namespace tessera::testing
