// The space that is searched: that of templates, or that of the rows of pmapping tables.
#pragma once

#include <cstdint>
#include <memory>

#include "best.hpp"
#include "tessera/search/open_space.hpp"

namespace tessera::search {

class SearchedSpace {
public:
    virtual ~SearchedSpace() = default;
    virtual const Space& space() const = 0;
    virtual std::unique_ptr<SpaceWorker> make_worker() const = 0;
    virtual std::unique_ptr<PointWriter> make_writer() const = 0;
    /// Of pmapping tables; 0: there are none.
    virtual std::uint64_t table_rows() const {
        return 0;
    }
};

/// `open` must outlive it.
std::unique_ptr<SearchedSpace> space_of_templates(const OpenSpace& open);
/// That of templates for a model without formulas: `formulas`, with which `open` was opened, says
/// which points are legal, `judge` what they cost. All must outlive it.
std::unique_ptr<SearchedSpace> space_judged(const OpenSpace& open, const model::Problem& problem,
                                            const model::CostModel& formulas,
                                            const model::CostModel& judge);
/// See Tables. \throws UserError, LimitReached
std::unique_ptr<SearchedSpace> space_of_tables(const OpenSpace& open, const model::CostModel& model,
                                               const mapper::Options& options);

}  // namespace tessera::search
