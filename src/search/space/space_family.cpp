#include "space_family.hpp"

#include "search/space_data.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/with_bounds.hpp"

namespace tessera::search {

const OpenSpace* OpenSpace::Family::member(const model::Problem& problem,
                                           const std::vector<std::int64_t>& bounds) {
    const std::lock_guard guard(lock);
    if (const auto known = members.find(bounds); known != members.end()) {
        return known->second->space.get();
    }
    auto made = std::make_unique<Member>();
    if (auto workload = workload::with_bounds(*problem.workload, bounds)) {
        made->workload = std::move(*workload);
        model::Problem other = problem;
        other.workload = &made->workload;
        try {
            made->space = std::make_unique<OpenSpace>(other, model, options);
        } catch (const NoLegalMapping&) {  // none of this size
        } catch (const UserError&) {       // too many loops for a mapping at this size
        }
    }
    return members.emplace(bounds, std::move(made)).first->second->space.get();
}

std::vector<std::int64_t> OpenSpace::bounds() const {
    std::vector<std::int64_t> out;
    for (const workload::RankVariable& v : data().problem.workload->rank_variables) {
        out.push_back(v.bound);
    }
    return out;
}

const Space* OpenSpace::with_bounds(const std::vector<std::int64_t>& bounds) const {
    return bounds == this->bounds() ? this : family_->member(data().problem, bounds);
}

}  // namespace tessera::search
