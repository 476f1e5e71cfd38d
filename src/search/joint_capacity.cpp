#include "search/joint_capacity.hpp"

#include <algorithm>
#include <limits>

namespace tessera::search {

void JointCapacity::start() {
    shared_.clear();
    starts_.clear();
    all_.clear();
    if (buffer_.empty()) {
        for (int t = 0; t < space_.n_tensors; ++t) {
            buffer_.push_back(t);
        }
        largest_.assign(space_.n_tensors, 0.0);
    }
    for (const int t : aliased_) {
        buffer_[t] = t;
    }
    aliased_.clear();
}

void JointCapacity::add_einsum(int shared) {
    shared_.push_back(shared);
    starts_.push_back(all_.size());
}

void JointCapacity::add(const Reservation& reservation) {
    all_.push_back(reservation);
}

void JointCapacity::share_buffer(int tensor, int other) {
    buffer_[tensor] = other;
    aliased_.push_back(tensor);
}

int JointCapacity::root(int tensor) const {
    while (buffer_[tensor] != tensor) {
        tensor = buffer_[tensor];
    }
    return tensor;
}

/// All that is held while one Einsum runs: its own reservations, those of Einsums whose shared
/// loops are still turning, and every fusable tensor in its life, each once at its largest.
bool JointCapacity::fits_while(std::size_t now) {
    used_.assign(space_.memories.size(), 0.0);
    touched_.clear();
    const auto take = [&](std::size_t einsum, int loops) {
        const std::size_t end = einsum + 1 < starts_.size() ? starts_[einsum + 1] : all_.size();
        for (std::size_t i = starts_[einsum]; i < end; ++i) {
            const Reservation& r = all_[i];
            if (r.tensor < 0) {
                used_[r.memory] += r.depth < loops ? r.bits : 0.0;
                continue;
            }
            const bool alive = space_.first_user[r.tensor] <= static_cast<int>(now) &&
                               static_cast<int>(now) <= space_.last_user[r.tensor];
            if (!alive && r.depth >= loops) {
                continue;
            }
            double& largest = largest_[root(r.tensor)];
            if (largest == 0.0) {
                touched_.push_back(root(r.tensor));
            }
            if (r.bits > largest) {
                used_[r.memory] += r.bits - largest;
                largest = r.bits;
            }
        }
    };
    take(now, std::numeric_limits<int>::max());
    int loops = std::numeric_limits<int>::max();
    for (std::size_t e = now; e-- > 0;) {
        loops = std::min(loops, shared_[e + 1]);
        take(e, loops);
    }
    loops = std::numeric_limits<int>::max();
    for (std::size_t e = now + 1; e < starts_.size(); ++e) {
        loops = std::min(loops, shared_[e]);
        take(e, loops);
    }
    for (const int t : touched_) {
        largest_[t] = 0.0;
    }
    for (std::size_t m = 0; m < used_.size(); ++m) {
        if (used_[m] > space_.memories[m].size_bits) {
            return false;
        }
    }
    return true;
}

bool JointCapacity::fits() {
    for (std::size_t e = 0; e < starts_.size(); ++e) {
        if (!fits_while(e)) {
            return false;
        }
    }
    return true;
}

}  // namespace tessera::search
