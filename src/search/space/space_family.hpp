// Spaces of the same Einsums and architecture with other bounds.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tessera/search/open_space.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::search {

/// What a space opens others with, and those that it has opened. Any thread may ask.
struct OpenSpace::Family {
    Family(const model::CostModel& m, const OpenOptions& o) : model(m), options(o) {
        options.stop = nullptr;  // that of who asks
    }

    /// Null: nothing is legal there. \throws base::Stopped
    const OpenSpace* member(const model::Problem& problem, const std::vector<std::int64_t>& bounds);

    struct Member {
        workload::Workload workload;
        std::unique_ptr<OpenSpace> space;
    };
    const model::CostModel& model;
    OpenOptions options;
    std::mutex lock;
    std::map<std::vector<std::int64_t>, std::unique_ptr<Member>> members;
};

}  // namespace tessera::search
