#include "base/directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "tessera/base/error.hpp"

namespace tessera::base {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
    throw UserError(path.string() + ": " + what);
}

[[noreturn]] void fail_by_system(const fs::path& path, const std::string& what, int reason) {
    fail(path, what + ": " + std::strerror(reason));
}

/// Closes a descriptor at the end.
class Descriptor {
public:
    explicit Descriptor(int value) : value_(value) {}
    ~Descriptor() {
        if (value_ >= 0) {
            ::close(value_);
        }
    }
    Descriptor(const Descriptor&) = delete;
    operator int() const {
        return value_;
    }
    int release() {
        return std::exchange(value_, -1);
    }

private:
    int value_;
};

bool is_regular(int parent, const std::string& name) {
    struct stat found {};
    return ::fstatat(parent, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(found.st_mode);
}

/// \pre the file is open without waiting, as a pipe would let it wait
std::string read_whole(int file, const fs::path& path) {
    struct stat found {};
    if (::fstat(file, &found) != 0) {
        fail_by_system(path, "cannot be read", errno);
    }
    if (!S_ISREG(found.st_mode)) {
        fail(path, "is no regular file; remove it");
    }
    std::string text;
    char piece[1 << 16];
    for (;;) {
        const ssize_t n = ::read(file, piece, sizeof piece);
        if (n < 0 && errno != EINTR) {
            fail_by_system(path, "cannot be read", errno);
        }
        if (n == 0) {
            return text;
        }
        text.append(piece, n > 0 ? static_cast<std::size_t>(n) : 0);
        if (text.size() > largest_file_bytes) {
            fail(path, "is larger than " + std::to_string(largest_file_bytes >> 20U) +
                           " MiB, so no run of tessera wrote it");
        }
    }
}

std::optional<std::string> read_at(int parent, const std::string& name, int flags,
                                   const fs::path& path, std::uint64_t from = 0) {
    const Descriptor file(
        ::openat(parent, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
    if (file >= 0) {
        if (from > 0 && ::lseek(file, static_cast<off_t>(from), SEEK_SET) < 0) {
            fail_by_system(path, "cannot be read", errno);
        }
        return read_whole(file, path);
    }
    if (errno == ENOENT || errno == ENOTDIR) {
        return std::nullopt;
    }
    if (errno == ELOOP || errno == ENXIO) {
        fail(path, "is no regular file; remove it");
    }
    fail_by_system(path, "cannot be read", errno);
}

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

/// A name that no other thread or process takes, recognised by RunDirectory.
std::string scratch_name(const std::string& name) {
    static std::atomic<unsigned> count{0};
    return "." + name + "." + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".tmp";
}

/// Sorted; `reason`: 0, or why it ended early. Closes the stream; null: errno says why.
std::vector<std::string> names_of(DIR* stream, int& reason) {
    std::vector<std::string> result;
    if (stream == nullptr) {
        reason = errno;
        return result;
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> open(stream, ::closedir);
    const auto next = [&] {
        errno = 0;
        return ::readdir(stream);
    };
    while (const dirent* const entry = next()) {
        const std::string name = entry->d_name;
        if (name != "." && name != "..") {
            result.push_back(name);
        }
    }
    reason = errno;
    std::sort(result.begin(), result.end());
    return result;
}

}  // namespace

std::vector<std::string> names_in(const fs::path& folder, std::error_code& failed) {
    int reason = 0;
    std::vector<std::string> names = names_of(::opendir(folder.c_str()), reason);
    failed.assign(reason, std::generic_category());
    return names;
}

std::optional<std::string> read_regular_file(const fs::path& path) {
    return read_at(AT_FDCWD, path.string(), 0, path);
}

Directory::Directory(const fs::path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) {
        fail_by_system(path, "cannot be opened", errno);
    }
}

Directory::Directory(const Directory& parent, const std::string& name)
    : path_(parent.path_ / name),
      descriptor_(::openat(parent.descriptor_, name.c_str(),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    if (descriptor_ < 0) {
        fail_by_system(path_, "cannot be opened as a folder", errno);
    }
}

Directory::Directory(Directory&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

Directory& Directory::operator=(Directory&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

Directory::~Directory() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

fs::path Directory::place() const {
    struct stat found {};
    if (::fstat(descriptor_, &found) != 0 || found.st_nlink == 0) {
        return {};
    }
    if (is_in_place()) {
        return path_;
    }
    std::error_code failed;
    return fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor_), failed);
}

bool Directory::is_in_place() const {
    struct stat held {
    }, named{};
    return ::fstat(descriptor_, &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

bool Directory::lock(bool exclusive) const {
    int code;
    do {
        code = ::flock(descriptor_, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB);
    } while (code != 0 && errno == EINTR);
    // A file system that has no locks: two runs in one folder are the user's to avoid.
    return code == 0 || errno != EWOULDBLOCK;
}

void Directory::unlock() const {
    ::flock(descriptor_, LOCK_UN);
}

std::vector<std::string> Directory::names() const {
    Descriptor own(::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* const stream = own >= 0 ? ::fdopendir(own) : nullptr;
    if (stream == nullptr) {
        return {};
    }
    own.release();
    int ignored = 0;
    return names_of(stream, ignored);
}

bool Directory::has(const std::string& name) const {
    struct stat found {};
    return ::fstatat(descriptor_, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<FileStamp> Directory::stamp(const std::string& name) const {
    struct stat found {};
    if (::fstatat(descriptor_, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(found.st_mode)) {
        return std::nullopt;
    }
    return FileStamp{found.st_ino, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

std::optional<std::string> Directory::read(const std::string& name, std::uint64_t from) const {
    return read_at(descriptor_, name, O_NOFOLLOW, path_ / name, from);
}

void Directory::write(const std::string& name, const std::string& content, bool durable) const {
    const std::string scratch = scratch_name(name);
    constexpr int how = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    Descriptor file(::openat(descriptor_, scratch.c_str(), how, 0666));
    if (file < 0) {
        fail_by_system(path_ / name, "cannot be written", errno);
    }
    bool good = write_all(file, content) && (!durable || ::fsync(file) == 0);
    int reason = errno;
    if (::close(file.release()) != 0 && good) {
        good = false;
        reason = errno;
    }
    if (good && ::renameat(descriptor_, scratch.c_str(), descriptor_, name.c_str()) != 0) {
        good = false;
        reason = errno;
    }
    if (!good) {
        ::unlinkat(descriptor_, scratch.c_str(), 0);
        fail_by_system(path_ / name, "cannot be written", reason);
    }
    if (durable) {
        ::fsync(descriptor_);  // the new name
    }
}

int Directory::open_to_append(const std::string& name) const {
    constexpr int how = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    Descriptor file(::openat(descriptor_, name.c_str(), how, 0666));
    if (file < 0 && errno != ELOOP && errno != EISDIR && errno != ENXIO) {
        fail_by_system(path_ / name, "cannot be written", errno);
    }
    struct stat found {};
    // A second name may be that of a file elsewhere.
    if (file < 0 || ::fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || found.st_nlink > 1) {
        fail(path_ / name, "is no regular file of its own; remove it");
    }
    return file.release();
}

bool Directory::move(const std::string& name, const Directory& to) const {
    return ::renameat(descriptor_, name.c_str(), to.descriptor_, name.c_str()) == 0;
}

bool Directory::remove(const std::string& name) const {
    return is_regular(descriptor_, name) && ::unlinkat(descriptor_, name.c_str(), 0) == 0;
}

bool Directory::make_folder(const std::string& name) const {
    return ::mkdirat(descriptor_, name.c_str(), 0777) == 0;
}

bool Directory::remove_folder(const std::string& name) const {
    return ::unlinkat(descriptor_, name.c_str(), AT_REMOVEDIR) == 0;
}

std::vector<fs::path> make_folders(const fs::path& path) {
    std::vector<fs::path> missing;
    fs::path prefix;
    for (const fs::path& part : path) {
        prefix /= part;
        std::error_code ignored;
        if (!missing.empty() && part == "..") {
            fail(path, "leads through " + missing.front().string() + ", which does not exist");
        }
        const bool named = !part.empty() && part != ".";
        if (named && (!missing.empty() || !fs::exists(prefix, ignored))) {
            missing.push_back(prefix);
        }
    }
    for (std::size_t made = 0; made < missing.size(); ++made) {
        if (::mkdir(missing[made].c_str(), 0777) != 0 && errno != EEXIST) {
            const int reason = errno;
            for (; made > 0; --made) {
                ::rmdir(missing[made - 1].c_str());
            }
            fail_by_system(path, "cannot be made", reason);
        }
    }
    return missing;
}

}  // namespace tessera::base
