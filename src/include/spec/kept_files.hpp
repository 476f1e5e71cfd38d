// Files whose text is known already: a run folder keeps its inputs as they were, and a file that is
// read twice may have been changed between.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace tessera::spec {

/// One name for all spellings of a file, which need not exist.
std::string file_identity(const std::string& path);

/// While it lives, read_bytes() gives these texts in place of what the files hold now, which need
/// not exist. Names are those of file_identity(), or as they are spelled where they are read.
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

/// While it lives, read_bytes() on this thread reads each file once: what is parsed, hashed and
/// kept is the same text, whoever writes to the file meanwhile. One inside another adds nothing.
class ReadOnce {
public:
    ReadOnce();
    ~ReadOnce();
    ReadOnce(const ReadOnce&) = delete;
    ReadOnce& operator=(const ReadOnce&) = delete;

    /// All that were read, by names as they were spelled.
    const std::map<std::string, std::string>& spelled() const {
        return spelled_;
    }

private:
    friend std::optional<std::string> text_read_before(const std::string& path);
    friend void remember_text(const std::string& path, const std::string& text);
    std::map<std::string, std::string> texts_, spelled_;
};

/// For read_bytes(): what a ReadOnce has of the file, and what it is told.
std::optional<std::string> text_read_before(const std::string& path);
void remember_text(const std::string& path, const std::string& text);

/// Whether two texts of a file say the same: comments, blanks and the like do not count. False if
/// one cannot be read. `name`: of the file, which tells its format.
bool same_content(const std::string& a, const std::string& b, const std::string& name);

}  // namespace tessera::spec
