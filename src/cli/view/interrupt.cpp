#include "interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <iterator>

#include "base/terminal_restore.hpp"
#include "cli/cli.hpp"

namespace tessera::cli {

namespace {

// Only what POSIX allows inside a signal handler: lock-free atomics, alarm, _exit.
std::atomic<bool> stop_flag{false}, status_flag{false}, checkpoint_flag{false}, held{false};
std::atomic<int> interrupts{0}, first_signal{0};
constexpr int handled[] = {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGHUP};
struct sigaction before[std::size(handled)];

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void leave() {
    base::restore_terminal();
    ::_exit(ExitCode::interrupted);
}

void on_interrupt(int signal) {
    switch (interrupts.fetch_add(1)) {
        case 0:
            first_signal.store(signal);
            stop_flag.store(true);
            break;
        case 1:
            if (!held.load()) {
                ::alarm(1);
            }
            break;
        default:
            leave();
    }
}

void on_signal(int signal) {
    switch (signal) {
        case SIGALRM:
            if (!held.load()) {
                leave();
            }
            break;
        case SIGUSR1:
            status_flag.store(true);
            break;
        case SIGUSR2:
            checkpoint_flag.store(true);
            break;
        default:
            break;
    }
}

}  // namespace

Interrupt::Interrupt() {
    stop_flag = status_flag = checkpoint_flag = held = false;
    interrupts = first_signal = 0;
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < std::size(handled); ++i) {
        const bool interrupt = handled[i] == SIGINT || handled[i] == SIGTERM;
        action.sa_handler = interrupt ? on_interrupt : on_signal;
        ::sigaction(handled[i], &action, &before[i]);
    }
}

Interrupt::~Interrupt() {
    ::alarm(0);
    for (std::size_t i = 0; i < std::size(handled); ++i) {
        ::sigaction(handled[i], &before[i], nullptr);
    }
}

const std::atomic<bool>* Interrupt::stop() const {
    return &stop_flag;
}

bool Interrupt::happened() const {
    return stop_flag.load();
}

int Interrupt::count() const {
    return interrupts.load();
}

const char* Interrupt::cause() const {
    switch (first_signal.load()) {
        case SIGINT:
            return "Ctrl-C";
        case SIGTERM:
            return "SIGTERM";
        default:
            return "";
    }
}

void Interrupt::request_stop() {
    stop_flag.store(true);
}

bool Interrupt::take_status_request() {
    return status_flag.exchange(false);
}

bool Interrupt::take_checkpoint_request() {
    return checkpoint_flag.exchange(false);
}

void Interrupt::hold() {
    held.store(true);
    ::alarm(0);
}

}  // namespace tessera::cli
