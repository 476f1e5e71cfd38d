#include "tessera/search/space_worker.hpp"

#include <utility>

namespace tessera::search {

void SpaceWorker::run(Candidate& c) {
    SpaceWorker* const other = c.space != nullptr ? worker_of(*c.space) : this;
    if (other == this) {
        c.space = nullptr;  // said in the other way
    } else {
        const struct OfOther {  // also where a stop ends it
            Candidate& candidate;
            const Space* space;
            ~OfOther() {
                candidate.space = space;
            }
        } of_other{c, std::exchange(c.space, nullptr)};
        if (other != nullptr) {
            other->run(c);
        } else {
            c.outcome = {};
            c.outcome.verdict = Verdict::no_point;
        }
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
