#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tessera/base/error.hpp"

namespace tessera::base {

namespace {

bool write_all(int file, const std::string& content) {
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t n = ::write(file, content.data() + done, content.size() - done);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        done += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    return true;
}

}  // namespace

void write_atomically(const std::filesystem::path& path, const std::string& content, bool durable) {
    const std::filesystem::path scratch =
        path.parent_path() / ("." + path.filename().string() + ".tmp");
    const int file = ::open(scratch.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool good = file >= 0 && write_all(file, content) && (!durable || ::fsync(file) == 0);
    int reason = errno;
    if (file >= 0 && ::close(file) != 0 && good) {
        good = false;
        reason = errno;
    }
    if (good && std::rename(scratch.c_str(), path.c_str()) != 0) {
        good = false;
        reason = errno;
    }
    if (!good) {
        ::unlink(scratch.c_str());
        throw UserError(path.string() + ": cannot be written: " + std::strerror(reason));
    }
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return file ? text.str() : std::string();
}

}  // namespace tessera::base
