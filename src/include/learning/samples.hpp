// Training samples: random legal mappings as vectors, and what they cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/learning/surrogate.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::learning {

/// What is predicted: energies by memory and tensor, usage, peaks, energy and latency; or the EDP
/// alone.
enum class Predicted : std::uint8_t { statistics, edp };

struct SampleOptions {
    Predicted predicted = Predicted::statistics;
    bool log = true;  ///< costs as log2
    mapspace::MapSpaceOptions mapspace;
};

/// Samples of several problems of a family, one after the other, with the family's layout.
struct Samples {
    Family family;
    std::vector<Output> outputs;
    TrainingSet raw;
    std::vector<std::size_t> per_problem;  ///< how many samples each problem has

    /// \throws UserError if they are of different families
    void append(const Samples& more);
    std::string bytes() const;
    /// \throws UserError as read_container()
    static Samples read(const std::string& bytes, const std::string& name);
};

/// `n` legal mappings drawn as search::Worker draws them. \throws NoLegalMapping, UserError as
/// OpenSpace; fewer than `n` samples if a draw finds none
Samples draw_samples(const model::Problem& problem, const model::CostModel& model,
                     const SampleOptions& options, std::size_t n, std::uint64_t seed);

}  // namespace tessera::learning
