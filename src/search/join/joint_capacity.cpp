#include "joint_capacity.hpp"

#include <algorithm>

namespace tessera::search {

JointCapacity::JointCapacity(const OpenSpace::Data& space)
    : space_(space),
      outward_(space.einsums.size() * space.memories.size()),
      buffer_(static_cast<std::size_t>(space.n_tensors)),
      largest_(static_cast<std::size_t>(space.n_tensors) * space.einsums.size(), 0.0) {
    touched_.reserve(largest_.size());  // so that it never fails with `largest_` in use
}

int JointCapacity::root(int tensor) const {
    while (buffer_[tensor] != tensor) {
        tensor = buffer_[tensor];
    }
    return tensor;
}

/// Adds a reservation to all moments in which it is there. A fusable tensor counts once, at its
/// largest.
void JointCapacity::add(std::span<const Link> links, int einsum, const Reservation& r) {
    const int n = static_cast<int>(links.size());
    // Below `depth` loops that go on with its neighbours it outlives its Einsum.
    int first = einsum, last = einsum;
    while (first > 0 && links[first].way->plan.n_left > r.depth) {
        --first;
    }
    while (last + 1 < n && links[last + 1].way->plan.n_left > r.depth) {
        ++last;
    }
    const std::size_t memories = space_.memories.size();
    if (r.tensor < 0) {
        for (int now = first; now <= last; ++now) {
            outward_[now * memories + r.memory] += r.bits;
        }
        return;
    }
    first = std::min(first, space_.first_user[r.tensor]);
    last = std::max(last, space_.last_user[r.tensor]);
    const int base = root(r.tensor) * n;
    for (int now = first; now <= last; ++now) {
        double& largest = largest_[base + now];
        if (r.bits > largest) {
            outward_[now * memories + r.memory] += r.bits - largest;
            largest = r.bits;
            touched_.push_back(base + now);
        }
    }
}

void JointCapacity::sum_up(std::span<const Link> links) {
    std::fill(outward_.begin(), outward_.end(), 0.0);
    for (std::size_t t = 0; t < buffer_.size(); ++t) {
        buffer_[t] = static_cast<int>(t);
    }
    for (std::size_t e = 0; e < links.size(); ++e) {
        for (const auto& [tensor, other] : space_.einsums[e].buffers[links[e].pattern->structure]) {
            buffer_[tensor] = other;
        }
    }
    touched_.clear();
    for (std::size_t e = 0; e < links.size(); ++e) {
        for (const Reservation& r : links[e].reserved.outward) {
            add(links, static_cast<int>(e), r);
        }
    }
    for (const int i : touched_) {
        largest_[i] = 0.0;
    }
}

void JointCapacity::peaks(std::span<const Link> links, std::vector<Peak>& out) const {
    const std::size_t memories = space_.memories.size();
    out.assign(memories, {});
    for (std::size_t e = 0; e < links.size(); ++e) {
        for (std::size_t m = 0; m < memories; ++m) {
            const double bits = links[e].reserved.own[m] + outward_[e * memories + m];
            out[m] = bits > out[m].bits ? Peak{bits, e} : out[m];
        }
    }
}

bool JointCapacity::fits(std::span<const Link> links) {
    if (!known_) {
        sum_up(links);
        known_ = true;
    }
    const std::size_t memories = space_.memories.size();
    for (std::size_t e = 0; e < links.size(); ++e) {
        for (std::size_t m = 0; m < memories; ++m) {
            if (links[e].reserved.own[m] + outward_[e * memories + m] >
                space_.memories[m].size_bits) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace tessera::search
