// Runs that are on disk: what they were told to do, and whether this is the same.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "io/report_json.hpp"
#include "tessera/search/budget.hpp"

namespace tessera::cli {

/// The limits that are set, for run.json.
io::Json limits_json(const search::Budget& budget);

/// run.json of a run directory.
class StoredRun {
public:
    /// \throws UserError if it cannot be read
    explicit StoredRun(const std::filesystem::path& folder);

    /// Its command's arguments, without -o and what says what to do with an existing folder.
    /// Options that `given` (arguments of the same sub-command) sets are left out too.
    std::vector<std::string> arguments(const options::options_description& known,
                                       const std::vector<std::string>& given) const;
    /// The folder it was started in.
    std::filesystem::path directory() const;
    /// Whether a run with this run.json would do the same: inputs, options, seed and version; not
    /// limits and threads. \throws UserError naming the difference and the remedy
    void check_same(const io::Json& now) const;

    /// Says on `err` whether this result is the stored one.
    void compare(const io::Json& result, std::ostream& err) const;

private:
    std::filesystem::path folder_;
    io::Json json_;
};

/// While it lives, relative paths start elsewhere.
class WorkingDirectory {
public:
    explicit WorkingDirectory(const std::filesystem::path& path);
    ~WorkingDirectory();
    WorkingDirectory(const WorkingDirectory&) = delete;

private:
    std::filesystem::path before_;
};

/// `args` with the value of option `name` made absolute.
std::vector<std::string> with_absolute(const std::vector<std::string>& args,
                                       const options::options_description& known,
                                       const std::string& name);

}  // namespace tessera::cli
