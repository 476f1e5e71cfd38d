// A folder in which others may move, replace or plant things at any moment. It is held by its
// descriptor: when it is renamed, files keep going to the same folder. Only regular files are read,
// written or removed; symbolic links are not followed, and nothing waits for a pipe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace tessera::base {

/// No file that is read whole is larger.
inline constexpr std::uint64_t largest_file_bytes = 256u << 20;

/// The whole file (links are followed: the user named it); nothing if there is none.
/// \throws UserError if it is no regular file, larger, or cannot be read
std::optional<std::string> read_regular_file(const std::filesystem::path& path);

/// What the folder holds, sorted; what cannot be read is left out, and `failed` says why. The
/// standard library's directory iterators would end the process where a step finds no memory.
std::vector<std::string> names_in(const std::filesystem::path& folder, std::error_code& failed);

/// Tells one state of a file from another.
struct FileStamp {
    std::uint64_t inode = 0;
    std::int64_t changed_s = 0, changed_ns = 0;

    bool operator==(const FileStamp&) const = default;
};

/// Names of files are single ones, without folders.
class Directory {
public:
    /// \throws UserError naming the folder and the system's reason
    explicit Directory(const std::filesystem::path& path);
    /// A folder in a folder, not by a link.
    Directory(const Directory& parent, const std::string& name);
    Directory(Directory&& other) noexcept;
    Directory& operator=(Directory&& other) noexcept;
    ~Directory();

    /// As it was named.
    const std::filesystem::path& path() const {
        return path_;
    }
    /// Where it lies now; empty if it was removed.
    std::filesystem::path place() const;
    /// Its path still names it.
    bool is_in_place() const;
    int descriptor() const {
        return descriptor_;
    }

    /// False: a lock of another process is in the way. Held until the end, whatever the folder is
    /// called by then; asking again changes its kind.
    bool lock(bool exclusive) const;
    void unlock() const;

    std::vector<std::string> names() const;
    /// Whether anything of that name is there.
    bool has(const std::string& name) const;
    /// Empty: there is no such regular file.
    std::optional<FileStamp> stamp(const std::string& name) const;

    /// `from`: the byte to begin with. \throws UserError as read_regular_file()
    std::optional<std::string> read(const std::string& name, std::uint64_t from = 0) const;
    /// Old or new, never half: writes a file of another name and renames it. `durable`: survives a
    /// power cut too. \throws UserError naming the file and the system's reason
    void write(const std::string& name, const std::string& content, bool durable = false) const;
    /// Descriptor of a file to append to, made if there is none. \throws UserError
    int open_to_append(const std::string& name) const;
    /// Moves a file to another folder of the same file system. False: it could not.
    bool move(const std::string& name, const Directory& to) const;
    /// A regular file. False: it is none, or it could not be removed.
    bool remove(const std::string& name) const;
    /// An empty folder.
    bool make_folder(const std::string& name) const;
    bool remove_folder(const std::string& name) const;

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
};

/// Makes the folder and those above it that are missing.
/// \returns those it made, outermost first \throws UserError; nothing is left then
std::vector<std::filesystem::path> make_folders(const std::filesystem::path& path);

}  // namespace tessera::base
