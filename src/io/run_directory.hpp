// The folder of a run: it fills while the search runs. Every file appears whole or not at all. One
// process at a time writes to it.
//
//   free         nothing is there, or an empty folder
//   unfinished   checkpoint.json is there: the search was killed or interrupted, or still runs
//   finished     result.json is there, and no checkpoint.json
#pragma once

#include <filesystem>
#include <map>
#include <string>

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
    };

    /// Looks only. \throws UserError if the policy does not allow what is there, or if what is
    /// there is no run.
    RunDirectory(std::filesystem::path path, Policy policy);
    /// A run that was begun and has neither result nor mapping disappears (a folder that was there
    /// before is left empty), and a run that it was to replace comes back.
    ~RunDirectory();
    RunDirectory(RunDirectory&&) = delete;

    State state() const {
        return state_;
    }
    /// Makes the folder and locks it. Files of an unfinished run stay if it is resumed.
    /// \throws UserError, naming the system's reason, or that another process writes to it
    void open();
    /// One file, at once. \pre open
    void write(const std::string& name, const std::string& content, bool durable = false) const;
    /// All files, result.json, which must be among them, last. `ended`: nothing is left to go on
    /// with, so checkpoint.json goes.
    void finish(const std::map<std::string, std::string>& files, bool ended);
    /// Empty if there is no such file.
    std::string read(const std::string& name) const;
    /// Keeps what is there although there is no result.
    void keep() {
        keep_ = true;
    }
    const std::filesystem::path& path() const {
        return path_;
    }

private:
    void set_aside();
    void give_up();
    void bring_back();

    std::filesystem::path path_;
    const Policy policy_;
    State state_ = State::free;
    bool existed_ = false, opened_ = false, finished_ = false, keep_ = false;
    int lock_ = -1;
};

}  // namespace tessera::io
