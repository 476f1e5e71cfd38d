// What a comparison on many instances shows while it runs: one instance and seed at a time (a
// page), or one search by itself.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "field_results.hpp"
#include "telemetry/snapshot.hpp"

namespace tessera::cli {

/// Thread rule: one thread.
class FieldWatch {
public:
    /// `field` must outlive it; searches in `left` are still to run, others have their trials.
    FieldWatch(const Field& field, telemetry::RunIdentity run,
               const std::vector<std::size_t>& left);

    void started(std::size_t search);
    /// The state of a search that runs.
    void heard(std::size_t search, telemetry::Snapshot snapshot);
    /// Its trial is in the field. `line`: for the log.
    void ended(std::size_t search, const std::string& line);
    void stopping(const std::string& why);
    void finished(telemetry::RunState state) {
        state_ = state;
    }

    /// The page before (-1) or after (1). From the last one that has begun on, the page follows
    /// what runs.
    void turn_page(int by);
    /// Shows one search; nothing: the page again. Of a search that has not run, or ended long ago,
    /// nothing is known: the page is shown, and false returned.
    bool inspect(std::optional<std::size_t> search);

    /// What is to be shown: the inspected search, or the page.
    telemetry::Snapshot shown();
    telemetry::Snapshot page();

private:
    struct Page {
        std::size_t seed = 0, instance = 0;
    };
    Page page_of(std::size_t search) const;
    std::size_t number_of(const Page& page) const {
        return page.seed * field_.instances.size() + page.instance;
    }
    telemetry::ContenderView contender(std::size_t search) const;
    void add_contenders(telemetry::Snapshot& s, const Page& page) const;
    void add_totals(telemetry::Snapshot& s) const;

    const Field& field_;
    telemetry::RunIdentity run_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::set<std::size_t> wanted_;  ///< to run, or done
    std::set<std::size_t> running_;
    std::map<std::size_t, telemetry::Snapshot> heard_;
    std::vector<std::size_t> heard_ended_;  ///< of the ended searches in heard_, oldest first
    std::vector<telemetry::LogView> log_;
    std::size_t page_ = 0, newest_page_ = 0, done_ = 0;
    std::optional<std::size_t> inspected_;
    telemetry::RunState state_ = telemetry::RunState::running;
    std::string stop_reason_;
    std::uint64_t serial_ = 0;
};

}  // namespace tessera::cli
