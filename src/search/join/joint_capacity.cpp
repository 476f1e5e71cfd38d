#include "joint_capacity.hpp"

#include <algorithm>

namespace tessera::search {

JointCapacity::JointCapacity(const OpenSpace::Data& space)
    : space_(space),
      reference_(!space.problem.convention().exchange_by_tree),
      outward_(space.einsums.size() * space.memories.size()),
      buffer_(static_cast<std::size_t>(space.n_tensors)),
      shared_(buffer_.size()) {}

int JointCapacity::root(int tensor) const {
    while (buffer_[tensor] != tensor) {
        tensor = buffer_[tensor];
    }
    return tensor;
}

/// Adds a reservation to all moments in which it is there, or to those of its buffer.
void JointCapacity::add(std::span<const Link> links, int einsum, const Reservation& r) {
    const model::Lifetime life =
        model::lifetime(einsum, r.depth, static_cast<int>(links.size()),
                        [&](int i) { return links[i + 1].way->plan.n_left; });
    if (r.tensor >= 0) {
        Shared& shared = shared_[root(r.tensor)];
        shared.memory = r.memory;
        shared.uses.push_back({life, r.bits});
        return;
    }
    for (int now = life.first; now <= life.last; ++now) {
        outward_[now * space_.memories.size() + r.memory] += r.bits;
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
    for (Shared& shared : shared_) {
        shared.uses.clear();
    }
    for (std::size_t e = 0; e < links.size(); ++e) {
        for (const Reservation& r : links[e].reserved.outward) {
            add(links, static_cast<int>(e), r);
        }
    }
    for (const Shared& shared : shared_) {
        if (!shared.uses.empty()) {
            model::add_shared(shared.uses, reference_, [&](int now, double bits) {
                outward_[now * space_.memories.size() + shared.memory] += bits;
            });
        }
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
                arch::most_bits(space_.memories[m].size_bits)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace tessera::search
