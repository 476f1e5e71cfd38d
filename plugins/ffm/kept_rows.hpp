// Rows of finished templates, kept for a run that goes on from here. They are the same whenever
// they are found: a search that takes them ends as one that explores their templates again.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "saved.hpp"

namespace tessera::ffm {

/// Thread rule: any, but for start(), begin() and overflowed().
class KeptRows {
public:
    /// By Einsum: number of symbols of each of its templates; none for one that equals another.
    using Symbols = std::vector<std::vector<std::size_t>>;

    KeptRows(Symbols symbols, std::size_t n_objectives);

    /// From here on rows are kept. `known`: by an earlier run. \throws UserError if that was
    /// another problem
    void start(std::vector<SavedSearch> known);
    bool started() const {
        return started_;
    }
    /// A search begins that is bounded by `key`: rows are of it. It may be one that was begun
    /// before.
    void begin(std::vector<double> key);
    /// Of this search; none if they are not known.
    std::optional<SavedRows> take(std::size_t einsum, std::size_t index) const;
    /// Whether rows (of one template, so many numbers in all) took longer to find than to store.
    static bool worth_keeping(double evaluated, std::size_t n_numbers);
    /// There is room for some megabytes. If that is used up, those of other searches go first.
    void keep(SavedRows&& rows);
    /// They are quicker to find than to store: whoever goes on looks at so many again.
    void pass_over(double evaluated);
    /// A run that goes on from here has much of this search to do again.
    bool overflowed() const;
    /// Nobody will do this search again.
    void forget();
    std::vector<SavedSearch> all() const;

private:
    void forget_others();

    const Symbols symbols_;
    const std::size_t n_objectives_;
    bool started_ = false;
    mutable std::mutex lock_;
    std::vector<SavedSearch> searches_;  ///< the last one: that which was begun last
    std::vector<std::vector<int>> at_;   ///< which of its rows are of a template; -1: none
    std::size_t n_numbers_ = 0;          ///< in all of them
    bool overflowed_ = false;
    double passed_over_ = 0;  ///< rows looked at in templates that are not kept
};

}  // namespace tessera::ffm
