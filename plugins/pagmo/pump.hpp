// An algorithm that calls, and a host that asks: turns taken between two threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tessera::search::pagmo_plugin {

/// The algorithm runs on a thread of its own and waits in cost() for what the host tells. Only one
/// of both runs at a time, so that they may share what they like.
class Pump {
public:
    Pump() = default;
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;
    ~Pump() {
        stop();
    }

    /// `algorithm` calls cost() again and again, and never returns by itself.
    void start(std::function<void()> algorithm) {
        stop();
        turn_ = Turn::algorithm;
        quit_ = false;
        thread_ = std::thread([this, run = std::move(algorithm)] {
            try {
                run();
            } catch (const Quit&) {
            } catch (const std::exception& error) {
                failure_ = error.what();
            }
            pass(Turn::over);
        });
    }

    /// Ends the algorithm: its call of cost() does not return.
    void stop() {
        if (!thread_.joinable()) {
            return;
        }
        settle();
        {
            const std::lock_guard lock(mutex_);
            quit_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    /// For the algorithm. \returns what the host answers
    double cost(const std::vector<double>& numbers) {
        std::unique_lock lock(mutex_);
        asked_ = numbers;
        turn_ = Turn::host;
        changed_.notify_all();
        changed_.wait(lock, [&] { return turn_ == Turn::algorithm || quit_; });
        if (quit_) {
            throw Quit{};
        }
        return answer_;
    }

    /// For the host: waits for the algorithm, `poll` now and then. Null: it has ended.
    template <class Poll>
    const std::vector<double>* asked(const Poll& poll) {
        constexpr std::chrono::milliseconds pause(20);
        std::unique_lock lock(mutex_);
        while (!changed_.wait_for(lock, pause, [&] { return turn_ != Turn::algorithm; })) {
            poll();
        }
        return turn_ == Turn::host ? &asked_ : nullptr;
    }
    /// Until the algorithm waits for the host.
    void settle() {
        asked([] {});
    }
    void answer(double cost) {
        answer_ = cost;
        pass(Turn::algorithm);
    }
    /// Once asked() gave null: why.
    const std::string& failure() const {
        return failure_;
    }

private:
    struct Quit {};
    enum class Turn : unsigned char { host, algorithm, over };

    void pass(Turn turn) {
        {
            const std::lock_guard lock(mutex_);
            turn_ = turn;
        }
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::thread thread_;
    Turn turn_ = Turn::over;
    bool quit_ = false;
    std::string failure_;
    std::vector<double> asked_;
    double answer_ = 0;
};

}  // namespace tessera::search::pagmo_plugin
