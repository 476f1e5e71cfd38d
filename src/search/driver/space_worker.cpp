#include "tessera/search/space_worker.hpp"

namespace tessera::search {

void SpaceWorker::run(Candidate& c) {
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
