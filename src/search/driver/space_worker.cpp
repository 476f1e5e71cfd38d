#include "tessera/search/space_worker.hpp"

#include <utility>

namespace tessera::search {

void SpaceWorker::run(Candidate& c) {
    if (c.space != nullptr) {
        const Space* const space = std::exchange(c.space, nullptr);
        if (SpaceWorker* const other = worker_of(*space)) {
            other->run(c);
        } else {
            c.outcome = {};
            c.outcome.verdict = Verdict::no_point;
        }
        c.space = space;
        return;
    }
    switch (c.how) {
        case Candidate::How::draw:
            c.outcome = draw(c.seed, c.point);
            break;
        case Candidate::How::move:
            c.outcome = move(c.move, c.seed, c.einsum, c.point);
            break;
        case Candidate::How::cross:
            c.outcome = cross(c.seed, c.mate, c.einsum, c.end, c.point);
            break;
        case Candidate::How::repair:
            c.outcome = repair(c.seed, c.point);
            break;
        default:
            c.outcome = evaluate(c.point);
    }
}

}  // namespace tessera::search
