// One point of a sweep: its search, in the process that calls.
#pragma once

#include "cli/plugins/components.hpp"
#include "sweep_plan.hpp"
#include "tessera/mapper/mapper.hpp"

namespace tessera::cli {

struct SweepSearch {
    const api::ProblemFamily& family;
    const Components& components;
    const mapper::Options& settings;
    arch::Compat compat = arch::Compat::none;
    std::vector<std::string> start = {};  ///< files of mappings that every point begins with
};

/// The best mapping of a problem, after the model and the legality checker have seen it. What is
/// thrown becomes status `failed` with its message. Clocks and memory are left 0.
SweepOutcome search_point(const SweepSearch& search, const api::Choice& choice);

}  // namespace tessera::cli
