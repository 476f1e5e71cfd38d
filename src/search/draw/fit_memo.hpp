// The tile shapes nearest to given ones, remembered: moves from one point ask for the same again.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::search {

/// Whether tile shapes near others were found; none: there are no legal ones, near or far.
enum class Found : std::uint8_t { yes, given_up, none };

/// What tile shapes are looked for: those of a template, whose running loops have these trips, near
/// `target` (by symbol; 0: any).
struct Fit {
    std::size_t einsum = 0;
    std::uint32_t tmpl = 0, running = 0;
    const std::vector<std::int64_t>& trips;
    const std::vector<double>& target;
};

class FitMemo {
public:
    /// Depends on what was asked for alone.
    struct Entry {
        bool known = false;
        std::size_t einsum = 0;
        std::uint32_t tmpl = 0, running = 0;
        std::vector<std::int64_t> trips;
        std::vector<double> target;
        // The answer.
        Found found = Found::none;
        std::uint64_t work = 0;
        std::vector<double> values;
    };

    /// The entry of a question; if it is not known, its answer is to be filled in. Valid until the
    /// next call.
    Entry& of(const Fit& fit);

private:
    static constexpr std::size_t most_entries = 2048;
    std::vector<Entry> entries_;  // none before the first question
};

}  // namespace tessera::search
