// The tree search: select by upper confidence bound, expand one node, complete at random,
// propagate.
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "tessera/base/error.hpp"
#include "transfusion/tiling.hpp"

namespace tessera::transfusion {

namespace {

bool stopped(const std::atomic<bool>* stop) {
    return stop != nullptr && stop->load(std::memory_order_relaxed);
}

struct Node {
    std::vector<std::int64_t> choices;
    std::vector<std::unique_ptr<Node>> children;  ///< null: not visited yet
    int visits = 0;
    double rewards = 0;
    bool exhausted = false;  ///< every leaf below was visited
};

class Search {
public:
    Search(const Problem& problem, const TileSeekOptions& options,
           const std::function<double(const OuterTiles&)>& cost)
        : tilings_(problem), cost_(cost), options_(options), random_(options.seed) {
        result_.value = std::numeric_limits<double>::infinity();
    }

    TileSeekResult run() {
        std::unique_ptr<Node> root = node({});
        do {
            Prefix prefix;
            visit(*root, prefix);
        } while (result_.evaluations < options_.evaluations && !root->exhausted &&
                 !stopped(options_.stop));
        if (result_.best_at == 0 && stopped(options_.stop)) {
            throw LimitReached("TileSeek was stopped before it found legal outer tiles");
        }
        if (result_.best_at == 0) {
            throw NoLegalMapping("TileSeek: none of " + std::to_string(result_.evaluations) +
                                 " outer tiles gives a legal mapping");
        }
        result_.exhausted = root->exhausted;
        return result_;
    }

private:
    std::unique_ptr<Node> node(const Prefix& prefix) const {
        auto made = std::make_unique<Node>();
        if (prefix.size() < levels) {
            made->choices = tilings_.choices(prefix);
            made->children.resize(made->choices.size());
        }
        return made;
    }

    /// Goes down one level (at most five); returns the reward of the leaf that was reached.
    double visit(Node& at, Prefix& prefix) {
        double reward = 0;
        if (prefix.size() == levels) {
            reward = evaluate_leaf(prefix);
            at.exhausted = true;
        } else {
            const std::size_t chosen = select(at);
            prefix.push_back(at.choices[chosen]);
            std::unique_ptr<Node>& child = at.children[chosen];
            if (child) {
                reward = visit(*child, prefix);
            } else {
                child = node(prefix);
                reward = roll_out(*child, prefix);
            }
            at.exhausted = true;
            for (const auto& one : at.children) {
                at.exhausted = at.exhausted && one && one->exhausted;
            }
        }
        ++at.visits;
        at.rewards += reward;
        return reward;
    }

    double roll_out(Node& child, Prefix prefix) {
        child.exhausted = prefix.size() == levels;
        while (prefix.size() < levels) {
            const std::vector<std::int64_t> choices = tilings_.choices(prefix);
            prefix.push_back(choices[random_() % choices.size()]);
        }
        const double reward = evaluate_leaf(prefix);
        child.visits = 1;
        child.rewards = reward;
        return reward;
    }

    /// Unvisited choices first, at random; then the highest upper confidence bound.
    std::size_t select(const Node& at) {
        std::vector<std::size_t> fresh;
        for (std::size_t i = 0; i < at.children.size(); ++i) {
            if (!at.children[i]) {
                fresh.push_back(i);
            }
        }
        if (!fresh.empty()) {
            return fresh[random_() % fresh.size()];
        }
        std::size_t best = 0;
        double highest = -std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < at.children.size(); ++i) {
            const Node& child = *at.children[i];
            const double bound =
                child.rewards / child.visits +
                options_.exploration * std::sqrt(std::log(at.visits) / child.visits);
            if (!child.exhausted && bound > highest) {
                highest = bound;
                best = i;
            }
        }
        return best;
    }

    double evaluate_leaf(const Prefix& prefix) {
        const OuterTiles tiles = Tilings::tiles(prefix);
        const double value = cost_(tiles);
        ++result_.evaluations;
        if (value < result_.value) {
            result_.value = value;
            result_.tiles = tiles;
            result_.best_at = result_.evaluations;
        }
        return std::isinf(value) ? 0 : result_.value / value;
    }

    Tilings tilings_;
    const std::function<double(const OuterTiles&)>& cost_;
    TileSeekOptions options_;
    std::mt19937_64 random_;
    TileSeekResult result_;
};

class Enumeration {
public:
    Enumeration(const Problem& problem, Objective objective, const std::atomic<bool>* stop)
        : tilings_(problem), objectives_(problem, objective), stop_(stop) {}

    TileSeekResult run() {
        Prefix prefix;
        result_.exhausted = visit(prefix);
        return result_;
    }

private:
    /// Depth first through the tree; it has five levels. \returns false if it was stopped
    bool visit(Prefix& prefix) {
        if (prefix.size() == levels) {
            evaluate_leaf(Tilings::tiles(prefix));
            return !stopped(stop_);
        }
        for (const std::int64_t count : tilings_.choices(prefix)) {
            prefix.push_back(count);
            const bool more = visit(prefix);
            prefix.pop_back();
            if (!more) {
                return false;
            }
        }
        return true;
    }

    void evaluate_leaf(const OuterTiles& tiles) {
        const double value = objectives_.value(tiles);
        ++result_.evaluations;
        if (result_.evaluations == 1 || value < result_.value) {
            result_.value = value;
            result_.tiles = tiles;
            result_.best_at = result_.evaluations;
        }
    }

    Tilings tilings_;
    Objectives objectives_;
    const std::atomic<bool>* stop_;
    TileSeekResult result_;
};

}  // namespace

TileSeekResult tileseek(const Problem& problem, const TileSeekOptions& options) {
    Objectives objectives(problem, options.objective);
    return tileseek(problem, options,
                    [&](const OuterTiles& tiles) { return objectives.value(tiles); });
}

TileSeekResult tileseek(const Problem& problem, const TileSeekOptions& options,
                        const std::function<double(const OuterTiles&)>& cost) {
    return Search(problem, options, cost).run();
}

TileSeekResult enumerate_tiles(const Problem& problem, Objective objective,
                               const std::atomic<bool>* stop) {
    return Enumeration(problem, objective, stop).run();
}

}  // namespace tessera::transfusion
