// Run::find_early(): mappings while the class bounds take long.
#include <algorithm>
#include <cmath>

#include "../run.hpp"

namespace tessera::ffm {
namespace {

/// What is over earlier needs no such mapping. Class bounds of which more than a share is done by
/// then get some time more.
constexpr double first_s = 0.5, first_share = 0.25, at_last_s = 1;
/// The same after the class bounds.
constexpr double first_of_cutoffs_s = 1, first_simple_s = 0.5;
/// An incumbent so many times above a bound or a cutoff is one to be replaced first.
constexpr double far = 1.5;
/// It is gone on with when so many times as much time is over as when it ended.
constexpr double pause = 2;
/// It pauses as long again where more of the class bounds than this share is known.
constexpr double late_share = 0.5;
/// Of the sampling, and of what follows: at least, and as a share of the time so far.
constexpr double least_slice_s = 0.15, slice_share = 0.15;
/// In how many parts the classes of the best mapping so far are looked at.
constexpr int most_parts = 4;
constexpr std::size_t rows_of_early_join = 100, states_of_early_join = 100;

}  // namespace

double Run::seconds_so_far() const {
    const double wall_s = std::chrono::duration<double>(Clock::now() - start_).count();
    // On a busy machine less was done than the clock says.
    const double cpu_s = static_cast<double>(std::clock() - started_cpu_) / CLOCKS_PER_SEC;
    return std::min(wall_s, cpu_s / threads_);
}

bool Run::early_due(double done) const {
    // Without exact class bounds nothing waits for anything: that is how tests come here.
    const bool test = !context_.switches.exact_class_bounds;
    const double first = test ? 0 : class_bounds_known_ ? first_of_cutoffs_s : first_s;
    const double spent_s = seconds_so_far();
    const bool soon_over = !test && early_next_s_ == 0 && done > first_share && spent_s < at_last_s;
    const double next_s = early_next_s_ * (!test && done > late_share ? pause : 1);
    return spent_s >= std::max(next_s, first) && !soon_over && scalar() &&
           context_.switches.early_search && options_.budget.max_evals == 0 &&
           !options_.mapspace.partial_tiles();
}

bool Run::far_above(double bound) const {
    return scalar() && incumbent_.value() > far * bound;
}

void Run::replace_far_incumbent(double cutoff) {
    if (far_above(cutoff) && seconds_so_far() >= first_simple_s) {
        find_simple();
    }
    if (far_above(cutoff) && early_due(0) && !watch_.stopped()) {
        find_early();
    }
}

void Run::find_early() {
    const PhaseTimer timer(*this, "incumbent", "templates");
    const double slice_s = std::max(least_slice_s, slice_share * seconds_so_far());
    const auto after = [](double s) {
        return Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
    };
    if (!early_) {
        early_.emplace(exploration_->explorer, exploration_->class_bounds);
    }
    early_->sample(after(slice_s));
    bool more = true;
    for (int part = 0; part <= most_parts && more && !watch_.stopped(); ++part) {
        join_early();
        more = part < most_parts &&
               early_->explore(early_classes_, exploration_->class_bounds.relaxation() != nullptr,
                               after(slice_s / most_parts));
    }
    exploration_->explorer.clear_results();
    early_next_s_ = pause * seconds_so_far();
}

void Run::join_early() {
    early_->share_groups();
    const Groups few = thin(take_groups());
    mapspace::JoinOptions j = join_options();
    j.beam = rows_of_early_join;
    j.beam_states = states_of_early_join;
    j.completion_sums = 0;  // tables of completions take longer than they save here
    j.order = mapspace::EinsumOrder::file;
    j.stop = watch_.stop();
    if (std::isfinite(incumbent_.value())) {
        j.incumbents = {point_of(incumbent_.value())};
    }
    mapspace::JoinResult found = mapspace::join(*problem_.workload, few, context_.tracked, j);
    if (found.mappings.empty()) {
        return;
    }
    early_classes_.clear();
    for (const mapspace::JoinedEinsum& of : found.mappings.front().einsums) {
        const auto e = static_cast<std::size_t>(of.einsum);
        early_classes_.insert(
            {spaces_[e].same, (*spaces_[e].templates)[used(few, of).index].of_class});
    }
    offer(few, std::move(found), "early");
}

}  // namespace tessera::ffm
