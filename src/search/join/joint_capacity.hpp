// Whether the Einsums' reservations fit together (tessera/model/coexistence.hpp).
//
// While one Einsum runs, a memory holds what the Einsum keeps for itself; and of all Einsums what
// stands above loops that still turn, and the fusable tensors in their life. The second part is
// summed up anew only when an Einsum changes what others can see of it.
#pragma once

#include <span>
#include <vector>

#include "link.hpp"
#include "tessera/model/coexistence.hpp"

namespace tessera::search {

/// The most that a memory holds at a time, and which Einsum runs then.
struct Peak {
    double bits = 0;
    std::size_t einsum = 0;
};

/// Keeps its memory from point to point.
class JointCapacity {
public:
    explicit JointCapacity(const OpenSpace::Data& space);

    /// What others see of some Einsum has changed.
    void forget() {
        known_ = false;
    }
    /// `links`: all Einsums. What others see of them is as in the last call, unless forget() was
    /// called in between.
    bool fits(std::span<const Link> links);
    /// Of the links that fits() was called for, by memory.
    void peaks(std::span<const Link> links, std::vector<Peak>& out) const;

private:
    int root(int tensor) const;
    void sum_up(std::span<const Link> links);
    void add(std::span<const Link> links, int einsum, const Reservation& r);

    /// What Einsums hold of one buffer.
    struct Shared {
        int memory = 0;
        std::vector<model::SharedUse> uses;
    };

    const OpenSpace::Data& space_;
    bool reference_;  // whose sizes of shared tensors
    bool known_ = false;
    std::vector<double> outward_;  // per Einsum and memory
    std::vector<int> buffer_;      // per tensor: itself, or whose buffer it lies in
    std::vector<Shared> shared_;   // per tensor whose buffer it is
};

}  // namespace tessera::search
