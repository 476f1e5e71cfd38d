#include "plugin/trust.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>
#include <vector>

namespace tessera::plugin {

namespace {

namespace fs = std::filesystem;

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    int number() const {
        return number_;
    }

private:
    int number_;
};

const struct stat& program() {
    static const struct stat found = [] {
        struct stat result {};
        ::stat("/proc/self/exe", &result);
        return result;
    }();
    return found;
}

bool trusted(uid_t owner) {
    return owner == 0 || owner == ::geteuid() || owner == program().st_uid;
}

bool above_program(const fs::path& folder) {
    static const fs::path self = [] {
        std::error_code ignored;
        return fs::read_symlink("/proc/self/exe", ignored);
    }();
    const fs::path relative = self.lexically_relative(folder);
    return !relative.empty() && *relative.begin() != "..";
}

std::string writers(const struct stat& found) {
    return (found.st_mode & S_IWOTH) != 0   ? "everybody"
           : (found.st_mode & S_IWGRP) != 0 ? "group " + std::to_string(found.st_gid)
                                            : "";
}

std::string chmod_of(const struct stat& found) {
    return std::string("chmod ") + ((found.st_mode & S_IWOTH) != 0 ? "go-w" : "g-w");
}

std::string foreign(const struct stat& found) {
    return "belongs to user " + std::to_string(found.st_uid) + ", neither you nor root";
}

/// What is opened, links excepted: `found` is of the link then.
Descriptor open_inside(const Descriptor& folder, const std::string& name, struct stat& found) {
    Descriptor opened(
        ::openat(folder.number(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (opened.number() < 0 || ::fstat(opened.number(), &found) != 0) {
        return Descriptor(-1);
    }
    return opened;
}

/// `last`: the folder that holds the plugins. Above it, the sticky bit (as of /tmp) keeps others
/// from renaming what is not theirs.
std::string judge_folder(const struct stat& found, const fs::path& path, bool last) {
    const std::string what = last ? "this folder" : "the folder " + path.string() + " above it";
    if (!trusted(found.st_uid)) {
        return what + " " + foreign(found) + "; move the plugins to a folder of your own";
    }
    const bool sticky = !last && (found.st_mode & S_ISVTX) != 0;
    if (const std::string who = writers(found); !who.empty() && !sticky) {
        return who + " may write to " + what + "; " + chmod_of(found) + " it";
    }
    return "";
}

}  // namespace

std::string distrust_of_folder(const std::string& given) {
    if (given.empty() || given[0] != '/') {
        return "a relative path means another folder wherever the program is started; give the "
               "path from / on";
    }
    fs::path path = "/", whole = fs::path(given).lexically_normal();
    if (!whole.has_filename()) {
        whole = whole.parent_path();
    }
    Descriptor folder(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat found {};
    ::fstat(folder.number(), &found);
    if (std::string reason = judge_folder(found, path, whole == path); !reason.empty()) {
        return reason;
    }
    for (const fs::path& name : whole.relative_path()) {
        path /= name;
        folder = open_inside(folder, name.string(), found);
        if (folder.number() < 0) {
            return path.string() + " cannot be opened";
        }
        if (S_ISLNK(found.st_mode)) {
            std::error_code failed;
            return path.string() + " is a symbolic link, which may lead elsewhere tomorrow; name " +
                   fs::canonical(whole, failed).string() + " itself";
        }
        if (!S_ISDIR(found.st_mode)) {
            return path.string() + " is no folder";
        }
        if (above_program(path)) {
            continue;
        }
        if (std::string reason = judge_folder(found, path, path == whole); !reason.empty()) {
            return reason;
        }
    }
    return "";
}

std::string distrust_of_found_file(const std::string& path) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) {
        return "it cannot be read";
    }
    if (S_ISLNK(found.st_mode)) {
        return "it is a symbolic link, which may lead elsewhere tomorrow; copy the file here, or "
               "load it with --plugin";
    }
    if (!trusted(found.st_uid)) {
        return "it " + foreign(found) + "; copy it yourself, or load it with --plugin";
    }
    const std::string who = writers(found);
    return who.empty() ? "" : who + " may write to it; " + chmod_of(found) + " it";
}

std::string distrust_of_named_file(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) {
        return "it cannot be read";
    }
    if ((found.st_mode & S_IWOTH) != 0) {
        return "everybody may write to it; chmod o-w it";
    }
    const fs::path folder = fs::path(path).parent_path();
    if (::stat(folder.c_str(), &found) == 0 && (found.st_mode & S_IWOTH) != 0 &&
        (found.st_mode & S_ISVTX) == 0) {
        return "everybody may write to its folder; chmod o-w " + folder.string();
    }
    return "";
}

}  // namespace tessera::plugin
