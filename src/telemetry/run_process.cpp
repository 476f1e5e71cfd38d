#include "telemetry/run_process.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <utility>

namespace tessera::telemetry {

namespace fs = std::filesystem;

namespace {

/// Whether the descriptor, as its fdinfo has it, holds an exclusive lock.
bool is_locked(const fs::path& fdinfo) {
    std::ifstream lines(fdinfo);
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("lock:", 0) == 0 && line.find(" FLOCK ") != std::string::npos &&
            line.find(" WRITE ") != std::string::npos) {
            return true;
        }
    }
    return false;
}

}  // namespace

Presence presence(const base::Directory& folder, int pid) {
    struct stat wanted {};
    if (pid <= 0 || ::fstat(folder.descriptor(), &wanted) != 0) {
        return Presence::gone;
    }
    const fs::path process = "/proc/" + std::to_string(pid);
    bool open = false;
    std::error_code failed;
    for (const std::string& name : base::names_in(process / "fd", failed)) {
        struct stat found {};
        if (::stat((process / "fd" / name).c_str(), &found) == 0 && found.st_dev == wanted.st_dev &&
            found.st_ino == wanted.st_ino) {
            if (is_locked(process / "fdinfo" / name)) {
                return Presence::writes;
            }
            open = true;
        }
    }
    return open || failed == std::errc::permission_denied ? Presence::unknown : Presence::gone;
}

RunProcess::RunProcess(RunProcess&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunProcess& RunProcess::operator=(RunProcess&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

RunProcess::~RunProcess() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

bool RunProcess::signal(int number) const {
    return ::syscall(SYS_pidfd_send_signal, descriptor_, number, nullptr, 0) == 0;
}

std::optional<RunProcess> run_process(int pid) {
    const int descriptor = pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1;
    return descriptor < 0 ? std::nullopt : std::optional<RunProcess>(descriptor);
}

}  // namespace tessera::telemetry
