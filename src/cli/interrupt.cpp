#include "cli/interrupt.hpp"

#include <unistd.h>
#include <csignal>

#include "cli/cli.hpp"

namespace tessera::cli {

namespace {

// Only what POSIX allows inside a signal handler: lock-free atomics, alarm, write, _exit.
std::atomic<bool> stop_flag{false};
std::atomic<int> count{0};
struct sigaction before_int, before_alarm;

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void say(const char* text, unsigned length) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, length);
}

void on_alarm(int) {
    ::_exit(ExitCode::interrupted);
}

void on_interrupt(int) {
    static constexpr char first[] = "\ntessera: stopping; Ctrl-C again to stop within a second\n";
    static constexpr char second[] = "\ntessera: stopping within a second\n";
    switch (count.fetch_add(1)) {
        case 0:
            stop_flag.store(true);
            say(first, sizeof first - 1);
            break;
        case 1:
            say(second, sizeof second - 1);
            ::alarm(1);
            break;
        default:
            ::_exit(ExitCode::interrupted);
    }
}

}  // namespace

Interrupt::Interrupt() {
    stop_flag = false;
    count = 0;
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, &before_int);
    action.sa_handler = on_alarm;
    ::sigaction(SIGALRM, &action, &before_alarm);
}

Interrupt::~Interrupt() {
    ::alarm(0);
    ::sigaction(SIGINT, &before_int, nullptr);
    ::sigaction(SIGALRM, &before_alarm, nullptr);
}

const std::atomic<bool>* Interrupt::stop() const {
    return &stop_flag;
}

bool Interrupt::happened() const {
    return stop_flag.load();
}

}  // namespace tessera::cli
