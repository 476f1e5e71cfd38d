// Paths of a problem's Einsums, built once, for those who split many LoopTrees.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/mapping/pmapping.hpp"

namespace tessera::mapping {

/// For one workload and architecture, and one thread.
class PathCache {
public:
    PathCache(const workload::Workload& workload, const arch::Architecture& architecture,
              arch::Compat compat)
        : workload_(workload), architecture_(architecture), compat_(compat) {}

    const arch::Path& of(int einsum, const std::string& compute) {
        const auto [at, fresh] = paths_.try_emplace({einsum, compute});
        if (fresh) {
            try {
                at->second = architecture_.path(workload_, einsum, compute, compat_);
            } catch (...) {
                paths_.erase(at);
                throw;
            }
        }
        return at->second;
    }

private:
    const workload::Workload& workload_;
    const arch::Architecture& architecture_;
    const arch::Compat compat_;
    std::map<std::pair<int, std::string>, arch::Path> paths_;
};

/// As split() of pmapping.hpp, with the paths of a cache that was made for the same problem.
std::vector<EinsumMapping> split(const Mapping& mapping, const workload::Workload& workload,
                                 const arch::Architecture& architecture, arch::Compat compat,
                                 PathCache& paths);

}  // namespace tessera::mapping
