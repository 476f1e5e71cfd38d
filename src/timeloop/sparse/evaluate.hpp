// A sparse design's part of an evaluation.
#pragma once

#include "timeloop/model/machine.hpp"
#include "timeloop/model/nest_result.hpp"

namespace tessera::timeloop {

/// Replaces the dense figures of levels, arithmetic and totals, which `stats` has, by those of
/// `architecture.sparse`. \pre every data space is kept somewhere. \return why it does not fit; the
/// figures mean nothing then. \throws UserError for densities that do not fit their data spaces
Fit make_sparse(const Problem& problem, const Architecture& architecture, const Mapping& mapping,
                const ModelOptions& options, const Machine& machine, const NestResult& nest,
                Stats& stats);

/// describe() of a fit of a sparse design.
std::string describe_sparse(const Fit& fit, const Architecture& architecture);

}  // namespace tessera::timeloop
