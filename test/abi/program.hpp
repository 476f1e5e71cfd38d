// Runs the built program as a process of its own, in an environment of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace tessera::abi_test {

namespace fs = std::filesystem;

/// The build folder: this test lies in BUILD/test/.
inline fs::path build() {
    return fs::read_symlink("/proc/self/exe").parent_path().parent_path();
}

inline std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder that disappears with the object.
class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "tessera-abi-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    fs::path operator/(const std::string& name) const {
        return path_ / name;
    }
    const fs::path& path() const {
        return path_;
    }

private:
    fs::path path_;
};

struct Ran {
    int code = 0;
    std::string out, err;
};

inline std::string quoted(const std::string& text) {
    return "'" + text + "'";
}

/// `command`: for the shell. Variables of the plugin host do not come from outside.
inline Ran run(const std::string& command,
               const std::map<std::string, std::string>& variables = {}) {
    const Folder folder;
    std::string line = "env -u TESSERA_PLUGIN_PATH -u TESSERA_DATA_PATH ";
    std::map<std::string, std::string> all = {
        {"TESSERA_PLUGIN_CACHE", (folder / "cache.json").string()},
        {"XDG_DATA_HOME", (folder / "data").string()},
        {"TESSERA_PLUGIN_SCAN_TIME", "20"}};
    for (const auto& [name, value] : variables) {
        all[name] = value;
    }
    for (const auto& [name, value] : all) {
        line += name + "=" + quoted(value) + " ";
    }
    line += "sh -c " + quoted(command) + " > " + (folder / "out").string() + " 2> " +
            (folder / "err").string() + " < /dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(folder / "out"),
            read(folder / "err")};
}

inline std::string plugin(const std::string& kind) {
    return (build() / "abi" / kind / ("tessera-" + kind + ".so")).string();
}

inline std::string tool() {
    return (build() / "tessera").string();
}

/// A small search, quick to run.
inline std::string small_map() {
    return tool() + " map -a snowcat -w matmuls -D N_EINSUMS=1 -q --threads 1";
}

}  // namespace tessera::abi_test
