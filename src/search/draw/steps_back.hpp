// How far a chain of Einsums goes back where nothing follows.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tessera::search {

/// The Einsum before is drawn anew; then two, four and more of them, if that was in vain.
class StepsBack {
public:
    /// Nothing follows as number `einsum`: the one to go on with. False: it was tried often enough.
    bool from(std::size_t& einsum) {
        if (--left_ == 0) {
            return false;
        }
        back_ = einsum > furthest_ ? 1 : back_ * 2;
        furthest_ = std::max(furthest_, einsum);
        einsum -= std::min(back_, einsum);
        return true;
    }

private:
    int left_ = 64;
    std::size_t back_ = 1, furthest_ = 0;
};

}  // namespace tessera::search
