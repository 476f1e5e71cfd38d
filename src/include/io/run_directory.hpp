// The folder of a run: it fills while the search runs. Every file appears whole or not at all. One
// process at a time writes to it, and writes to the folder that it locked, wherever that is moved.
// What others put into it is neither read nor removed.
//
//   free         nothing is there, or an empty folder
//   unfinished   the search was killed or interrupted, or still runs
//   finished     result.json is there, and no checkpoint.json
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/directory.hpp"

namespace tessera::io {

class RunDirectory {
public:
    enum class State { free, unfinished, finished };
    /// What may be done with a run that is there.
    enum class Policy {
        refuse,   ///< an error
        replace,  ///< --force: its files go when the new run has a result
        resume,   ///< --resume: an unfinished one goes on, a finished one stays as it is
        skip,     ///< --skip-if-exists: a finished one stays as it is
        share,    ///< --share: as resume, and other processes may write beside this one
    };
    /// A file that could not be written.
    struct Unwritten {
        std::string name, reason;
    };

    /// Looks only. \throws UserError if the policy does not allow what is there, if what is there
    /// is no run, or if another process writes to it.
    RunDirectory(std::filesystem::path path, Policy policy);
    /// A run that was begun and has found nothing disappears (a folder that was there before is
    /// left empty), and a run that it was to replace comes back.
    ~RunDirectory();
    RunDirectory(RunDirectory&&) = delete;

    State state() const {
        return state_;
    }
    /// Makes the folder and locks it. Files of an unfinished run stay if it is resumed. To be
    /// shared: a folder without a run is this process's alone until let_in(); else state() says
    /// what others have made of it by now. \throws UserError, naming the system's reason, or that
    /// another process writes to it
    void open();
    /// The description of the run is there: others may share the folder. \pre it is to be shared
    void let_in() const {
        folder_->lock(false);
    }
    /// One file, at once. \pre open
    void write(const std::string& name, const std::string& content, bool durable = false) const {
        folder_->write(name, content, durable);
    }
    /// All files of a result, which result.json is among: the mappings first, then result.json,
    /// drawings last. `ended`: nothing is left to go on with, so checkpoint.json goes, unless a
    /// file could not be written. \returns those; nothing that was found is removed then
    std::vector<Unwritten> finish(const std::map<std::string, std::string>& files, bool ended);
    /// Empty if there is no such file. \throws UserError if it is no regular one
    std::string read(const std::string& name) const;
    /// \pre open, or the state is not free
    const base::Directory& folder() const {
        return *folder_;
    }
    const std::filesystem::path& path() const {
        return path_;
    }

private:
    State look() const;
    void refuse_what_is_there() const;
    void open_shared();
    void set_aside();
    void drop_aside();
    void give_up();
    void bring_back();

    std::filesystem::path path_;
    const Policy policy_;
    State state_ = State::free;
    bool opened_ = false, finished_ = false, found_ = false;
    std::vector<std::filesystem::path> made_;  ///< folders, outermost first
    std::optional<base::Directory> folder_;
};

}  // namespace tessera::io
