#include "telemetry/process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace tessera::telemetry {

double cpu_seconds() {
    rusage self{};
    ::getrusage(RUSAGE_SELF, &self);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(self.ru_utime) + seconds(self.ru_stime);
}

std::uint64_t resident_bytes() {
    unsigned long long total = 0, resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
        if (std::fscanf(file, "%llu %llu", &total, &resident) != 2) {
            resident = 0;
        }
        std::fclose(file);
    }
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t peak_resident_bytes() {
    rusage self{};
    ::getrusage(RUSAGE_SELF, &self);
    return static_cast<std::uint64_t>(self.ru_maxrss) * 1024;
}

}  // namespace tessera::telemetry
