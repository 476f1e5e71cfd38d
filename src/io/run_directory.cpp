#include "io/run_directory.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "tessera/base/error.hpp"

namespace tessera::io {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
    throw UserError("-o " + path.string() + ": " + what);
}

// A folder that disappears again unless it was moved away.
struct Scratch {
    fs::path path;
    ~Scratch() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

void write_file(const fs::path& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    file.close();
    if (!file) {
        fail(path, std::string("cannot be written: ") + std::strerror(errno));
    }
}

}  // namespace

RunDirectory::RunDirectory(fs::path path, bool force) : path_(std::move(path)) {
    if (path_.filename().empty()) {
        path_ = path_.parent_path();  // "runs/a/"
    }
    if (path_.empty()) {
        fail(path_, "is no folder name");
    }
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(path_, ignored))) {
        return;
    }
    if (!force) {
        fail(path_, "exists; choose another folder or replace it with --force");
    }
    const bool folder = fs::is_directory(path_, ignored);
    if (!folder || (!fs::is_empty(path_, ignored) && !fs::exists(path_ / "run.json", ignored))) {
        fail(path_,
             "exists and is no run of tessera (it has no run.json), so --force leaves it alone");
    }
}

void RunDirectory::write(const std::map<std::string, std::string>& files) const {
    std::error_code failed;
    const fs::path parent = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
    fs::create_directories(parent, failed);
    const std::string suffix = ".tmp-" + std::to_string(::getpid());
    const Scratch scratch{parent / ("." + path_.filename().string() + suffix)};
    const Scratch old{parent / ("." + path_.filename().string() + ".old" + suffix)};
    fs::remove_all(scratch.path, failed);
    if (!fs::create_directory(scratch.path, failed)) {
        fail(path_, "cannot be made: " + failed.message());
    }
    for (const auto& [name, content] : files) {
        write_file(scratch.path / name, content);
    }
    if (fs::exists(path_, failed)) {
        fs::rename(path_, old.path, failed);
    }
    fs::rename(scratch.path, path_, failed);
    if (failed) {
        std::error_code ignored;
        fs::rename(old.path, path_, ignored);
        fail(path_, "cannot be made: " + failed.message());
    }
}

}  // namespace tessera::io
