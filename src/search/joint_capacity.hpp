// Whether the Einsums' reservations fit together (docs/mapspace.md, section 4).
#pragma once

#include <vector>

#include "search/space_data.hpp"

namespace tessera::search {

/// One reservation of one Einsum of a point.
struct Reservation {
    int memory = 0;
    int depth = 0;    ///< running fused loops above; -1: persistent
    int tensor = -1;  ///< buffer of a fusable tensor (global index), -1: the Einsum's own
    double bits = 0;
};

/// Keeps its memory from point to point.
class JointCapacity {
public:
    explicit JointCapacity(const OpenSpace::Data& space) : space_(space) {}

    void start();
    /// The next Einsum runs inside `shared` loops of the one before.
    void add_einsum(int shared);
    void add(const Reservation& reservation);
    /// `tensor` lies in the buffer of `other`.
    void share_buffer(int tensor, int other);
    bool fits();

private:
    struct Buffer {
        int tensor = -1;
        int memory = 0;
        double bits = 0;
        bool persistent = false;
    };
    int root(int tensor) const;
    bool fits_while(std::size_t einsum);

    const OpenSpace::Data& space_;
    std::vector<int> shared_;          // with the Einsum before
    std::vector<std::size_t> starts_;  // first reservation of every Einsum
    std::vector<Reservation> all_;
    std::vector<int> buffer_;      // per tensor: itself, or whose buffer it lies in
    std::vector<int> aliased_;     // tensors whose entry of buffer_ is not themselves
    std::vector<double> used_;     // per memory
    std::vector<double> largest_;  // per tensor while one moment is summed up
    std::vector<int> touched_;
};

}  // namespace tessera::search
