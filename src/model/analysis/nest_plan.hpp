// The structure of one pmapping's cost: where capacity is charged and which loops each tensor sees.
//
// Nothing here depends on tile shapes, so that one plan serves all fillings of a template.
//   reservations   a holder's capacity is charged below the loops that it can be pushed through
//   tensor nests   every tensor has its own loop nest: spatial loops stand above the first holder
//   of
//                  that tensor that lies inside the fan-out (or above the compute)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "path_tables.hpp"
#include "tessera/mapping/pmapping.hpp"

namespace tessera::model {

struct NestStep {
    enum class Kind : std::uint8_t { temporal, spatial, reservation, holder, compute };
    Kind kind = Kind::compute;
    workload::Relevancy relevancy = workload::Relevancy::irrelevant;  ///< loops
    std::int16_t node = 0;  ///< index into the pmapping; reservation: its holder
};

class NestPlan {
public:
    /// Keeps its memory: building again allocates nothing once it has been large enough.
    /// \throws IllegalMapping for two loops over one variable that a tensor sees in the wrong
    /// order, and for a copy Einsum with a loop between two holders of one memory.
    void build(const PathTables& tables, std::span<const mapping::PmappingNode> nodes);

    /// What tensor `t` sees, from the outermost node to the compute.
    std::span<const NestStep> tensor(int t) const {
        return {steps_.data() + begin_[t], steps_.data() + begin_[t + 1]};
    }
    /// The reservation of the holder at node `i` stands just before node `reservation_before(i)`.
    int reservation_before(int i) const {
        return reservation_[i];
    }
    /// Loops above the reservation of the holder at node `i`, in the pmapping's own order.
    int loops_above(std::span<const mapping::PmappingNode> nodes, int i) const;
    /// Copy Einsums stop at their last backing holder; nodes of later holders do not count.
    bool ignored(int i) const {
        return i >= first_ignored_;
    }
    /// Copy Einsums: where the input comes from, and whether data leave it.
    struct CopySource {
        int level = -1;  ///< of its backing holder
        bool live =
            false;  ///< other Einsums access it, for a while: what the copy makes persistent
                    ///< there has a buffer of its own (docs/mapspace.md, section 4)
        bool read = false;  ///< some output is not in its buffer

        /// In a buffer of its own, of what is backed at `other` level.
        bool apart(int other, bool persistent) const {
            return live && persistent && other == level;
        }
    };
    const CopySource& copy_source() const {
        return copy_source_;
    }

private:
    using Nodes = std::span<const mapping::PmappingNode>;
    void place_reservations(const PathTables& tables, Nodes nodes);
    void cut_copy(const PathTables& tables, Nodes nodes);
    void order_tensor(const PathTables& tables, Nodes nodes, int tensor);
    void add_loops_above(const PathTables& tables, Nodes nodes, int tensor, int begin, int end);
    void check_order(const PathTables& tables, Nodes nodes, int tensor);

    std::vector<NestStep> steps_;
    std::vector<int> begin_;
    std::vector<std::int16_t> reservation_;
    std::vector<std::int16_t> spatials_;  ///< node indices, outer to inner
    std::vector<char> placed_;            ///< spatials already in the current tensor's nest
    std::vector<std::int16_t> last_;      ///< per variable: last loop of the current nest
    int first_ignored_ = 0;
    CopySource copy_source_;
};

}  // namespace tessera::model
