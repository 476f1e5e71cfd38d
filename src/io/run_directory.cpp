#include "io/run_directory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

#include "io/run_files.hpp"
#include "tessera/base/error.hpp"

namespace tessera::io {

namespace fs = std::filesystem;

namespace {

// Holds the files of a run that is being replaced.
constexpr const char* aside = ".replaced";

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
    throw UserError("-o " + path.string() + ": " + what);
}

/// Others hold their lock for a moment while they look, and so does a child of a writer that was
/// killed while it forked; who writes holds it to the end.
bool lock_soon(const base::Directory& folder, bool exclusive) {
    for (int attempt = 0; attempt < 20; ++attempt) {
        if (folder.lock(exclusive)) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

/// Whoever makes a run to be shared holds its folder alone for a moment.
template <class Try>
bool within_seconds(Try attempt) {
    constexpr auto patience = std::chrono::seconds(10);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!attempt()) {
        if (std::chrono::steady_clock::now() > until) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}

[[noreturn]] void fail_being_written(const fs::path& path) {
    fail(path,
         "is being written by another process; watch it with `tessera top " + path.string() + "`");
}

/// Folder `.replaced`, if it is one.
std::optional<base::Directory> aside_of(const base::Directory& folder) {
    try {
        return base::Directory(folder, aside);
    } catch (const UserError&) {
        return std::nullopt;
    }
}

std::vector<std::string> own_files(const base::Directory& folder) {
    return run_files(folder, run_description(folder));
}

void remove_own_files(const base::Directory& folder) {
    for (const std::string& name : own_files(folder)) {
        folder.remove(name);
    }
}

void move_own_files(const base::Directory& from, const base::Directory& to) {
    for (const std::string& name : own_files(from)) {
        from.move(name, to);
    }
}

void remove_scratch(const base::Directory& folder) {
    for (const std::string& name : folder.names()) {
        if (is_scratch(name)) {
            folder.remove(name);
        }
    }
}

/// Mappings first: they are what a search is for. A drawing can be made again.
int rank_of(const std::string& name) {
    if (name.ends_with(".svg")) {
        return 3;
    }
    const bool mapping = is_mapping(name) || name.ends_with(".mapping.yaml");
    return mapping ? 0 : name == "result.json" ? 1 : 2;
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
    if (!fs::exists(fs::symlink_status(path_, ignored))) {
        return;
    }
    if (!fs::is_directory(path_, ignored)) {
        fail(path_, "exists and is no folder");
    }
    folder_.emplace(path_);
    const auto lock = [&] { return folder_->lock(false); };
    if (!(policy_ == Policy::share ? within_seconds(lock) : lock_soon(*folder_, false))) {
        fail_being_written(path_);
    }
    state_ = look();
    folder_->unlock();
    refuse_what_is_there();
}

RunDirectory::State RunDirectory::look() const {
    const std::vector<std::string> names = folder_->names();
    if (std::all_of(names.begin(), names.end(), is_scratch)) {
        return State::free;
    }
    const std::optional<base::Directory> replaced = aside_of(*folder_);
    const ParsedJson description = run_description(*folder_);
    if (description.is_null() && (!replaced || run_description(*replaced).is_null())) {
        fail(path_,
             "exists and is no run of tessera (it has no run.json of one), so it is left "
             "alone");
    }
    for (const std::string& name : run_files(*folder_, description)) {
        if (!folder_->stamp(name)) {
            fail(path_, "its " + name + " is no regular file, so it is left alone; remove it");
        }
    }
    const bool ended = folder_->has("result.json") && !folder_->has("checkpoint.json");
    return ended ? State::finished : State::unfinished;
}

void RunDirectory::refuse_what_is_there() const {
    if (state_ == State::free || policy_ == Policy::replace || policy_ == Policy::resume ||
        policy_ == Policy::share) {
        return;
    }
    if (state_ == State::unfinished) {
        fail(path_, is_comparison(run_description(*folder_))
                        ? "holds a comparison that did not end and cannot be resumed; replace it "
                          "with --force, or choose another folder"
                        : "holds a run that did not end; go on with --resume, or replace it with "
                          "--force");
    }
    if (policy_ == Policy::refuse) {
        fail(path_,
             "exists; choose another folder, replace it with --force or keep it with "
             "--skip-if-exists");
    }
}

RunDirectory::~RunDirectory() {
    try {
        if (opened_ && !finished_) {
            give_up();
        }
    } catch (const std::bad_alloc&) {  // what is there stays
    }
}

void RunDirectory::open() {
    if (!folder_) {
        try {
            made_ = base::make_folders(path_);
        } catch (const UserError& error) {
            throw UserError(std::string("-o ") + error.what());
        }
        folder_.emplace(path_);
    }
    if (policy_ == Policy::share) {
        open_shared();
        return;
    }
    if (!lock_soon(*folder_, true)) {
        fail_being_written(path_);
    }
    if (!folder_->is_in_place() || look() != state_) {
        fail(path_, "was changed by another process in this moment; give the command again");
    }
    opened_ = true;
    remove_scratch(*folder_);
    if (policy_ == Policy::replace && state_ != State::free) {
        set_aside();
        state_ = State::free;
    } else {
        drop_aside();
    }
}

void RunDirectory::open_shared() {
    // Alone in a folder without a run: it is this process that begins. Else with others.
    const auto attempt = [&] {
        if (folder_->lock(true)) {
            state_ = look();
            return state_ == State::free || folder_->lock(false);
        }
        if (folder_->lock(false)) {
            state_ = look();
            if (state_ != State::free) {
                return true;
            }
            folder_->unlock();
        }
        return false;
    };
    if (!within_seconds(attempt) || !folder_->is_in_place()) {
        fail_being_written(path_);
    }
    opened_ = true;
}

void RunDirectory::set_aside() {
    if (aside_of(*folder_)) {
        // A replacement that was killed: what it made goes, what it was to replace stays aside.
        remove_own_files(*folder_);
        return;
    }
    folder_->make_folder(aside);
    if (const std::optional<base::Directory> replaced = aside_of(*folder_)) {
        move_own_files(*folder_, *replaced);
    }
}

void RunDirectory::drop_aside() {
    if (const std::optional<base::Directory> replaced = aside_of(*folder_)) {
        remove_own_files(*replaced);
        folder_->remove_folder(aside);
    }
}

void RunDirectory::give_up() {
    const bool kept = folder_->has("mapping.yaml") || (found_ && !folder_->has(aside));
    if (policy_ == Policy::share) {
        return;
    }
    if (kept || policy_ == Policy::resume) {
        drop_aside();
        return;
    }
    remove_own_files(*folder_);
    bring_back();
    if (!made_.empty() && folder_->is_in_place()) {
        for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
            ::rmdir(made->c_str());
        }
    }
}

void RunDirectory::bring_back() {
    if (const std::optional<base::Directory> replaced = aside_of(*folder_)) {
        move_own_files(*replaced, *folder_);
        folder_->remove_folder(aside);
    }
}

std::vector<RunDirectory::Unwritten> RunDirectory::finish(
    const std::map<std::string, std::string>& files, bool ended) {
    std::vector<std::string> names;
    for (const auto& [name, content] : files) {
        names.push_back(name);
    }
    std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
        return rank_of(a) < rank_of(b);
    });
    found_ = true;
    std::vector<Unwritten> unwritten;
    for (const std::string& name : names) {
        try {
            write(name, files.at(name), true);
        } catch (const UserError& error) {
            unwritten.push_back({name, error.what()});
        }
    }
    if (!unwritten.empty()) {
        return unwritten;
    }
    finished_ = true;
    for (const std::string& name : folder_->names()) {  // mappings found on the way
        if ((is_mapping(name) || name == "stopped.json") && files.count(name) == 0) {
            folder_->remove(name);
        }
    }
    if (ended) {
        folder_->remove("checkpoint.json");
    }
    drop_aside();
    remove_scratch(*folder_);
    return unwritten;
}

std::string RunDirectory::read(const std::string& name) const {
    return folder_->read(name).value_or("");
}

}  // namespace tessera::io
