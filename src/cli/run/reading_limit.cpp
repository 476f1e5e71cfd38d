#include "reading_limit.hpp"

#include <chrono>
#include <new>
#include <string>

#include "base/memory_reserve.hpp"
#include "base/reading_stop.hpp"
#include "tessera/base/error.hpp"
#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::cli {

void read_within(const base::Budget& limits, const std::function<void()>& read) {
    const telemetry::Recorder nothing_searched;
    const search::Watch watch(limits, nullptr, nothing_searched, false);
    const base::ReadingScope scope(
        {watch.stop(), std::chrono::steady_clock::now() + least_reading});
    try {
        read();
    } catch (const base::Stopped&) {
        const std::string reason = watch.reason();
        if (reason == base::out_of_memory) {
            throw std::bad_alloc();
        }
        throw LimitReached("--" + reason +
                           " was met while the inputs were read, before the search began; give "
                           "more, or a smaller workload");
    }
}

}  // namespace tessera::cli
