#include "timeloop/mapper/walk.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "tessera/base/error.hpp"
#include "tessera/base/hash.hpp"

namespace tessera::timeloop {
namespace {

// Uniform below a bound. Bounds beyond 64 bits are drawn from two numbers, as Timeloop does.
class Dice {
public:
    Dice(Wide bound, std::uint64_t seed)
        : two_(bound > largest),
          low_(0, two_ || bound == 0 ? largest : static_cast<std::uint64_t>(bound - 1)),
          high_(0, two_ ? static_cast<std::uint64_t>(bound / largest - 1) : 0) {
        if (seed != 0) {
            engine_.seed(static_cast<std::default_random_engine::result_type>(seed));
        }
    }
    Wide roll() {
        const std::uint64_t low = low_(engine_);
        const std::uint64_t high = two_ ? high_(engine_) : 0;
        return low + static_cast<Wide>(high) * largest;
    }

private:
    static constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
    bool two_;
    std::default_random_engine engine_;
    std::uniform_int_distribution<std::uint64_t> low_, high_;
};

// A different stream per thread and axis; 0 stays 0, Timeloop's constant.
std::uint64_t stream(std::uint64_t seed, int thread, int axis) {
    if (seed == 0) {
        return 0;
    }
    const auto index = static_cast<unsigned>(thread * 4 + axis + 1);
    return base::mix(seed + base::golden_ratio * index) | 1;
}

// Draws index factors, permutation and split; runs through all bypasses of each draw.
class RandomWalk : public Walk {
public:
    RandomWalk(const MapperSettings& settings, MapSpaceView& view, int thread)
        : view_(view),
          factors_(view.factor_count(), stream(settings.seed, thread, 0)),
          permutations_(view.permutation_count(), stream(settings.seed, thread, 1)),
          splits_(view.split_count(), stream(settings.seed, thread, 2)),
          filter_(settings.filter_revisits),
          covered_(view.bypass_count()) {
        size_ = view.factor_count() * view.permutation_count() * view.split_count() *
                view.bypass_count();
        done_ = view.factor_count() == 0;
        id_.bypass = view.bypass_count() - 1;
    }
    bool next(MappingId& id) override {
        if (done_) {
            return false;
        }
        id_.bypass = id_.bypass + 1 == view_.bypass_count() ? 0 : id_.bypass + 1;
        if (covered_ == view_.bypass_count()) {
            if (!draw()) {
                return false;
            }
            covered_ = 0;
        }
        ++covered_;
        id = id_;
        return true;
    }
    void report(Outcome outcome) override {
        valid_ += outcome == Outcome::valid;
        done_ = done_ || valid_ >= size_;
    }

private:
    static constexpr int most_repeats = 10'000;

    // The axes draw from equal sequences, so that small mapspaces are never seen whole. False:
    // nothing new comes.
    bool draw() {
        for (int i = 0; i < most_repeats; ++i) {
            id_.factors = factors_.roll();
            id_.permutation = permutations_.roll();
            id_.split = splits_.roll();
            if (!filter_ || seen_.emplace(id_.factors, id_.permutation, id_.split).second ||
                seen_.size() * view_.bypass_count() >= size_) {
                return true;
            }
        }
        return false;
    }

