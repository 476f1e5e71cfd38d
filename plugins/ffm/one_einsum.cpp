// A problem of one Einsum, or what is left of a larger one: its order of steps. See best_first.hpp.
#include <algorithm>

#include "base/leave.hpp"
#include "heuristics/best_first.hpp"
#include "run.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::ffm {
namespace {

/// With fewer templates, none of them large, the class bounds are known sooner than the bounds of
/// all of them.
constexpr std::size_t many_templates = 64;
/// Before all templates are branched, every n-th is: the lower the incumbent, the less is
/// left of the others.
constexpr std::size_t sample_every = 16;
/// Boxes that are explored against one incumbent.
constexpr std::size_t first_round = 8, largest_round = 128;

}  // namespace

bool Run::best_first_applies() const {
    if (spaces_.size() != 1 || !scalar() || options_.mapspace.partial_tiles() ||
        !context_.switches.best_first) {
        return false;
    }
    // A search with partial tiles goes on from the class bounds of this one.
    return spaces_[0].templates->size() >= many_templates ||
           (outer_ == nullptr && has_large_templates());
}

/// False if it comes to nothing: no template has a legal row.
bool Run::search_best_first() {
    const base::StopScope scope({watch_.stop()});
    base::LeftOnStop<BestFirst> best_first(BestFirst(exploration_->explorer));
    BestFirst& boxes = *best_first;
    const auto better = [&] { return incumbent_.value() * (1 - rounding); };
    const auto take = [&](bool found, const char* step) {
        if (found) {
            join_simple(step);
        }
        base::poll_stop();
    };
    {
        const PhaseTimer timer(*this, "incumbent", "templates");
        take(boxes.local_search_templates(better()), "local-search");
        boxes.make_boxes(better(), sample_every);
        take(boxes.local_search_boxes(better()), "local-search");
    }
    {
        const PhaseTimer timer(*this, "class bounds", "templates");
        boxes.make_boxes(better(), 1);
        report_bound(std::min(incumbent_.value(), boxes.bound_of_rank(0)));
        say("class bounds: bound " + number(std::min(incumbent_.value(), boxes.bound_of_rank(0))) +
            ", " + std::to_string(boxes.n_boxes()) + " boxes are left");
    }
    const PhaseTimer timer(*this, "tile shapes", "boxes");
    take(boxes.local_search_boxes(better()), "local-search");
    std::size_t rank = 0;
    for (std::size_t round = first_round; boxes.bound_of_rank(rank) < better();
         round = std::min(2 * round, largest_round)) {
        take(boxes.explore_boxes(rank, round, better()), "tile shapes");
        rank += round;
        report_bound(std::min(incumbent_.value(), boxes.bound_of_rank(rank)));
    }
    if (!incumbent_.known()) {
        return false;
    }
    exhausted_ = true;
    finish_with_incumbent();
    return true;
}

}  // namespace tessera::ffm
