// What tile shapes make of one Einsum, remembered: the join, joint capacities and sums are all that
// is left to do for an Einsum that has not changed since a point before.
#pragma once

#include <cstdint>
#include <vector>

#include "search/space_data.hpp"

namespace tessera::search {

/// Bits that an Einsum reserves in a finite memory.
struct Reservation {
    int memory = 0;   ///< index into Data::memories
    int depth = 0;    ///< running fused loops above; -1: persistent
    int tensor = -1;  ///< buffer of a fusable tensor (global index), -1: the Einsum's own
    double bits = 0;

    bool operator==(const Reservation&) const = default;
};

/// Depends on template and tile shapes alone.
struct Reserved {
    std::vector<double> own;           ///< per memory: what no other Einsum can ever see
    std::vector<Reservation> outward;  ///< shared tensors, and what stands above a running loop
};

class EinsumMemo {
public:
    /// Depends on template and tile shapes alone.
    struct Entry {
        std::uint32_t tmpl = 0;
        std::vector<std::int64_t> tiles;
        bool checked = false;  ///< the limits were evaluated
        Verdict verdict = Verdict::legal;
        // Of a legal one:
        const Pattern* pattern = nullptr;
        std::vector<std::int64_t> trips;  ///< of the running fused loops, outermost first
        double energy_j = 0, latency_s = 0;
        Reserved reserved;
        bool known = false;  ///< all of the above; last, so that a copy knows it last
    };

    explicit EinsumMemo(const OpenSpace::Data& space);

    /// Valid until the next call. `tiles`: as many as the template has symbols.
    const Entry& of(std::size_t einsum, std::uint32_t tmpl, const std::int64_t* tiles);

private:
    void fill(const TemplateData& t, Entry& entry);
    Verdict check(const TemplateData& t, Entry& entry);
    void reserve(const TemplateData& t, Entry& entry) const;

    const OpenSpace::Data& space_;
    model::FormulaWorkspace workspace_;
    std::vector<double> values_, outputs_, costs_;
    std::vector<Entry> entries_;  // most_entries for each Einsum
};

}  // namespace tessera::search
