// Strategy `random`: independent random legal mappings.
//
// Idea    every candidate is a draw of the host: templates uniform among those that fit together,
//         tile shapes among those that can still be legal. The baseline of every comparison.
// State   the number of draws so far; draw i uses stream i of the seed.
// Stops   never by itself.
#include <string>

#include "tessera/plugin/search_strategy.hpp"

namespace tessera::search {

class RandomSearch : public SearchStrategy {
public:
    std::string name() const override {
        return "random";
    }

    void start(const Space&, std::uint64_t seed) override {
        seed_ = seed;
        drawn_ = 0;
    }

    std::size_t ask(std::span<Candidate> batch) override {
        for (Candidate& candidate : batch) {
            candidate.how = Candidate::How::draw;
            candidate.seed = stream_seed(seed_, drawn_++);
        }
        return batch.size();
    }

    void tell(std::span<const Candidate>) override {}

    std::string save() const override {
        return std::to_string(drawn_);
    }

    bool restore(const std::string& state) override {
        drawn_ = std::strtoull(state.c_str(), nullptr, 10);
        return true;
    }

private:
    std::uint64_t seed_ = 0;
    std::uint64_t drawn_ = 0;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, RandomSearch, "random",
               "independent random legal mappings", "");

}  // namespace tessera::search
