// Files whose text is known already: a run folder keeps its inputs as they were.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace tessera::spec {

/// While it lives, read_bytes() gives these texts in place of what the files hold now. Names are
/// absolute and normal.
/// Thread rule: made and destroyed while no other thread reads files; of several the last counts.
class KeptFiles {
public:
    explicit KeptFiles(std::map<std::string, std::string> texts);
    ~KeptFiles();
    KeptFiles(const KeptFiles&) = delete;
    KeptFiles& operator=(const KeptFiles&) = delete;

private:
    friend std::optional<std::string> kept_text(const std::string& path);
    const std::map<std::string, std::string> texts_;
    const KeptFiles* const outer_;
};

/// The text that is kept for a file, if one is.
std::optional<std::string> kept_text(const std::string& path);

/// Whether two texts of a file say the same: comments, blanks and the like do not count. False if
/// one cannot be read. `name`: of the file, which tells its format.
bool same_content(const std::string& a, const std::string& b, const std::string& name);

}  // namespace tessera::spec
