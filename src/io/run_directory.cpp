#include "io/run_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <vector>

#include "base/atomic_file.hpp"
#include "tessera/base/error.hpp"

namespace tessera::io {

namespace fs = std::filesystem;

namespace {

// Holds the files of a run that is being replaced.
constexpr const char* aside = ".replaced";

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
    throw UserError("-o " + path.string() + ": " + what);
}

bool is_scratch(const std::string& name) {
    return name.size() > 5 && name.front() == '.' && name.ends_with(".tmp");
}

/// Whether the folder holds nothing but what a run that was killed at once may have left.
bool is_bare(const fs::path& path) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
        if (!is_scratch(entry.path().filename().string())) {
            return false;
        }
    }
    return true;
}

/// What the folder holds, the run that is set aside left out.
std::vector<fs::path> entries(const fs::path& path) {
    std::error_code ignored;
    std::vector<fs::path> result;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
        if (entry.path().filename() != aside) {
            result.push_back(entry.path());
        }
    }
    return result;
}

void remove_scratch(const fs::path& path) {
    std::error_code ignored;
    for (const fs::path& file : entries(path)) {
        if (is_scratch(file.filename().string())) {
            fs::remove(file, ignored);
        }
    }
}

}  // namespace

RunDirectory::RunDirectory(fs::path path, Policy policy) : path_(std::move(path)), policy_(policy) {
    if (path_.filename().empty()) {
        path_ = path_.parent_path();  // "runs/a/"
    }
    if (path_.empty()) {
        fail(path_, "is no folder name");
    }
    std::error_code ignored;
    existed_ = fs::exists(fs::symlink_status(path_, ignored));
    if (!existed_) {
        return;
    }
    if (!fs::is_directory(path_, ignored)) {
        fail(path_, "exists and is no folder");
    }
    if (is_bare(path_)) {
        return;
    }
    if (!fs::exists(path_ / "run.json", ignored) && !fs::exists(path_ / aside, ignored)) {
        fail(path_, "exists and is no run of tessera (it has no run.json), so it is left alone");
    }
    const bool ended = fs::exists(path_ / "result.json", ignored) &&
                       !fs::exists(path_ / "checkpoint.json", ignored);
    state_ = ended ? State::finished : State::unfinished;
    if (policy_ == Policy::refuse) {
        fail(path_, state_ == State::finished
                        ? "exists; choose another folder, replace it with --force or keep it with "
                          "--skip-if-exists"
                        : "holds a run that did not end; go on with --resume, or replace it with "
                          "--force");
    }
    if (policy_ == Policy::skip && state_ == State::unfinished) {
        fail(path_,
             "holds a run that did not end; go on with --resume, or replace it with --force");
    }
}

RunDirectory::~RunDirectory() {
    try {
        if (opened_ && !finished_) {
            give_up();
        }
    } catch (const std::bad_alloc&) {  // what is there stays
    }
    if (lock_ >= 0) {
        ::close(lock_);
    }
}

void RunDirectory::open() {
    std::error_code failed;
    fs::create_directories(path_, failed);
    lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (failed || lock_ < 0) {
        fail(path_, "cannot be made: " + (failed ? failed.message() : std::strerror(errno)));
    }
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        fail(path_, "is being written by another process; watch it with `tessera top " +
                        path_.string() + "`");
    }
    opened_ = true;
    remove_scratch(path_);
    if (policy_ == Policy::replace && state_ != State::free) {
        set_aside();
        state_ = State::free;
    } else if (fs::exists(path_ / aside, failed)) {
        fs::remove_all(path_ / aside, failed);
    }
}

void RunDirectory::set_aside() {
    std::error_code failed;
    const std::vector<fs::path> files = entries(path_);
    if (fs::exists(path_ / aside, failed)) {
        // A replacement that was killed: what it made goes, what it was to replace stays aside.
        for (const fs::path& file : files) {
            fs::remove_all(file, failed);
        }
        return;
    }
    fs::create_directory(path_ / aside, failed);
    for (const fs::path& file : files) {
        fs::rename(file, path_ / aside / file.filename(), failed);
    }
}

void RunDirectory::give_up() {
    std::error_code ignored;
    if (keep_ || policy_ == Policy::resume || fs::exists(path_ / "mapping.yaml", ignored)) {
        fs::remove_all(path_ / aside, ignored);
        return;
    }
    for (const fs::path& file : entries(path_)) {
        fs::remove_all(file, ignored);
    }
    bring_back();
    if (!existed_) {
        fs::remove(path_, ignored);
    }
}

void RunDirectory::bring_back() {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_ / aside, ignored)) {
        fs::rename(entry.path(), path_ / entry.path().filename(), ignored);
    }
    fs::remove(path_ / aside, ignored);
}

void RunDirectory::write(const std::string& name, const std::string& content, bool durable) const {
    base::write_atomically(path_ / name, content, durable);
}

void RunDirectory::finish(const std::map<std::string, std::string>& files, bool ended) {
    for (const auto& [name, content] : files) {
        if (name != "result.json") {
            write(name, content, true);
        }
    }
    std::error_code ignored;
    for (const fs::path& file : entries(path_)) {  // mappings found on the way
        const std::string name = file.filename().string();
        const bool older = name.starts_with("mapping") || name == "stopped.json";
        if (older && files.count(name) == 0) {
            fs::remove(file, ignored);
        }
    }
    write("result.json", files.at("result.json"), true);
    finished_ = true;
    if (ended) {
        fs::remove(path_ / "checkpoint.json", ignored);
    }
    fs::remove_all(path_ / aside, ignored);
    remove_scratch(path_);
}

std::string RunDirectory::read(const std::string& name) const {
    return base::read_file(path_ / name);
}

}  // namespace tessera::io
