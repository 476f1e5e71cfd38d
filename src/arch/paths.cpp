#include "tessera/arch/paths.hpp"

namespace tessera::arch {

const Path& Paths::of(int einsum, const std::string& compute) {
    const std::lock_guard guard(lock_);
    const std::pair key(einsum, compute);
    auto at = paths_.find(key);
    if (at == paths_.end()) {
        at = paths_.emplace(key, architecture_.path(workload_, einsum, compute, compat_)).first;
    }
    return at->second;
}

}  // namespace tessera::arch
