// The surrogate that a search goes by: of a file, or trained on what the search itself has seen.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/learning/surrogate.hpp"
#include "tessera/search/state_text.hpp"
#include "tessera/search/strategy.hpp"
#include "tessera/search/vector.hpp"

namespace tessera::search::gradient {

/// Of one that is trained here.
struct OwnTraining {
    std::size_t samples = 1000;  ///< before the first training
    std::size_t again = 1000;    ///< mappings after which it is trained further; 0: never
    std::size_t epochs = 20;
    std::size_t width = 64;    ///< of its two hidden layers
    std::size_t problems = 0;  ///< others of the family that samples are of too
};

class Predictor {
public:
    /// `file`: empty: trained here. \throws UserError if the file is none, or of another family
    Predictor(const Space& space, const std::string& file, const OwnTraining& training,
              std::uint64_t seed);

    const VectorEncoding& encoding() const {
        return *encoding_;
    }
    const learning::Surrogate& surrogate() const {
        return *surrogate_;
    }
    /// What random mapping number `draw` is of, before it can predict; null: the problem itself.
    const Space* problem_of(std::uint64_t draw) const;
    /// Whether it can predict: else it needs more outcomes.
    bool ready() const {
        return own_.samples == 0 || trained_ > 0;
    }
    /// Samples of the file; the mappings that it was first trained on here.
    Preparation preparation() const {
        return {own_.samples == 0 ? surrogate_->samples() : 0, own_.samples == 0 ? 0 : first_};
    }
    /// log2 of what costs are measured by: the minimum, of a file; the best so far.
    double unit() const {
        return own_.samples == 0 ? 0 : best_;
    }
    /// A legal candidate's outcome. Forgotten if the surrogate is of a file.
    void learn(const Candidate& candidate);
    /// Trains if there is enough that is new. Polls the stop token.
    void train();

    /// What is trained here; nothing of a file. False: not the state of such a predictor.
    void save(StateWriter& out) const;
    bool restore(StateReader& in);

private:
    static constexpr std::size_t most_samples = 20000;  ///< the oldest are forgotten

    learning::Family open_others(const Space& space);

    OwnTraining own_;  ///< samples 0: of a file
    std::unique_ptr<VectorEncoding> encoding_;
    std::vector<const Space*> problems_;  ///< others
    std::map<const Space*, VectorEncoding> encodings_;
    std::unique_ptr<learning::Surrogate> surrogate_;
    learning::TrainingSet set_;
    std::size_t seen_ = 0, first_ = 0, trained_ = 0, rounds_ = 0;
    double best_ = std::numeric_limits<double>::infinity();
    std::uint64_t seed_;
};

}  // namespace tessera::search::gradient
