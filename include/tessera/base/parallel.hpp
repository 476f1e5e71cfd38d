// Loops on several threads. Whoever searches with more than one thread starts them here.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tessera/base/stop.hpp"

namespace tessera::base {

/// work(index, thread): `thread` counts from 0, which is the caller's; each number is one thread at
/// a time, so that tools may be kept by it.
using LoopBody = std::function<void(std::size_t, int)>;

/// Threads that wait between loops. One thread calls for_each() at a time; it works along.
class Threads {
public:
    /// `n`: with the caller's. If the system gives fewer, those do the work.
    explicit Threads(int n);
    ~Threads();
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

    /// Calls work() once for every index below n. Indices are begun in ascending order; what work()
    /// stores by index is the same for any number of threads. All threads obey the caller's stop
    /// token, before every index and wherever work() polls.
    /// The first exception that is no Stopped ends the loop: no index is begun any more, those that
    /// run are stopped at their next poll, and it is rethrown here. A loop inside work() ends with it
    /// before its next index.
    /// \throws Stopped if the loop was stopped; what work() throws
    void for_each(std::size_t n, const LoopBody& work);

    int size() const {
        return static_cast<int>(helpers_.size()) + 1;
    }

private:
    void serve(int thread);
    void work_along(int thread);
    void failed(const std::exception_ptr& why);

    std::vector<std::thread> helpers_;
    std::mutex mutex_;
    std::condition_variable begin_, done_;
    std::size_t round_ = 0, busy_ = 0;
    bool quit_ = false;
    // The loop that runs.
    const LoopBody* work_ = nullptr;
    std::size_t n_ = 0;
    std::atomic<std::size_t> next_{0};
    StopToken outer_;                 ///< the caller's
    std::atomic<bool> ended_{false};  ///< by an exception
    std::exception_ptr failure_;      ///< the first that is no Stopped
    std::atomic<bool> stopped_{false};
};

/// The same with threads of its own, no more than there are indices.
void parallel_for(std::size_t n, int threads, const LoopBody& work);

}  // namespace tessera::base
