// Whether there is a mapping at all: of one Einsum alone, and of all together. Costs play no part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "constraints.hpp"
#include "mapspace/pmapping_tables.hpp"
#include "tessera/mapspace/join.hpp"

namespace tessera::mapspace::infeasible {

/// `unknown`: what is asked about is more than the search can take.
enum class Verdict : std::uint8_t { none, some, unknown };

/// Of a memory in all Einsums, in bits; no name: of none.
struct OtherSize {
    std::string memory = {};
    double bits = 0;
};

class Feasibility {
public:
    /// Keeps references. \throws UserError for an architecture that does not evaluate
    Feasibility(const model::Problem& problem, const model::CostModel& model,
                const MapSpaceOptions& options);

    std::size_t n_einsums() const {
        return paths_.size();
    }
    const std::vector<arch::Path>& paths(std::size_t einsum) const {
        return paths_[einsum];
    }
    const MapSpaceOptions& options() const {
        return options_;
    }

    /// Whether the Einsum has a pmapping. \throws base::Stopped, as all of these
    Verdict alone(std::size_t einsum, const NamedConstraints& dropped) const;
    /// Whether all Einsums have a mapping; with another size of a memory, if one is given.
    Verdict together(const NamedConstraints& dropped, const OtherSize& size = {}) const;

    /// Least bits that a pmapping of the Einsum needs in a memory, or instances of a dimension.
    std::optional<double> least_bits(std::size_t einsum, const NamedConstraints& dropped,
                                     const std::string& memory) const;
    std::optional<double> least_used(std::size_t einsum, const NamedConstraints& dropped,
                                     const std::string& level, const std::string& dim) const;

private:
    struct Case;
    struct Tools;
    template <class Look>
    Verdict each_template(std::size_t einsum, const NamedConstraints& dropped, Look&& look) const;
    bool may_have_rows(const Case& c, Tools& tools) const;
    bool has_rows(const Case& c, Tools& tools) const;
    template <class Take>
    std::optional<double> least(std::size_t einsum, const NamedConstraints& dropped,
                                Take&& take) const;
    Verdict join_all(const NamedConstraints& dropped, const OtherSize& size) const;

    const model::Problem& problem_;
    const model::CostModel& model_;
    MapSpaceOptions options_;
    std::vector<std::vector<arch::Path>> paths_;  ///< per Einsum, one for each compute
};

}  // namespace tessera::mapspace::infeasible
