// Strategy `exhaustive`: every mapping of the space, for spaces small enough.
//
// Idea    the space's own enumeration: templates, ways to join, tile shapes, Einsum after Einsum.
// Stops   when all points are proposed; the best one is then optimal.
#include <memory>
#include <string>

#include "tessera/plugin/search_strategy.hpp"

namespace tessera::search {

class Exhaustive : public SearchStrategy {
public:
    std::string name() const override {
        return "exhaustive";
    }

    void start(const Space& space, std::uint64_t) override {
        points_ = space.enumerate();
        exhausted_ = false;
        proposed_ = 0;
    }

    std::size_t ask(std::span<Candidate> batch) override {
        std::size_t n = 0;
        while (n < batch.size() && !exhausted_) {
            batch[n].how = Candidate::How::point;
            if (points_->next(batch[n].point)) {
                ++n;
            } else {
                exhausted_ = true;
            }
        }
        proposed_ += n;
        return n;
    }

    void tell(std::span<const Candidate>) override {}

    bool exhausted() const override {
        return exhausted_;
    }
    bool ends() const override {
        return true;
    }

    std::string save() const override {
        return std::to_string(proposed_);
    }
    bool restore(const std::string& state) override {
        Point point;
        const std::uint64_t before = std::strtoull(state.c_str(), nullptr, 10);
        while (proposed_ < before && points_->next(point)) {
            ++proposed_;
        }
        return proposed_ == before;
    }

private:
    std::unique_ptr<Enumerator> points_;
    std::uint64_t proposed_ = 0;
    bool exhausted_ = false;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Exhaustive, "exhaustive",
               "every mapping of the space; proves the optimum of small ones", "");

}  // namespace tessera::search
