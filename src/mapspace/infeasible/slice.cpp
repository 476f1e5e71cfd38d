#include "slice.hpp"

#include <ctime>

namespace tessera::mapspace::infeasible {
namespace {

constexpr auto period = std::chrono::milliseconds(2);

double cpu_now() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

Slice::Slice(double cpu_s)
    : outer_(base::current_stop().flag),
      thread_([this, end = cpu_now() + cpu_s](const std::stop_token& done) {
          while (!done.stop_requested() && !outer_stopped() && cpu_now() < end) {
              std::this_thread::sleep_for(period);
          }
          stop_.store(true);
      }) {}

}  // namespace tessera::mapspace::infeasible
