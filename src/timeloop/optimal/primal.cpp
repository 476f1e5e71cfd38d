#include "timeloop/optimal/primal.hpp"

#include <cmath>

#include <optional>

#include "tessera/base/hash.hpp"
#include "timeloop/optimal/improvement.hpp"
#include "timeloop/strategy/worker.hpp"

namespace tessera::timeloop {
namespace {

constexpr std::uint64_t first_evals = 1000, more_evals = 20'000, draws = 16;
constexpr int most_failed = 2;  // draws of a thousand attempts
/// Ways to split bounds, of all dimensions: more take too long to be numbered for draws.
constexpr std::size_t most_options = 200'000;

class Primal {
public:
    Primal(Pool& pool, const Stage& stage) : pool_(pool), stage_(stage) {}

    void run() {
        simple();
        if (!best_) {
            drawn();
        }
        if (best_) {
            ImprovementHeuristic(pool_, stage_).run(*best_, more_evals);
        }
    }

private:
    void consider(const Mapping& mapping) {
        if (pool_.over()) {
            return;
        }
        ImprovementHeuristic improvement(pool_, stage_);
        const double value = improvement.run(mapping, first_evals);
        if (value < value_) {
            value_ = value;
            const std::lock_guard lock(pool_.mutex);
            best_ = pool_.result.best;
        }
    }
    // Each dimension in turn is the first one that takes of the arrays; levels keep all that they
    // may, or nothing.
    void simple() {
        const ImprovementHeuristic maker(pool_, stage_);
        const auto& bypasses = pool_.space.bypasses();
        for (int d = 0; d < stage_.geometry().dimensions; ++d) {
            const auto choice = filled_choice(stage_.geometry(), d);
            for (const auto* keep : {&bypasses.back(), &bypasses.front()}) {
                const auto mapping = choice ? maker.simple(*choice, *keep) : std::nullopt;
                if (mapping) {
                    consider(*mapping);
                }
            }
        }
    }
    void drawn() {
        std::size_t options = 0;
        for (const IndexFactors& factors : pool_.space.factors()) {
            options += factors.count;
        }
        if (options > most_options || pool_.space.factor_template() != FactorTemplate::uber) {
            return;
        }
        const StrategySpace space(pool_.space, pool_.model);
        StrategyWorker worker(space, pool_.model, pool_.objectives, pool_.hooks.cycle_s);
        search::Point point = space.any_point();
        int failed = 0;
        for (std::uint64_t i = 1; i <= draws && failed < most_failed && !pool_.over(); ++i) {
            if (worker.draw(base::mix(i), point).legal()) {
                consider(worker.mapping(point));
            } else {
                ++failed;
            }
        }
    }

    Pool& pool_;
    const Stage& stage_;
    std::optional<Mapping> best_;
    double value_ = HUGE_VAL;
};

}  // namespace

void find_first_mapping(Pool& pool, const Stage& stage) {
    Primal(pool, stage).run();
}

}  // namespace tessera::timeloop
