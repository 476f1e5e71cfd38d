// What is done with every Einsum: by itself, or fused with the consumer of its output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tilings.hpp"

namespace tessera::fusecu_mapper {

/// Two products C = A B, E = C D of which C stays in the buffer. Local rank variables of the first
/// and of the second product.
struct Pair {
    int first = 0, second = 0;  ///< Einsums
    Group m, l;                 ///< ranks of C, as the first product names their variables
    Group m_second, l_second;   ///< the same, as the second does
    Group k, n;
    Group batch, batch_second;  ///< in the same order
    int a = -1, b = -1, c = -1;         ///< local tensors of the first product
    int d = -1, e = -1, c_second = -1;  ///< of the second
};

/// The pair that the output of `first` makes with its only consumer. Nothing, and in `why` the
/// reason: they are not of this kind.
std::optional<Pair> read_pair(const workload::Workload& workload,
                              const std::vector<Product>& products, int first, std::string& why);

struct Step {
    int first = 0;
    std::optional<Tiling> single;
    std::optional<Pair> pair;
    std::optional<FusedTiling> fused;  ///< with `pair`
    std::int64_t traffic_words = 0;    ///< all batches
};

struct Settings {
    Rule rule = Rule::exact;
    fusecu::FuseRule fuse = fusecu::FuseRule::exact;
    fusecu::Capacity capacity = fusecu::Capacity::shared;
    bool partial = false;
};

struct Plan {
    std::vector<Step> steps;  ///< in an order of execution
    std::vector<std::string> reasons;  ///< a line per Einsum: what was chosen, and why
};

/// The plan of least traffic: which Einsums to fuse in pairs is found by dynamic programming over
/// the forest of single consumers. \throws NoLegalMapping if a product does not fit
Plan best_plan(const workload::Workload& workload, const std::vector<Product>& products,
               std::int64_t buffer_words, const Settings& settings);

}  // namespace tessera::fusecu_mapper
