// Paths of a workload's Einsums on an architecture, each built once.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tessera/arch/architecture.hpp"

namespace tessera::arch {

/// Thread rule: of() may be called from several threads at once. The workload and the architecture
/// outlive this.
class Paths {
public:
    Paths(const workload::Workload& workload, const Architecture& architecture, Compat compat)
        : workload_(workload), architecture_(architecture), compat_(compat) {}

    /// As Architecture::path(); valid as long as this is. \throws UserError like it.
    const Path& of(int einsum, const std::string& compute);

    const workload::Workload& workload() const {
        return workload_;
    }
    const Architecture& architecture() const {
        return architecture_;
    }
    Compat compat() const {
        return compat_;
    }

private:
    const workload::Workload& workload_;
    const Architecture& architecture_;
    const Compat compat_;
    std::mutex lock_;
    std::map<std::pair<int, std::string>, Path> paths_;
};

}  // namespace tessera::arch
