// Rows of finished templates, kept for a run that goes on from here. They are the same whenever
// they are found: a search that takes them ends as one that explores their templates again.
#include <algorithm>

#include "explore.hpp"
#include "tessera/base/error.hpp"

namespace tessera::ffm {
namespace {

/// Numbers that are kept, at most: a checkpoint of some megabytes. It has to be written at a stop.
constexpr std::size_t most_values = 1'000'000;
/// Numbers that a template without rows counts for.
constexpr std::size_t values_of_entry = 4;

std::size_t values_of(const SavedRows& rows) {
    return values_of_entry + rows.tiles.size() + rows.objectives.size();
}

std::vector<double> key_of(const Incumbents& incumbents, const Incumbents* near,
                           double own_excess) {
    std::vector<double> out{incumbents.product ? 1.0 : 0.0, own_excess};
    for (const Incumbents* one : {&incumbents, near}) {
        out.push_back(one == nullptr ? 0.0 : static_cast<double>(one->points.size()));
        for (std::size_t p = 0; one != nullptr && p < one->points.size(); ++p) {
            out.insert(out.end(), one->points[p].begin(), one->points[p].end());
        }
    }
    return out;
}

}  // namespace

void Exploration::keep_rows(std::vector<SavedSearch> known, const std::function<void()>& save) {
    const auto objectives = static_cast<std::size_t>(c_.n_objectives());
    for (const SavedSearch& search : known) {
        for (const SavedRows& rows : search.rows) {
            const bool there = rows.einsum < spaces_.size() && explored(rows.einsum) &&
                               rows.index < spaces_[rows.einsum].templates->size();
            const std::size_t symbols =
                there ? (*spaces_[rows.einsum].templates)[rows.index].tmpl.symbols.size() : 0;
            const std::size_t n = rows.objectives.size() / objectives;
            if (!there || rows.objectives.size() != n * objectives ||
                rows.tiles.size() != n * symbols) {
                throw UserError("the saved state of mapper 'ffm' belongs to another problem");
            }
            kept_values_ += values_of(rows);
        }
    }
    kept_ = std::move(known);
    save_ = save;
}

std::vector<SavedSearch> Exploration::searches() const {
    const std::lock_guard lock(progress_lock_);
    return kept_;
}

void Exploration::forget_search() {
    const std::lock_guard lock(progress_lock_);
    if (save_ && !kept_.empty()) {
        for (const SavedRows& rows : kept_.back().rows) {
            kept_values_ -= values_of(rows);
        }
        kept_.pop_back();
    }
}

/// Whoever calls holds the lock.
void Exploration::forget_other_searches() {
    kept_.erase(kept_.begin(), kept_.end() - 1);
    kept_values_ = 0;
    for (const SavedRows& rows : kept_.back().rows) {
        kept_values_ += values_of(rows);
    }
}

/// What is kept of this search becomes the last one.
void Exploration::begin_search(const Incumbents& incumbents, const Incumbents* near,
                               double own_excess) {
    if (!save_) {
        return;
    }
    const std::lock_guard lock(progress_lock_);
    overflowed_ = false;
    const std::vector<double> key = key_of(incumbents, near, own_excess);
    const auto it = std::ranges::find(kept_, key, &SavedSearch::key);
    if (it == kept_.end()) {
        kept_.push_back({key, {}});
    } else {
        std::rotate(it, it + 1, kept_.end());
    }
    kept_at_.assign(spaces_.size(), {});
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        kept_at_[e].assign(explored(e) ? spaces_[e].templates->size() : 0, -1);
    }
    for (std::size_t k = 0; k < kept_.back().rows.size(); ++k) {
        const SavedRows& rows = kept_.back().rows[k];
        kept_at_[rows.einsum][rows.index] = static_cast<int>(k);
    }
}

/// The rows of a template that are known. False: none are.
bool Exploration::take_kept(std::size_t e, std::size_t i, Scratch& scratch) {
    if (!save_ || kept_at_[e][i] < 0) {
        return false;
    }
    TemplateEntry& t = (*spaces_[e].templates)[i];
    double evaluated = 0;
    {
        // Others append to it.
        const std::lock_guard lock(progress_lock_);
        const SavedRows& known = kept_.back().rows[static_cast<std::size_t>(kept_at_[e][i])];
        scratch.rows.tiles = known.tiles;
        scratch.rows.objectives = known.objectives;
        evaluated = known.evaluated;
    }
    scratch.rows.rows =
        scratch.rows.objectives.size() / static_cast<std::size_t>(c_.n_objectives());
    results_[e][i].evaluated += evaluated;
    evaluated_ += static_cast<std::uint64_t>(evaluated);
    t.tiles.clear();
    if (scratch.rows.rows > 0) {
        group_rows(e, i, c_.model->formulate(*c_.problem, *t.path, t.tmpl), scratch);
    }
    return true;
}

void Exploration::keep(std::size_t e, std::size_t i, const Scratch& scratch) {
    if (!save_) {
        return;
    }
    // Rows that no group has are dominated by others, which stay in their order.
    SavedRows found{e, i, scratch.result.statistics.enumerated, {}, {}};
    const std::size_t n = (*spaces_[e].templates)[i].tmpl.symbols.size();
    const auto objectives = static_cast<std::size_t>(c_.n_objectives());
    const auto used = static_cast<std::size_t>(
        std::count(scratch.in_groups.begin(),
                   scratch.in_groups.begin() + static_cast<std::ptrdiff_t>(scratch.rows.rows), 1));
    // To find few candidates again takes less time than to store many numbers.
    if (found.evaluated < static_cast<double>(used * (n + objectives))) {
        return;
    }
    found.tiles.reserve(used * n);
    found.objectives.reserve(used * objectives);
    const auto copy = [](const auto& from, std::size_t row, std::size_t width, auto& to) {
        const auto first = from.begin() + static_cast<std::ptrdiff_t>(row * width);
        to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(width));
    };
    for (std::size_t row = 0; row < scratch.rows.rows; ++row) {
        if (scratch.in_groups[row] != 0) {
            copy(scratch.rows.tiles, row, n, found.tiles);
            copy(scratch.rows.objectives, row, objectives, found.objectives);
        }
    }
    {
        const std::lock_guard lock(progress_lock_);
        if (kept_values_ + values_of(found) > most_values) {
            forget_other_searches();
        }
        if (kept_values_ + values_of(found) > most_values) {
            overflowed_ = true;
            return;
        }
        kept_values_ += values_of(found);
        kept_.back().rows.push_back(std::move(found));
    }
    if (c_.recorder->checkpoint_due()) {
        save_();
    }
}

}  // namespace tessera::ffm
