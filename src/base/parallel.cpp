#include "tessera/base/parallel.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace tessera::base {

Threads::Threads(int n) {
    try {
        helpers_.reserve(static_cast<std::size_t>(std::max(n, 1)) - 1);
        for (int thread = 1; thread < n; ++thread) {
            helpers_.emplace_back([this, thread] { serve(thread); });
        }
    } catch (const std::system_error&) {  // no more threads
    } catch (const std::bad_alloc&) {     // no memory for more
    }
}

Threads::~Threads() {
    {
        const std::lock_guard lock(mutex_);
        quit_ = true;
    }
    begin_.notify_all();
    for (std::thread& helper : helpers_) {
        helper.join();
    }
}

void Threads::for_each(std::size_t n, const LoopBody& work) {
    {
        const std::lock_guard lock(mutex_);
        work_ = &work;
        n_ = n;
        next_ = 0;
        outer_ = current_stop();
        ended_ = stopped_ = false;
        failure_ = nullptr;
        busy_ = helpers_.size();
        ++round_;
    }
    begin_.notify_all();
    work_along(0);
    {
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
    }
    if (failure_) {
        std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    if (stopped_) {
        throw Stopped{};
    }
}

void Threads::serve(int thread) {
    for (std::size_t seen = 0;;) {
        {
            std::unique_lock lock(mutex_);
            begin_.wait(lock, [&] { return quit_ || round_ != seen; });
            if (quit_) {
                return;
            }
            seen = round_;
        }
        work_along(thread);
        const std::lock_guard lock(mutex_);
        if (--busy_ == 0) {
            done_.notify_one();
        }
    }
}

void Threads::work_along(int thread) {
    StopToken token = outer_;
    token.abandoned = &ended_;
    const StopScope scope(token);
    try {
        for (std::size_t i = next_++; i < n_; i = next_++) {
            if (outer_.abandoned != nullptr && *outer_.abandoned) {
                throw Stopped{};  // a loop around this one
            }
            poll_stop();
            (*work_)(i, thread);
        }
    } catch (const Stopped&) {
        stopped_ = true;
    } catch (...) {
        failed(std::current_exception());
    }
}

void Threads::failed(const std::exception_ptr& why) {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
        failure_ = why;
    }
    ended_ = true;
}

void parallel_for(std::size_t n, int threads, const LoopBody& work) {
    Threads(
        static_cast<int>(std::min<std::size_t>(n, static_cast<std::size_t>(std::max(threads, 1)))))
        .for_each(n, work);
}

}  // namespace tessera::base
