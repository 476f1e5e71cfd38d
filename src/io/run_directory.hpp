// The folder that a run leaves behind. It appears complete or not at all.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace tessera::io {

class RunDirectory {
public:
    /// Checks that `path` can be written later: it must not exist, or, with `force`, be an empty
    /// folder or an earlier run (it has a run.json), which write() will replace.
    /// \throws UserError
    RunDirectory(std::filesystem::path path, bool force);

    /// Writes all files (name -> content) into a folder beside the target and renames it at the
    /// end. \throws UserError naming the file and the system's reason; nothing is left behind then.
    void write(const std::map<std::string, std::string>& files) const;

    const std::filesystem::path& path() const {
        return path_;
    }

private:
    std::filesystem::path path_;
};

}  // namespace tessera::io
