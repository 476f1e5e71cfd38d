#include "tessera/model/cost_model.hpp"

namespace tessera::model {

std::shared_ptr<arch::Paths> Problem::paths_or_new() const {
    const bool own = paths && &paths->workload() == workload &&
                     &paths->architecture() == architecture && paths->compat() == compat;
    return own ? paths : std::make_shared<arch::Paths>(*workload, *architecture, compat);
}

}  // namespace tessera::model
