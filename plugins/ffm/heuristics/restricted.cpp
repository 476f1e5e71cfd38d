// Run::find_restricted(): mappings from smaller mapspaces, where overlaps bring so many templates
// that all of them take long.
#include <algorithm>

#include "../run.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {
namespace {

/// Of a limit in time, with what came before; and of each run, in seconds.
constexpr double share_of_unfused = 0.2, share_of_no_loops = 0.35, share_of_all = 0.5,
                 longest_s = 10;

}  // namespace

void Run::find_restricted() {
    const bool few = problem_.workload->index.nothing_overlaps || options_.mapspace.unfused;
    if (restricted_tried_ || few || silent_ || !scalar() || options_.budget.max_evals > 0 ||
        !context_.switches.restricted_mapspaces) {
        return;
    }
    restricted_tried_ = true;
    mapspace::MapSpaceOptions smaller = options_.mapspace;
    smaller.line_buffers = smaller.all_einsum_orders = false;
    if (!incumbent_.known()) {
        mapspace::MapSpaceOptions unfused = smaller;
        unfused.unfused = true;
        find_in(unfused, share_of_unfused, "without fusion");
    }
    if (options_.mapspace.max_fused_loops != 0) {
        mapspace::MapSpaceOptions no_loops = smaller;
        no_loops.max_fused_loops = 0;
        find_in(no_loops, share_of_no_loops, "without fused loops");
    }
    if (options_.mapspace.line_buffers) {
        find_in(smaller, share_of_all, "without line buffers");
    }
}

void Run::find_in(const mapspace::MapSpaceOptions& mapspace, double share,
                  const std::string& step) {
    const PhaseTimer timer(*this, "incumbent", step.c_str());
    mapper::Options o = options_within();
    o.mapspace = mapspace;
    o.budget.max_memory_bytes = options_.budget.max_memory_bytes;
    limit_until(share, 1, o.budget);
    const double limit_s = o.budget.max_time_s;
    o.budget.max_time_s = limit_s > 0 ? std::min(limit_s, longest_s) : longest_s;
    Run run(problem_, *context_.model, o);
    take_best_of(run, step);
}

}  // namespace tessera::ffm
