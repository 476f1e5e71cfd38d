// Small random mapping problems as YAML text, and the objects read from such text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "oracle/random.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::oracle {

/// One file that holds an `arch` and a `workload` section.
struct Instance {
    std::uint64_t seed = 0;
    std::string kind;  ///< what the workload looks like: "chain2", "residual", ...
    std::string yaml;
    mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();
};

/// The same seed gives the same text on every machine.
Instance random_instance(std::uint64_t seed);

/// For the preset `full`: more kinds of graphs, smaller bounds.
Instance random_full_instance(std::uint64_t seed);
/// Convolutions with residuals, in the preset `full`.
Instance random_residual_instance(std::uint64_t seed);

/// One to three Einsums below networks over several dimensions.
Instance random_network_instance(std::uint64_t seed);

/// One to three Einsums below two containers that stand right above each other.
Instance random_stacked_instance(std::uint64_t seed);

/// Cascades with running states of an iterative rank M: updates, states that a pair of Einsums
/// hands on, readers of the older, the newer and the last state.
Instance random_state_instance(std::uint64_t seed);

/// One or two Einsums with two on-chip memories and larger bounds: templates with many tile shapes.
Instance random_large_instance(std::uint64_t seed);

/// The problem with what it reads and does not make as persistent tensors.
std::string with_persistent_inputs(const std::string& yaml);

/// "[m, k]" or "{C: c, H: p + r}" with its ranks in the order of a random draw.
std::string shuffled_ranks(const std::string& projection, Random& order);

/// A problem read from text; the text passes through a temporary file that is removed again.
struct LoadedInstance {
    workload::Workload workload;
    std::unique_ptr<arch::Architecture> architecture;
    model::Problem problem;

    explicit LoadedInstance(const std::string& yaml,
                            arch::Compat compat = arch::Compat::accelforge);
    LoadedInstance(const LoadedInstance&) = delete;
    LoadedInstance& operator=(const LoadedInstance&) = delete;
};

}  // namespace tessera::oracle
