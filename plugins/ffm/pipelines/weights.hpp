// Weights of components for bounds of latency (docs/pipelines.md, section 6).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/model/cost_model.hpp"

namespace tessera::ffm {

/// By component; they add up to 1.
using Weights = std::map<std::string, double>;

/// Weights that add up to 1, one a column, with which the least weighted sum of a row is as large
/// as it can be (a matrix game). `rows`: not empty, of one length, not negative.
std::vector<double> best_weights(const std::vector<std::vector<double>>& rows);

/// Of computes, as if each Einsum kept all lanes of one of them busy and nothing else took time.
/// Empty where that says nothing. Any weights give a bound: these are a first guess.
Weights balanced_weights(const model::Problem& problem);

}  // namespace tessera::ffm
