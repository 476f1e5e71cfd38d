#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "read_parts.hpp"

namespace tessera::timeloop {

namespace fs = std::filesystem;

std::optional<std::string> find_accelergy() {
    for (const char* variable : {"PATH", "ACCELERGYPATH"}) {
        const char* value = std::getenv(variable);
        std::istringstream list(value == nullptr ? "" : value);
        for (std::string folder; std::getline(list, folder, ':');) {
            const fs::path program = fs::path(folder) / "accelergy";
            std::error_code ignored;
            if (fs::is_regular_file(program, ignored) && ::access(program.c_str(), X_OK) == 0) {
                return program.string();
            }
        }
    }
    return std::nullopt;
}

bool run_accelergy(const std::string& program, const std::vector<std::string>& files,
                   const std::string& prefix) {
    const fs::path target(prefix);
    const std::string folder = (target.has_parent_path() ? target.parent_path() : ".").string();
    std::vector<std::string> words = {program};
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), {"--oprefix", target.filename().string() + ".", "-o", folder + "/"});
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    if (::posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    const std::string log = prefix + ".accelergy.log";
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t child = 0;
    const int failed =
        ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        return false;
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace tessera::timeloop
