// A real terminal: a tmux server of its own with one shell. Nothing is waited for by time alone.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace tessera::tui_test {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Output of a shell command. \throws std::runtime_error if it cannot be started.
inline std::string output_of(const std::string& command) {
    FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    if (!pipe) {
        throw std::runtime_error("cannot run " + command);
    }
    std::string result;
    std::array<char, 4096> buffer{};
    while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
        result.append(buffer.data(), n);
    }
    ::pclose(pipe);
    return result;
}

/// True as soon as the check is; false after `limit_s`.
template <class Check>
bool eventually(Check check, double limit_s = 15) {
    const auto start = Clock::now();
    while (!check()) {
        if (seconds_since(start) > limit_s) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
}

class Tmux {
public:
    Tmux(int width, int height, const std::string& locale = "C.UTF-8") {
        static int count = 0;
        folder_ = std::filesystem::temp_directory_path() /
                  ("tessera-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
        std::filesystem::create_directories(folder_);
        // The shell of the session: a prompt that is easy to find, and nobody's start-up files.
        std::ofstream(folder_ / "rc") << "PS1='ready> '\n";
        const std::string home = folder_.string();
        output_of("env -u TMUX -u NO_COLOR -u TESSERA_TEST_PROTOCOL LC_ALL=" + locale +
                  " ENV=" + home + "/rc HOME=" + home + " XDG_CONFIG_HOME=" + home +
                  " tmux -u -S " + home + "/socket" + " -f /dev/null new-session -d -x " +
                  std::to_string(width) + " -y " + std::to_string(height) + " sh");
        if (!wait_for("ready>", 5)) {
            const std::string shown = screen();
            end();
            throw std::runtime_error("tmux does not start: " + shown);
        }
        type("cd " + folder_.string() + "; clear");
    }
    ~Tmux() {
        end();
    }
    Tmux(const Tmux&) = delete;
    Tmux& operator=(const Tmux&) = delete;

    std::string tmux(const std::string& arguments) const {
        return output_of("env -u TMUX tmux -S " + (folder_ / "socket").string() + " " + arguments);
    }
    std::string screen() const {
        return tmux("capture-pane -p");
    }
    /// A line that the terminal has wrapped is one: where it begins depends on whether the shell has
    /// cleared the screen before or after it echoed the command.
    bool shows(const std::string& text) const {
        return tmux("capture-pane -pJ").find(text) != std::string::npos;
    }
    bool wait_for(const std::string& text, double limit_s = 15) const {
        return eventually([&] { return shows(text); }, limit_s);
    }
    bool wait_gone(const std::string& text, double limit_s = 15) const {
        return eventually([&] { return !shows(text); }, limit_s);
    }
    /// A command line and Enter.
    void type(const std::string& line) const {
        std::string quoted;
        for (const char c : line) {
            quoted += c == '\'' ? "'\\''" : std::string(1, c);
        }
        tmux("send-keys -l -- '" + quoted + "'");
        tmux("send-keys Enter");
    }
    /// Keys by tmux's names: "q", "C-c", "Tab", "F1".
    void press(const std::string& keys) const {
        tmux("send-keys " + keys);
    }
    void resize(int width, int height) const {
        tmux("resize-window -x " + std::to_string(width) + " -y " + std::to_string(height));
    }
    /// Alternate screen left, cursor shown.
    bool looks_like_a_shell() const {
        return tmux("display-message -p '#{alternate_on} #{cursor_flag} #{mouse_any_flag}'") ==
               "0 1 0\n";
    }
    /// Runs a command between two `stty -a`; the files are before, after and code. The size is left
    /// out: tmux tells a new one to the terminal some time later.
    void run_between_stty(const std::string& command) const {
        const std::string modes = "stty -a | sed 's/rows [0-9]*; columns [0-9]*;//' >";
        type(modes + "before; " + command + "; echo $? >code.new; " + modes +
             "after; mv code.new code");
    }
    bool wait_end(double limit_s = 20) const {
        return eventually([&] { return std::filesystem::exists(folder_ / "code"); }, limit_s);
    }
    bool stty_is_unchanged() const {
        return !read("before").empty() && read("before") == read("after");
    }
    int code() const {
        return std::atoi(read("code").c_str());
    }
    std::string read(const std::string& file) const {
        std::ifstream stream(folder_ / file, std::ios::binary);
        std::ostringstream text;
        text << stream.rdbuf();
        return text.str();
    }
    const std::filesystem::path& folder() const {
        return folder_;
    }

private:
    void end() const {
        tmux("kill-server");
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    std::filesystem::path folder_;
};

/// This test executable, and the program beside it.
inline std::string test_program() {
    return std::filesystem::read_symlink("/proc/self/exe").string();
}
inline std::string tessera_program() {
    return (std::filesystem::path(test_program()).parent_path().parent_path() / "tessera").string();
}

/// The command of run_between_stty() has ended and the terminal is as it was.
inline void check_clean_end(const Tmux& tmux) {
    BOOST_TEST(tmux.wait_end(), tmux.screen());
    BOOST_TEST(tmux.stty_is_unchanged());
    BOOST_TEST(tmux.looks_like_a_shell());
}
inline void check_clean_end(const Tmux& tmux, int code) {
    check_clean_end(tmux);
    BOOST_TEST(tmux.code() == code, tmux.screen());
}

}  // namespace tessera::tui_test
