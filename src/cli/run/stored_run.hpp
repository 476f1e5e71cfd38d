// Runs that are on disk: what they were told to do, and whether this is the same.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "base/directory.hpp"
#include "cli/arguments.hpp"
#include "io/json_text.hpp"
#include "spec/kept_files.hpp"
#include "tessera/base/budget.hpp"

namespace tessera::cli {

/// As a shell takes it for one word.
std::string shell_word(const std::string& word);

/// The limits that are set, for run.json.
io::Json limits_json(const base::Budget& budget);

/// -D, for run.json.
io::Json defines_json(const spec::Defines& defines);
/// -D as `defines` and, where there is any, --set as `settings`.
void put_given(io::Json& document, const Arguments& arguments);

/// run.json of a run directory. Whoever made the folder wrote it: it names what is computed, never
/// what code is loaded.
class StoredRun {
public:
    /// \throws UserError if it cannot be read
    explicit StoredRun(const base::Directory& folder);

    /// Its command's arguments, without -o and what says what to do with an existing folder.
    /// Options that `given` (arguments of the same sub-command) sets are left out too.
    /// `again`: the command that is given, for the message.
    /// \throws UserError if it used plugins, which `given` must name again
    std::vector<std::string> arguments(const options::Description& known,
                                       const std::vector<std::string>& given,
                                       const std::string& again) const;
    /// The folder it was started in.
    std::filesystem::path directory() const;
    /// Whether a run with this run.json would do the same: inputs, options, seed and version; not
    /// limits and threads. \throws UserError naming the difference and the remedy
    void check_same(const io::Json& now) const;

    /// The texts of its inputs that the folder keeps, by absolute path: those that are what the
    /// search read.
    const std::map<std::string, std::string>& kept() const {
        return kept_;
    }
    /// Inputs that these arguments of its sub-command name are read as they are now.
    void read_anew(const options::Description& known, const std::vector<std::string>& given);
    /// Inputs of which there is another text now than the folder keeps: a line each.
    std::vector<std::string> changed_inputs() const;

    /// Says on `err` whether this result is the stored one.
    void compare(const io::Json& result, std::ostream& err) const;

    /// Where it was read.
    std::string file() const {
        return (folder_ / "run.json").string();
    }

private:
    void check_form() const;
    void read_kept(const base::Directory& folder);
    std::string input_path(const io::ParsedJson& input) const;
    bool has_input(const io::ParsedJson& stored, const io::ParsedJson& now) const;

    std::filesystem::path folder_;
    io::ParsedJson json_;
    std::string result_;  ///< result.json; empty: none
    std::map<std::string, std::string> kept_;
};

/// While it lives, relative paths start elsewhere, and inputs have the texts that the run keeps.
class WorkingDirectory {
public:
    explicit WorkingDirectory(const StoredRun& run);
    ~WorkingDirectory();
    WorkingDirectory(const WorkingDirectory&) = delete;

private:
    std::filesystem::path before_;
    const spec::KeptFiles kept_;
};

/// `args` with the files that -o, --knobs and --plugin name made absolute.
std::vector<std::string> with_absolute(const std::vector<std::string>& args,
                                       const options::Description& known);

}  // namespace tessera::cli
