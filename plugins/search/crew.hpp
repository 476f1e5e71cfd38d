// Threads that evaluate a batch of candidates.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tessera/mapper/mapper.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/strategy.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::search {

/// Threads that work through the candidates of a batch; each candidate's outcome is independent of
/// who evaluates it. One thread calls evaluate() at a time; it works along.
class Crew {
public:
    Crew(const OpenSpace& space, int threads, const mapper::Options& options,
         telemetry::Recorder& recorder, const std::string& source);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// Fills the outcome of every candidate. Once the stop token is set the rest is left not
    /// evaluated. \throws what an evaluation throws.
    void evaluate(std::span<Candidate> batch);

    /// For the thread that calls evaluate().
    Worker& worker() {
        return *members_[0].worker;
    }

private:
    struct Member {
        std::unique_ptr<Worker> worker;
        telemetry::Worker* counters;
        std::exception_ptr failure;
    };

    void serve(std::size_t member);
    void work(Member& member);
    void evaluate(Candidate& c, Member& member) const;

    const mapper::Options& options_;
    std::vector<Member> members_;
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable begin_, done_;
    std::uint64_t round_ = 0;
    std::size_t busy_ = 0;
    bool quit_ = false;
    std::span<Candidate> batch_;
    std::atomic<std::size_t> next_{0};
};

}  // namespace tessera::search
