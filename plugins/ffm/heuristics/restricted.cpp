// Run::find_without_line_buffers(): a mapping from a smaller mapspace, where overlaps bring so many
// templates that all of them take long.
#include "../run.hpp"

namespace tessera::ffm {
namespace {

/// Of a limit in time, with what came before; and without one, in seconds.
constexpr double share_of_limit = 0.5, longest_s = 10;

}  // namespace

void Run::find_without_line_buffers() {
    if (restricted_tried_ || silent_ || !scalar() || options_.budget.max_evals > 0 ||
        !options_.mapspace.line_buffers || problem_.workload->index.nothing_overlaps ||
        !context_.switches.restricted_mapspaces) {
        return;
    }
    restricted_tried_ = true;
    const PhaseTimer timer(*this, "incumbent", "without line buffers");
    mapper::Options o = options_within();
    o.mapspace.line_buffers = o.mapspace.all_einsum_orders = false;
    o.budget.max_memory_bytes = options_.budget.max_memory_bytes;
    o.budget.max_time_s = longest_s;
    limit_until(share_of_limit, 1, o.budget);
    Run run(problem_, *context_.model, o);
    take_best_of(run, "without line buffers");
}

}  // namespace tessera::ffm
