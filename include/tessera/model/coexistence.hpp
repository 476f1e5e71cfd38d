// What Einsums that run one after the other hold at the same time (docs/mapspace.md, section 4).
//
// Between two neighbours lie n shared loops. What an Einsum holds below d loops stays while its
// neighbour runs if d < n: it was allocated outside the shared loops. Persistent: d = -1. What
// several Einsums share is held once, from its first to its last user; what one copy Einsum backs
// in one memory is one buffer, but for persistent outputs beside a live input.
//   whole mappings   lifetime(), add_shared(), Buffers
//   one Einsum more  Appended, where of those before only sums by depth are known
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace tessera::model {

/// Einsums [first, last] in the order in which they run.
struct Lifetime {
    int first = 0, last = 0;

    bool has(int einsum) const {
        return first <= einsum && einsum <= last;
    }
};

/// Of what one of `n` Einsums holds below `depth` loops. `shared(i)`: loops around both Einsum i
/// and i + 1.
template <class Shared>
Lifetime lifetime(int einsum, int depth, int n, const Shared& shared) {
    Lifetime out{einsum, einsum};
    while (out.first > 0 && depth < shared(out.first - 1)) {
        --out.first;
    }
    while (out.last + 1 < n && depth < shared(out.last)) {
        ++out.last;
    }
    return out;
}

/// What one user holds of a buffer that several Einsums share.
struct SharedUse {
    Lifetime life;
    double bits = 0;
};

/// Bits of the buffer while an Einsum runs: of the largest user so far; by the reference's rule as
/// the first one sees it, and what others that live need more.
inline double shared_bits(std::span<const SharedUse> uses, int einsum, bool reference_sizes) {
    double largest = 0, living = 0;
    int times = 0;
    for (const SharedUse& use : uses) {
        largest = use.life.first <= einsum ? std::max(largest, use.bits) : largest;
        living += use.life.has(einsum) ? use.bits : 0;
        times += use.life.has(einsum) ? 1 : 0;
    }
    const double first = uses.front().bits;
    return !reference_sizes ? largest : times > 0 ? living - (times - 1) * first : first;
}

/// Calls `add(einsum, bits)` for every Einsum during which the buffer takes space. `uses`: of one
/// buffer, in the order in which they run; not empty.
template <class Add>
void add_shared(std::span<const SharedUse> uses, bool reference_sizes, const Add& add) {
    Lifetime whole = uses.front().life;
    for (const SharedUse& use : uses) {
        whole = {std::min(whole.first, use.life.first), std::max(whole.last, use.life.last)};
    }
    for (int einsum = whole.first; einsum <= whole.last; ++einsum) {
        add(einsum, shared_bits(uses, einsum, reference_sizes));
    }
}

/// Whose buffer a tensor lies in, by memory.
class Buffers {
public:
    void unite(const std::string& memory, int tensor, int other) {
        const int a = of(memory, tensor), b = of(memory, other);
        if (a != b) {
            whose_[{memory, std::max(a, b)}] = std::min(a, b);
        }
    }
    /// One tensor for all that lie in its buffer.
    int of(const std::string& memory, int tensor) const {
        for (auto at = whose_.find({memory, tensor}); at != whose_.end();
             at = whose_.find({memory, tensor})) {
            tensor = at->second;
        }
        return tensor;
    }

private:
    std::map<std::pair<std::string, int>, int> whose_;
};

/// An Einsum more, in one memory. By depth from -1 on: bits held at this depth or further out.
struct Appended {
    const double* before;  ///< by those before, as far as loops are open
    const double* own;     ///< by the Einsum
    const double* twice;   ///< of that: what was there before
    int open = 0;          ///< loops that are open before it

    /// By all together.
    double held(int depth) const {
        const int outside = std::min(depth, open);
        return before[outside] + own[depth] - twice[outside];
    }
    /// `peak` of finished branches below `depth` loops: what the Einsum holds further out coexists
    /// with them.
    double peak(double peak, int depth) const {
        return peak + own[depth - 1] - twice[depth - 1];
    }
};

}  // namespace tessera::model
