// What the processes of a sweep have found, and who searches what: the journals and the claims in
// the folder of the sweep.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/directory.hpp"
#include "sweep_plan.hpp"

namespace tessera::cli {

/// Journals of all processes: points.jsonl, and points-NAME.jsonl of those that share a sweep.
class SweepJournals {
public:
    /// What came since the last call. A line that is not whole yet waits.
    void read(const base::Directory& folder, std::vector<SweepOutcome>& outcomes);
    /// Of a process that shares: "points-HOST-PID-CHANCE.jsonl", each time another: hosts may have
    /// one name.
    static std::string own_name();

private:
    std::map<std::string, std::uint64_t> read_;  ///< bytes, by name
};

/// Points that a process searches are locked bytes of one file: the lock ends with the process,
/// also on network file systems.
class SweepClaims {
public:
    /// \throws UserError
    explicit SweepClaims(const base::Directory& folder);
    ~SweepClaims();
    SweepClaims(const SweepClaims&) = delete;
    SweepClaims& operator=(const SweepClaims&) = delete;

    /// False: another process has it. \throws UserError if locks fail for another reason
    bool take(std::size_t point);
    /// A lock that stays does no harm: the outcome of the point is in a journal.
    void drop(std::size_t point);
    /// True: this process has it.
    bool has(std::size_t point) const {
        return own_.contains(point);
    }

private:
    /// Why it failed, a number of the system; 0: it did not.
    int lock(std::size_t point, short kind) const;

    std::string path_;
    int file_ = -1;
    std::set<std::size_t> own_;
};

}  // namespace tessera::cli
