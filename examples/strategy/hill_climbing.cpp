// Search strategy `hill_climbing`: moves to better neighbours of the best mapping, and begins anew
// from a random mapping when `patience` moves in a row were no better.
//   c++ hill_climbing.cpp $(pkg-config --cflags --libs tessera-plugin) -o tessera-hill_climbing.so
#include <tessera/plugin/search_strategy.hpp>

using namespace tessera;

namespace {

class HillClimbing : public search::SearchStrategy {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::integer("patience", 200, 1, 1000000, "moves",
                                      "moves without success before a new start")};
    }

    explicit HillClimbing(const plugin::KnobValues& knobs)
        : patience_(static_cast<std::uint64_t>(knobs.integer("patience"))) {}

    std::string name() const override {
        return "hill_climbing";
    }

    void start(const search::Space& space, std::uint64_t seed) override {
        n_einsums_ = space.n_einsums();
        seed_ = seed;
    }

    std::size_t ask(std::span<search::Candidate> batch) override {
        for (search::Candidate& candidate : batch) {
            search::Rng rng(search::stream_seed(seed_, proposed_++));
            candidate.seed = rng.next();
            candidate.how = search::Candidate::How::draw;
            if (here_.outcome.legal()) {
                candidate.how = search::Candidate::How::move;
                candidate.move = static_cast<search::Move>(rng.below(search::n_moves));
                candidate.point = here_.point;
                candidate.einsum = static_cast<std::uint32_t>(rng.below(n_einsums_));
            }
        }
        return batch.size();
    }

    void tell(std::span<const search::Candidate> batch) override {
        for (const search::Candidate& candidate : batch) {
            const bool better =
                candidate.outcome.legal() &&
                (!here_.outcome.legal() || candidate.outcome.value < here_.outcome.value);
            failures_ = better ? 0 : failures_ + 1;
            here_ = better ? candidate : here_;
        }
        if (failures_ >= patience_) {
            here_ = {};
            failures_ = 0;
        }
    }

private:
    std::uint64_t patience_, seed_ = 0, proposed_ = 0, failures_ = 0;
    std::uint32_t n_einsums_ = 1;
    search::Candidate here_;
};

TESSERA_PLUGIN(search::SearchStrategy, HillClimbing, "hill_climbing",
               "moves to better neighbours of the best mapping", "");
TESSERA_PLUGIN_LIBRARY("hill_climbing", "0.1", "", "", "example of a search strategy");

}  // namespace
