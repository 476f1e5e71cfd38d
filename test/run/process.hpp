// The program as a process of its own, with the input, output and environment a test wants.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tessera::run_test {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Args = std::vector<std::string>;

inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

inline std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline void pause_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

/// True as soon as the check is; false after `limit_s`.
template <class Check>
bool eventually(Check check, double limit_s = 30) {
    const auto start = Clock::now();
    while (!check()) {
        if (seconds_since(start) > limit_s) {
            return false;
        }
        pause_ms(5);
    }
    return true;
}

/// A temporary folder that disappears with the object.
class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "tessera-run-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::runtime_error("no temporary folder");
        }
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    fs::path operator/(const std::string& name) const {
        return path_ / name;
    }
    const fs::path& path() const {
        return path_;
    }

private:
    fs::path path_;
};

inline std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
        names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// The program beside the folder of this test.
inline std::string program() {
    return (fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "tessera").string();
}

/// A child process; stdout and stderr go to files in `folder`. Killed with the object.
class Process {
public:
    struct How {
        bool close_stdin = false;  ///< else /dev/null
        bool close_stderr = false;
        std::vector<std::string> environment;  ///< NAME=VALUE, added
        std::function<int()> instead;          ///< runs in the child in place of the program
    };

    Process(const fs::path& folder, const Args& args, const How& how) : folder_(folder) {
        std::vector<std::string> words = {program()};
        words.insert(words.end(), args.begin(), args.end());
        std::vector<char*> argv;
        for (std::string& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        std::cout.flush();  // or the child would write it again
        std::fflush(nullptr);
        child_ = ::fork();
        if (child_ == 0) {
            redirect("out", STDOUT_FILENO);
            redirect("err", STDERR_FILENO);
            ::close(STDIN_FILENO);
            if (!how.close_stdin) {
                ::open("/dev/null", O_RDONLY);
            }
            if (how.close_stderr) {
                ::close(STDERR_FILENO);
            }
            for (const std::string& setting : how.environment) {
                ::putenv(const_cast<char*>(setting.c_str()));
            }
            if (how.instead) {
                ::_exit(how.instead());
            }
            ::execv(argv[0], argv.data());
            ::_exit(127);
        }
    }
    Process(const fs::path& folder, const Args& args) : Process(folder, args, How{}) {}
    ~Process() {
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
    }
    Process(const Process&) = delete;

    void signal(int number) const {
        ::kill(child_, number);
    }
    /// Exit code, 128 + signal, or -1 if it still runs after `limit_s`.
    int wait(double limit_s = 60) {
        int status = 0;
        if (!eventually([&] { return ::waitpid(child_, &status, WNOHANG) == child_; }, limit_s)) {
            return -1;
        }
        child_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    std::string out() const {
        return read(folder_ / "out");
    }
    std::string err() const {
        return read(folder_ / "err");
    }
    bool says(const std::string& text) const {
        return err().find(text) != std::string::npos;
    }
    pid_t pid() const {
        return child_;
    }

private:
    void redirect(const char* name, int descriptor) const {
        const int file = ::open((folder_ / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
        ::dup2(file, descriptor);
        ::close(file);
    }

    fs::path folder_;
    pid_t child_ = -1;
};

inline Args joined(Args a, const Args& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace tessera::run_test
