// What tile shapes make of one Einsum, remembered: the join, joint capacities and sums are all that
// is left to do for an Einsum that has not changed since a point before.
#pragma once

#include <cstdint>
#include <vector>

#include "search/space_data.hpp"

namespace tessera::search {

class EinsumMemo {
public:
    /// Depends on template and tile shapes alone.
    struct Entry {
        std::uint32_t tmpl = 0;
        std::vector<std::int64_t> tiles;
        bool known = false;
        bool checked = false;  ///< the limits were evaluated
        Verdict verdict = Verdict::legal;
        int pattern = -1;                 ///< of a legal one: index into TemplateData::patterns
        std::vector<std::int64_t> trips;  ///< of the running fused loops, outermost first
        std::vector<double> costs;        ///< outputs of TemplateData::cost
    };

    explicit EinsumMemo(const OpenSpace::Data& space);

    /// Valid until the next call. `tiles`: as many as the template has symbols.
    const Entry& of(std::size_t einsum, std::uint32_t tmpl, const std::int64_t* tiles);

private:
    void fill(const TemplateData& t, Entry& entry);
    Verdict check(const TemplateData& t, Entry& entry);

    const OpenSpace::Data& space_;
    model::FormulaWorkspace workspace_;
    std::vector<double> values_, outputs_;
    std::vector<Entry> entries_;  // most_entries for each Einsum
};

}  // namespace tessera::search
