// A matrix product as an Einsum writes it: which rank variables are M, K and L.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/workload/workload.hpp"

namespace tessera::fusecu_mapper {

/// Rank variables that stand for one rank of the product, by local index, with their sizes. Those
/// of size 1 are left out.
struct Group {
    std::vector<int> variables;
    std::vector<std::int64_t> sizes;

    std::int64_t size() const;  ///< product of the sizes
};

/// C[batch, M, L] = sum over K of A[batch, M, K] * B[batch, K, L]. An Einsum with one input has no
/// B, and L is empty: element by element, or a reduction over K.
struct Product {
    workload::EinsumView einsum;
    std::array<Group, 3> ranks;  ///< M, K, L
    Group batch;                 ///< in every tensor
    int a = -1, b = -1, c = -1;  ///< local tensors; b: -1 with one input

    /// Words of the tensor without rank `lacks` (0: B, 1: C, 2: A), one batch.
    std::int64_t words(std::size_t lacks) const;
    /// The tensor without that rank; -1: there is none.
    int tensor(std::size_t lacks) const {
        return lacks == 0 ? b : lacks == 1 ? c : a;
    }
};

/// \throws UserError naming the Einsum and what makes it no matrix product
Product read_product(const workload::Workload& workload, int einsum);

}  // namespace tessera::fusecu_mapper
