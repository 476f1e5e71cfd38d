// tessera top: viewers of a search in another process. The searching process is this executable.
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/cli.hpp"
#include "samples.hpp"
#include "support/child_program.hpp"
#include "telemetry/live_socket.hpp"
#include "telemetry/sampler.hpp"
#include "tmux.hpp"

using namespace tessera;
using namespace tessera::tui_test;

namespace {

// ---- in the child ----

/// Counts until it is told to stop, visible to viewers under the name in TESSERA_TEST_RUN.
int serve() {
    static std::atomic<bool> stop{false};
    std::signal(SIGTERM, [](int) { stop = true; });
    telemetry::Recorder recorder;
    telemetry::Sampler::Settings settings;
    settings.run = tui_test::empty_snapshot().run;
    settings.run.id = std::getenv("TESSERA_TEST_RUN");
    settings.run.started = "2026-01-01T00:00:00Z";
    settings.run.pid = ::getpid();
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    settings.run.host = host;
    telemetry::Sampler sampler(recorder, settings);
    sampler.add(std::make_unique<telemetry::SocketServer>(settings.run.id));
    sampler.start();
    telemetry::Worker& worker = recorder.worker(0, "counting");
    worker.state(telemetry::WorkerState::running);
    recorder.incumbent({1e-3, 0.1, 0.01, "counting", "", 0, {}});
    const auto start = Clock::now();
    while (!stop && seconds_since(start) < 60) {
        worker.evaluated(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    sampler.finish(stop ? telemetry::RunState::interrupted : telemetry::RunState::finished);
    return 0;
}

const test::ChildProgram child("serves", serve);

// ---- in the parent ----

class Run {
public:
    explicit Run(const std::string& name) : name_(name + "-" + std::to_string(::getpid())) {
        const std::string program = test_program();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::setenv("TESSERA_TEST_RUN", name_.c_str(), 1);
            ::unsetenv("TESSERA_TEST_PROTOCOL");
            ::execl(program.c_str(), program.c_str(), "--child", "serves",
                    static_cast<char*>(nullptr));
            ::_exit(127);
        }
        const bool up = eventually([&] {
            const std::vector<std::string> runs = telemetry::running_runs();
            return std::find(runs.begin(), runs.end(), name_) != runs.end();
        });
        if (!up) {
            throw std::runtime_error("the child does not serve");
        }
    }
    ~Run() {
        signal(SIGKILL);
        wait();
    }
    void signal(int number) const {
        if (pid_ > 0) {
            ::kill(pid_, number);
        }
    }
    /// Status as of waitpid().
    int wait() {
        int status = 0;
        if (pid_ > 0) {
            ::waitpid(pid_, &status, 0);
        }
        pid_ = -1;
        return status;
    }
    bool alive() const {
        return pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == 0;
    }
    std::uint64_t evaluated() const {
        const auto snapshot = telemetry::SocketClient(name_).next(std::chrono::seconds(5));
        return snapshot ? snapshot->funnel.evaluated : 0;
    }
    const std::string& name() const {
        return name_;
    }
    pid_t pid() const {
        return pid_;
    }

private:
    std::string name_;
    pid_t pid_ = -1;
};

std::string top(const std::string& arguments) {
    return tessera_program() + " top " + arguments;
}

struct Outcome {
    int code = 0;
    std::string out, err;
};

Outcome invoke(const std::vector<std::string>& args) {
    std::ostringstream out, err;
    Outcome outcome;
    outcome.code = cli::run(args, out, err);
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(top_command)

BOOST_AUTO_TEST_CASE(two_viewers_attach_detach_and_attach_again) {
    Run run("pair");
    Tmux one(80, 24), two(120, 40);
    one.run_between_stty(top(run.name()));
    two.run_between_stty(top(run.name()));
    BOOST_TEST(one.wait_for("matmuls on snowcat"), one.screen());
    BOOST_TEST(two.wait_for("matmuls on snowcat"), two.screen());
    one.press("q");
    BOOST_TEST(one.wait_end());
    BOOST_TEST(one.code() == 0);
    BOOST_TEST(one.stty_is_unchanged());
    BOOST_TEST(one.looks_like_a_shell());
    const std::string before = two.screen();
    BOOST_TEST(eventually([&] { return two.screen() != before; }));
    one.type("clear; " + top(run.name()));
    BOOST_TEST(one.wait_for("matmuls on snowcat"), one.screen());
    one.press("C-c");
    BOOST_TEST(one.wait_for("ready>"));
    BOOST_TEST(one.looks_like_a_shell());
    BOOST_TEST(two.shows("RUNNING"));
    run.signal(SIGTERM);
    BOOST_TEST(two.wait_for("INTERRUPTED"), two.screen());
    BOOST_TEST(WIFEXITED(run.wait()));
    two.press("q");
    BOOST_TEST(two.wait_end());
    BOOST_TEST(two.stty_is_unchanged());
}

BOOST_AUTO_TEST_CASE(a_killed_viewer_does_no_harm) {
    Run run("killed-viewer");
    Tmux tmux(80, 24);
    tmux.run_between_stty("sh -c 'echo $$ >pid; exec " + top(run.name()) + "'");
    BOOST_TEST(tmux.wait_for("matmuls on snowcat"), tmux.screen());
    const pid_t viewer = std::atoi(tmux.read("pid").c_str());
    BOOST_REQUIRE(viewer > 0);
    ::kill(viewer, SIGKILL);
    BOOST_TEST(tmux.wait_end());
    BOOST_TEST(tmux.code() == 128 + SIGKILL);
    BOOST_TEST(run.alive());
    const std::uint64_t then = run.evaluated();
    BOOST_TEST(eventually([&] { return run.evaluated() > then + 10; }));
}

BOOST_AUTO_TEST_CASE(a_stopped_viewer_does_not_slow_the_search) {
    Run run("stopped-viewer");
    Tmux tmux(80, 24);
    tmux.run_between_stty("sh -c 'echo $$ >pid; exec " + top(run.name()) + "'");
    BOOST_TEST(tmux.wait_for("matmuls on snowcat"), tmux.screen());
    const pid_t viewer = std::atoi(tmux.read("pid").c_str());
    ::kill(viewer, SIGSTOP);
    const std::uint64_t then = run.evaluated();
    BOOST_TEST(eventually([&] { return run.evaluated() > then + 500; }));
    ::kill(viewer, SIGCONT);
    tmux.press("q");
    BOOST_TEST(tmux.wait_end());
}

BOOST_AUTO_TEST_CASE(a_killed_run_is_called_lost) {
    Run run("lost");
    Tmux tmux(80, 24);
    tmux.run_between_stty(top(run.name()));
    BOOST_TEST(tmux.wait_for("RUNNING"), tmux.screen());
    run.signal(SIGKILL);
    BOOST_TEST(tmux.wait_for("LOST"), tmux.screen());
    BOOST_TEST(!tmux.shows("RUNNING"), tmux.screen());
    tmux.press("q");
    BOOST_TEST(tmux.wait_end());
    BOOST_TEST(tmux.code() == 0);
}

BOOST_AUTO_TEST_CASE(a_folder_tells_whether_its_run_lives) {
    Tmux tmux(100, 30);
    const std::string run = (tmux.folder() / "run").string();
    const std::string search = tessera_program() +
                               " map -a simba -w matmuls --mapper random --max-time 60s -q -o " +
                               run + " >out 2>err & echo $! >pid; wait";
    tmux.type(search);
    BOOST_REQUIRE(eventually([&] { return std::filesystem::exists(run + "/status.json"); }));
    BOOST_TEST(invoke({"top", "--once", run}).out.find("RUNNING") != std::string::npos);
    const pid_t pid = std::atoi(tmux.read("pid").c_str());
    BOOST_REQUIRE(pid > 0);
    ::kill(pid, SIGKILL);
    Outcome after;
    BOOST_TEST(eventually([&] {
                   after = invoke({"top", "--once", run});
                   return after.out.find("LOST") != std::string::npos;
               }),
               after.out);
    BOOST_TEST(after.out.find("RUNNING") == std::string::npos, after.out);
    const Outcome json = invoke({"top", "--json", run});
    BOOST_TEST(nlohmann::json::parse(json.out).at("state") == "lost");
}

BOOST_AUTO_TEST_CASE(no_folder_chooses_who_is_signalled) {
    Tmux tmux(100, 30);
    // A run that is said to be this test's own process: it lives, and has nothing to do with it.
    telemetry::Snapshot snapshot = running_snapshot();
    snapshot.run.pid = ::getpid();
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    snapshot.run.host = host;
    std::filesystem::create_directories(tmux.folder() / "run");
    std::ofstream(tmux.folder() / "run" / "status.json") << telemetry::to_json(snapshot) << "\n";
    tmux.type(top("--control run"));
    BOOST_TEST(tmux.wait_for("no process of yours on this host runs it"), tmux.screen());
    // Nor does the name of another run of the user.
    Run other("innocent");
    snapshot.run.id = other.name();
    snapshot.run.pid = other.pid();
    std::ofstream(tmux.folder() / "run" / "status.json") << telemetry::to_json(snapshot) << "\n";
    tmux.type("clear; " + top("--control run"));
    BOOST_TEST(tmux.wait_for("no process of yours on this host runs it"), tmux.screen());
    BOOST_TEST(other.alive());
}

BOOST_AUTO_TEST_CASE(a_listener_that_never_answers_hangs_nobody) {
    const auto listen = [](const std::string& name) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size());
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        std::vector<int> sockets = {::socket(AF_UNIX, SOCK_STREAM, 0)};
        const auto* place = reinterpret_cast<const sockaddr*>(&address);
        BOOST_REQUIRE(::bind(sockets[0], place, size) == 0);
        BOOST_REQUIRE(::listen(sockets[0], 0) == 0);
        for (int i = 0; i < 3; ++i) {  // the backlog is full
            sockets.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
            [[maybe_unused]] const int code = ::connect(sockets.back(), place, size);
        }
        return sockets;
    };
    const std::string prefix = "tessera-" + std::to_string(::getuid()) + "-";
    std::vector<int> all;
    for (const char* name : {"deaf-1", "deaf-2", "\x1b]0;T\x07"}) {
        for (const int socket : listen(prefix + name)) {
            all.push_back(socket);
        }
    }
    Run run("heard");
    const auto start = Clock::now();
    const Outcome listed = invoke({"top", "--list"});
    BOOST_TEST(seconds_since(start) < 6);
    BOOST_TEST(listed.out.find(run.name()) != std::string::npos, listed.out);
    const Outcome named = invoke({"top", "--once", "deaf-1"});
    BOOST_TEST(named.code == 2);
    BOOST_TEST(named.err.find("deaf-1 cannot be reached") != std::string::npos, named.err);
    const Outcome unknown = invoke({"top", "--once", "no-such-run"});
    BOOST_TEST(unknown.err.find('\x1b') == std::string::npos);
    BOOST_TEST(unknown.err.find("]0;T") == std::string::npos, unknown.err);
    BOOST_TEST(seconds_since(start) < 12);
    for (const int socket : all) {
        ::close(socket);
    }
}

BOOST_AUTO_TEST_CASE(viewers_beyond_the_64th_see_the_folder) {
    Run run("crowded");
    std::vector<std::unique_ptr<telemetry::SocketClient>> viewers;
    const auto patient = Clock::now() + std::chrono::seconds(30);
    for (int i = 0; i < 64; ++i) {
        viewers.push_back(std::make_unique<telemetry::SocketClient>(run.name(), patient));
    }
    for (const auto& viewer : viewers) {
        BOOST_REQUIRE(viewer->next(std::chrono::seconds(5)));
    }
    const Outcome once = invoke({"top", "--once", run.name()});
    BOOST_TEST(once.code == 0, once.err);
    BOOST_TEST(once.out.find("RUNNING") != std::string::npos, once.out);
}

BOOST_AUTO_TEST_CASE(viewers_stop_a_run_only_with_control) {
    Run run("controlled");
    Tmux tmux(80, 24);
    tmux.type(top(run.name()));
    BOOST_TEST(tmux.wait_for("RUNNING"), tmux.screen());
    tmux.press("s");
    BOOST_TEST(tmux.wait_for("only watches"), tmux.screen());
    tmux.press("q");
    BOOST_TEST(tmux.wait_for("ready>"));
    tmux.type(top("--control " + run.name()));
    BOOST_TEST(tmux.wait_for("RUNNING"), tmux.screen());
    tmux.press("s");
    BOOST_TEST(tmux.wait_for("y yes"), tmux.screen());
    BOOST_TEST(run.alive());
    tmux.press("y");
    BOOST_TEST(tmux.wait_for("INTERRUPTED"), tmux.screen());
    BOOST_TEST(WIFEXITED(run.wait()));
    tmux.press("q");
}

BOOST_AUTO_TEST_CASE(one_frame_is_printed_without_a_terminal) {
    Run run("once");
    for (const char* size : {"80x24", "40x10", "200x60", "20x2"}) {
        const Outcome outcome = invoke({"top", "--once", "--size", size, run.name()});
        BOOST_TEST(outcome.code == 0, outcome.err);
        BOOST_TEST(outcome.out.find('\033') == std::string::npos);
        BOOST_TEST(outcome.out.find('\r') == std::string::npos);
        int width = 0, height = 0;
        std::sscanf(size, "%dx%d", &width, &height);
        BOOST_TEST(std::count(outcome.out.begin(), outcome.out.end(), '\n') == height);
    }
    BOOST_TEST(invoke({"top", run.name()}).out.find("1.000 mJ s") != std::string::npos);
    const std::string piped = output_of(top(run.name()) + " </dev/null | cat");
    BOOST_TEST(piped.find("matmuls on snowcat") != std::string::npos, piped);
    BOOST_TEST(piped.find('\033') == std::string::npos);
    const Outcome colored = invoke({"top", "--once", "--color", "always", run.name()});
    BOOST_TEST(colored.out.find("\033[0;1;38;5;214m") != std::string::npos);
    const Outcome panel =
        invoke({"top", "--once", "--panel", "workers", "--size", "40x10", run.name()});
    BOOST_TEST(panel.out.find("3 Workers") != std::string::npos, panel.out);
    const Outcome numbers = invoke({"top", "--json", run.name()});
    BOOST_TEST(nlohmann::json::parse(numbers.out).at("run").at("id") == run.name());
}

BOOST_AUTO_TEST_CASE(running_searches_are_listed) {
    Run run("listed");
    BOOST_TEST(invoke({"top", "--list"}).out.find(run.name()) != std::string::npos);
    const auto json = nlohmann::json::parse(invoke({"top", "--list", "--json"}).out);
    int found = 0;
    for (const auto& entry : json.at("runs")) {
        found += entry.at("id") == run.name() && entry.at("pid") == run.pid();
    }
    BOOST_TEST(found == 1);
    const Outcome beginning =
        invoke({"top", "--once", run.name().substr(0, run.name().size() - 1)});
    BOOST_TEST(beginning.code == 0, beginning.err);
}

BOOST_AUTO_TEST_CASE(a_run_directory_is_followed) {
    Tmux tmux(100, 30);
    const auto write = [&](telemetry::Snapshot snapshot, double best) {
        snapshot.best = best;
        const auto draft = tmux.folder() / "run" / "status.new";
        std::filesystem::create_directories(draft.parent_path());
        std::ofstream(draft) << telemetry::to_json(snapshot) << "\n";
        std::filesystem::rename(draft, tmux.folder() / "run" / "status.json");
    };
    telemetry::Snapshot snapshot = running_snapshot();
    snapshot.run.host = "elsewhere";
    write(snapshot, 5e-3);
    tmux.run_between_stty(top("run"));
    BOOST_TEST(tmux.wait_for("5.000 mJ s"), tmux.screen());
    write(snapshot, 4e-3);
    BOOST_TEST(tmux.wait_for("4.000 mJ s"), tmux.screen());
    BOOST_TEST(tmux.wait_for("LOST"), tmux.screen());
    snapshot.state = telemetry::RunState::finished;
    write(snapshot, 3e-3);
    BOOST_TEST(tmux.wait_for("FINISHED"), tmux.screen());
    BOOST_TEST(tmux.wait_gone("LOST"), tmux.screen());
    tmux.press("q");
    BOOST_TEST(tmux.wait_end());
    BOOST_TEST(tmux.stty_is_unchanged());
}

BOOST_AUTO_TEST_CASE(what_is_no_run_is_refused_with_a_remedy) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("tessera-top-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const Outcome empty = invoke({"top", "--once", folder.string()});
    BOOST_TEST(empty.code == 2);
    BOOST_TEST(empty.err.find("status.json") != std::string::npos, empty.err);
    for (const char* text : {"{", "[]", "{\"tessera_snapshot\": 99}",
                             "{\"tessera_snapshot\": 1, \"best\": \"x\"}", "\xff\xfe"}) {
        std::ofstream(folder / "status.json") << text;
        const Outcome broken = invoke({"top", "--once", folder.string()});
        BOOST_TEST(broken.code == 2, text << ": " << broken.err);
        BOOST_TEST(broken.err.find((folder / "status.json").string()) != std::string::npos,
                   broken.err);
    }
    const Outcome unknown = invoke({"top", "--once", "no-such-run"});
    BOOST_TEST(unknown.code == 2);
    BOOST_TEST(unknown.err.find("no-such-run") != std::string::npos, unknown.err);
    const Outcome size = invoke({"top", "--once", "--size", "80by24"});
    BOOST_TEST(size.code == 2);
    BOOST_TEST(size.err.find("80x24") != std::string::npos, size.err);
    std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_SUITE_END()
