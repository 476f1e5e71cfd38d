#include "kept_rows.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"

namespace tessera::ffm {
namespace {

/// Numbers that are kept, at most: a checkpoint of some megabytes. It has to be written at a stop.
constexpr std::size_t most_numbers = 1'000'000;
/// Numbers that a template without rows counts for.
constexpr std::size_t numbers_of_entry = 4;
/// Rows that a run may look at again: about half a second.
constexpr double most_passed_over = 8e6;

std::size_t numbers_of(const SavedRows& rows) {
    return numbers_of_entry + rows.tiles.size() + rows.objectives.size();
}

}  // namespace

KeptRows::KeptRows(Symbols symbols, std::size_t n_objectives)
    : symbols_(std::move(symbols)), n_objectives_(n_objectives) {}

void KeptRows::start(std::vector<SavedSearch> known) {
    n_numbers_ = 0;
    for (const SavedSearch& search : known) {
        for (const SavedRows& rows : search.rows) {
            const bool there =
                rows.einsum < symbols_.size() && rows.index < symbols_[rows.einsum].size();
            const std::size_t symbols = there ? symbols_[rows.einsum][rows.index] : 0;
            const std::size_t n = rows.objectives.size() / n_objectives_;
            if (!there || rows.objectives.size() != n * n_objectives_ ||
                rows.tiles.size() != n * symbols) {
                throw UserError("the saved state of mapper 'ffm' belongs to another problem");
            }
            n_numbers_ += numbers_of(rows);
        }
    }
    searches_ = std::move(known);
    started_ = true;
}

void KeptRows::begin(std::vector<double> key) {
    if (!started_) {
        return;
    }
    const std::lock_guard lock(lock_);
    overflowed_ = false;
    passed_over_ = 0;
    const auto it = std::ranges::find(searches_, key, &SavedSearch::key);
    if (it == searches_.end()) {
        searches_.push_back({std::move(key), {}});
    } else {
        std::rotate(it, it + 1, searches_.end());
    }
    at_.clear();
    for (const std::vector<std::size_t>& templates : symbols_) {
        at_.emplace_back(templates.size(), -1);
    }
    for (std::size_t k = 0; k < searches_.back().rows.size(); ++k) {
        const SavedRows& rows = searches_.back().rows[k];
        at_[rows.einsum][rows.index] = static_cast<int>(k);
    }
}

std::optional<SavedRows> KeptRows::take(std::size_t einsum, std::size_t index) const {
    if (!started_ || at_[einsum][index] < 0) {
        return std::nullopt;
    }
    const std::lock_guard lock(lock_);  // others append to it
    return searches_.back().rows[static_cast<std::size_t>(at_[einsum][index])];
}

bool KeptRows::worth_keeping(double evaluated, std::size_t n_numbers) {
    return evaluated >= static_cast<double>(n_numbers);
}

void KeptRows::keep(SavedRows&& rows) {
    const std::lock_guard lock(lock_);
    if (n_numbers_ + numbers_of(rows) > most_numbers) {
        forget_others();
    }
    if (n_numbers_ + numbers_of(rows) > most_numbers) {
        overflowed_ = true;
        return;
    }
    n_numbers_ += numbers_of(rows);
    searches_.back().rows.push_back(std::move(rows));
}

void KeptRows::pass_over(double evaluated) {
    const std::lock_guard lock(lock_);
    passed_over_ += evaluated;
}

bool KeptRows::overflowed() const {
    return overflowed_ || passed_over_ > most_passed_over;
}

void KeptRows::forget() {
    const std::lock_guard lock(lock_);
    if (started_ && !searches_.empty()) {
        for (const SavedRows& rows : searches_.back().rows) {
            n_numbers_ -= numbers_of(rows);
        }
        searches_.pop_back();
    }
}

std::vector<SavedSearch> KeptRows::all() const {
    const std::lock_guard lock(lock_);
    return searches_;
}

/// Whoever calls holds the lock.
void KeptRows::forget_others() {
    searches_.erase(searches_.begin(), searches_.end() - 1);
    n_numbers_ = 0;
    for (const SavedRows& rows : searches_.back().rows) {
        n_numbers_ += numbers_of(rows);
    }
}

}  // namespace tessera::ffm
