#include "join_later.hpp"

#include <algorithm>

namespace tessera::mapspace::detail {
namespace {

// Sums of the same bits in another order may differ by rounding.
constexpr double slack = 1e-12;

}  // namespace

LaterHolders::LaterHolders(const std::vector<std::vector<PmappingGroup>>& groups, int memories) {
    for (const std::vector<PmappingGroup>& einsum : groups) {
        for (const PmappingGroup& g : einsum) {
            depths_ = std::max(depths_, g.n_loops() + 1);
        }
    }
    const auto n_depths = static_cast<std::size_t>(depths_);
    for (const std::vector<PmappingGroup>& einsum : groups) {
        std::vector<double> most(static_cast<std::size_t>(memories) * n_depths, 0.0);
        for (const PmappingGroup& g : einsum) {
            for (std::size_t r = 0; r < g.rows(); ++r) {
                // Who runs inside d open loops has d loops and adds what it holds above the last.
                for (int m = 0; m < memories; ++m) {
                    double* of_memory = &most[static_cast<std::size_t>(m) * n_depths];
                    for (int d = 0; d <= g.n_loops(); ++d) {
                        of_memory[d] =
                            std::max(of_memory[d], g.row(r)[g.occupancy_column(m, d - 1)]);
                    }
                }
            }
        }
        // By the time that it is added to, peak[d] may have become part of a lower one.
        for (int m = 0; m < memories; ++m) {
            double* of_memory = &most[static_cast<std::size_t>(m) * n_depths];
            for (int d = 1; d < depths_; ++d) {
                of_memory[d] = std::max(of_memory[d], of_memory[d - 1]);
            }
        }
        most_.push_back(std::move(most));
    }
}

LaterBits LaterHolders::outside(const EinsumSet& done) const {
    LaterBits out{depths_, {}};
    out.most.assign(most_.empty() ? 0 : most_.front().size(), 0.0);
    for (std::size_t e = 0; e < most_.size(); ++e) {
        for (std::size_t i = 0; !contains(done, e) && i < out.most.size(); ++i) {
            out.most[i] += most_[e][i];
        }
    }
    return out;
}

void settle_peaks(double* peak, int open, const LaterBits& later, int memory, double size_bits) {
    double deeper = 0;
    for (int d = open; d >= 0; --d) {
        const double more = later.at(memory, d);
        if (more == 0 || peak[d] + more <= size_bits * (1 - slack)) {
            peak[d] = deeper;
        }
        deeper = peak[d];
    }
}

}  // namespace tessera::mapspace::detail