    MapSpaceView& view_;
    Dice factors_, permutations_, splits_;
    bool filter_, done_ = false;
    MappingId id_;
    Wide covered_, valid_ = 0, size_ = 0;
    std::set<std::tuple<Wide, Wide, Wide>> seen_;
};

// Bypasses change fastest, then splits, permutations, index factors. What differs between the
// algorithms is the step from one permutation and from one index factorisation to the next.
class NestedWalk : public Walk {
public:
    NestedWalk(MapSpaceView& view, bool pruned) : view_(view), pruned_(pruned) {
        done_ = view.factor_count() == 0;
    }
    bool next(MappingId& id) override {
        id = id_;
        return !done_;
    }
    bool complete() const override {
        return done_;
    }
    bool left_out() const override {
        return left_out_;
    }
    void report(Outcome outcome) override {
        failed_ += outcome == Outcome::capacity;
        const bool last_bypass = id_.bypass + 1 == view_.bypass_count();
        if (last_bypass) {
            // The model rejects every bypass: tiles depend on index factors alone.
            if (failed_ == view_.bypass_count()) {
                id_.split = view_.split_count() - 1;
                skip_permutations();
            }
            failed_ = 0;
        }
        if (!last_bypass && outcome != Outcome::fanout) {
            ++id_.bypass;
            return;
        }
        id_.bypass = 0;
        if (id_.split + 1 < view_.split_count()) {
            ++id_.split;
            return;
        }
        id_.split = 0;
        if (!next_permutation()) {
            done_ = !next_factors();
        }
    }

protected:
    virtual bool next_permutation() {
        if (id_.permutation + 1 < view_.permutation_count()) {
            ++id_.permutation;
            return true;
        }
        id_.permutation = 0;
        return false;
    }
    virtual void skip_permutations() {
        id_.permutation = view_.permutation_count() - 1;
    }
    virtual bool next_factors() = 0;
    void enter(Wide factors) {
        id_.factors = factors;
        if (pruned_) {
            left_out_ = !view_.prune(factors) || left_out_;
        }
    }

    MapSpaceView& view_;
    MappingId id_;
    bool pruned_, done_ = false, left_out_ = false;

private:
    Wide failed_ = 0;
};

class LinearWalk : public NestedWalk {
public:
    LinearWalk(MapSpaceView& view, bool pruned) : NestedWalk(view, pruned) {
        if (!done_) {
            enter(0);
        }
    }

private:
    bool next_factors() override {
        if (id_.factors + 1 >= view_.factor_count()) {
            return false;
        }
        enter(id_.factors + 1);
        return true;
    }
};

class HybridWalk : public NestedWalk {
public:
    HybridWalk(const MapperSettings& settings, MapSpaceView& view, int thread)
        : NestedWalk(view, true),
          dice_(view.factor_count(), stream(settings.seed, thread, 0)),
          filter_(settings.filter_revisits) {
        if (!done_) {
            enter(0);
        }
    }

private:
    bool next_factors() override {
        Wide factors = dice_.roll();
        while (filter_ && !visited_.insert(factors).second) {
            if (visited_.size() == view_.factor_count()) {
                return false;
            }
            factors = dice_.roll();
        }
        enter(factors);
        return true;
    }
    Dice dice_;
    bool filter_;
    std::set<Wide> visited_;
};

class RandomPrunedWalk : public NestedWalk {
public:
    RandomPrunedWalk(const MapperSettings& settings, MapSpaceView& view, int thread)
        : NestedWalk(view, true),
          factors_(view.factor_count(), stream(settings.seed, thread, 0)),
          permutations_(view.permutation_count(), stream(settings.seed, thread, 1)),
          most_(settings.permutations) {
        if (!done_) {
            next_factors();
        }
    }

private:
    bool next_permutation() override {
        if (visited_ + 1 < to_visit_) {
            id_.permutation = permutations_.roll() % view_.permutation_count();
            ++visited_;
            return true;
        }
        return false;
    }
    void skip_permutations() override {
        visited_ = to_visit_ - 1;
    }
    bool next_factors() override {
        enter(factors_.roll());
        to_visit_ = std::max<Wide>(1, std::min<Wide>(most_, view_.permutation_count()));
        visited_ = 0;
        id_.permutation = permutations_.roll() % view_.permutation_count();
        return true;
    }
    Dice factors_, permutations_;
    Wide most_, to_visit_ = 1, visited_ = 0;
};

}  // namespace

std::unique_ptr<Walk> make_walk(Algorithm algorithm, const MapperSettings& settings,
                                MapSpaceView& view, int thread) {
    switch (algorithm) {
        case Algorithm::exhaustive:
            return std::make_unique<LinearWalk>(view, false);
        case Algorithm::linear_pruned:
            return std::make_unique<LinearWalk>(view, true);
        case Algorithm::hybrid:
            return std::make_unique<HybridWalk>(settings, view, thread);
        case Algorithm::random:
            return std::make_unique<RandomWalk>(settings, view, thread);
        case Algorithm::random_pruned:
            return std::make_unique<RandomPrunedWalk>(settings, view, thread);
        case Algorithm::optimal:
            break;
    }
    throw Bug("the optimal search is no walk over mapping ids");
}

}  // namespace tessera::timeloop
