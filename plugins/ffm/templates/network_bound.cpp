#include "network_bound.hpp"

#include "../run.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::ffm {

namespace {

constexpr std::size_t first_nodes = 10, last_nodes = 10000;
/// Of the time so far, and at least, in seconds.
constexpr double share_of_time = 0.12, shortest_s = 0.2, few_nodes_s = 0.002;

}  // namespace

NetworkBound::NetworkBound(const ExploreContext& context, const std::vector<EinsumSpace>& spaces)
    : c_(context),
      spaces_(spaces),
      least_(static_cast<std::size_t>(context.n_objectives())),
      nodes_(first_nodes) {
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        if (spaces[e].same == e) {
            searches_.try_emplace(e, context, spaces[e]);
        }
    }
}

double NetworkBound::raise(const std::function<bool()>& pauses) {
    for (; nodes_ <= last_nodes && !pauses(); nodes_ *= 3) {
        for (std::size_t q = 0; q < least_.size(); ++q) {
            for (auto& [e, search] : searches_) {
                if (search.applies()) {
                    least_[q][e] = search.least(q, nodes_, pauses);
                }
            }
        }
        if (pauses()) {
            break;  // these are to be gone on with
        }
    }
    double product = 1;
    for (std::map<std::size_t, double>& least : least_) {
        double sum = 0;
        for (const EinsumSpace& space : spaces_) {
            sum += least[space.same];
        }
        product *= sum;
    }
    return product;
}

void Run::bound_network() {
    const bool wanted = is_network() || !context_.switches.all_templates;
    if (!wanted || silent_ || !by_need_possible()) {
        return;
    }
    const PhaseTimer timer(*this, "class bounds", "Einsums");
    const base::StopScope scope({watch_.stop()});
    // Of other cascades, which tests alone ask for, a few nodes are enough.
    const double least_s = is_network() ? shortest_s : few_nodes_s;
    const double until = seconds_so_far() + std::max(least_s, share_of_time * seconds_so_far());
    try {
        if (!network_bound_) {
            network_bound_.emplace(context_, spaces_);
        }
        report_bound(network_bound_->raise([&] { return seconds_so_far() > until; }));
    } catch (const base::Stopped&) {  // a mapping is looked for even then
        network_bound_.reset();
    }
}

}  // namespace tessera::ffm
