// What one thread of a host needs to work on points of a space.
#pragma once

#include <array>
#include <cstdint>

#include "tessera/search/strategy.hpp"

namespace tessera::search {

/// Makes and evaluates points. Results depend on the arguments alone, never on what the worker did
/// before. What makes points polls the stop token (base::Stopped). One thread.
class SpaceWorker {
public:
    virtual ~SpaceWorker() = default;

    /// A random legal point. Its outcome has verdict no_point if none was found.
    virtual Outcome draw(std::uint64_t seed, Point& point) = 0;

    /// As Candidate::How says; `point` stays as it is if nothing legal was found (no_point).
    virtual Outcome move(Move move, std::uint64_t seed, std::uint32_t einsum, Point& point) = 0;
    virtual Outcome cross(std::uint64_t seed, const Point& mate, std::uint32_t einsum,
                          std::uint32_t end, Point& point) = 0;
    virtual Outcome repair(std::uint64_t seed, Point& point) = 0;

    /// Energy, latency and legality of a point.
    virtual Outcome evaluate(const Point& point) = 0;

    /// Attempts to make points since the last call that came to nothing, by verdict.
    using Failures = std::array<std::uint64_t, 9>;
    virtual Failures take_failures() = 0;

    /// How much work it has been to make and evaluate points since the last call, in units of about
    /// a microsecond. Depends on the arguments alone, as results do.
    virtual std::uint64_t take_work() = 0;

    /// What was asked of pmapping tables since the last call, as a share of the work that it was to
    /// make them (tessera/search/tables.hpp).
    virtual double take_charge() {
        return 0;
    }

    /// What a candidate asks for: its point and outcome. One of another space is made by the worker
    /// of that one; what take_work() and the like tell includes it.
    void run(Candidate& candidate);

protected:
    /// For a space of Space::with_bounds; this one for its own. Null: there is none.
    virtual SpaceWorker* worker_of(const Space& other) {
        static_cast<void>(other);
        return nullptr;
    }
};

}  // namespace tessera::search
