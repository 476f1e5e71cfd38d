// The dashboard's own behaviour on a real terminal. The searching process is this test executable
// itself, called in tmux as one of its child programs.
#include <pthread.h>
#include <signal.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "base/terminal_restore.hpp"
#include "dashboard/tui_sink.hpp"
#include "support/child_program.hpp"
#include "telemetry/sampler.hpp"
#include "tmux.hpp"

using namespace tessera;
using namespace tessera::tui_test;

namespace {

// ---- in the child ----

class Control : public telemetry::RunControl {
public:
    void stop(const std::string&) override {
        stopped = true;
    }
    void checkpoint() override {
        std::ofstream("checkpoint") << "asked";
    }
    std::atomic<bool> stopped{false};
};

/// A search that counts; `deed` is done once after the dashboard is up. Ends when asked to.
int run_child(const std::function<void(telemetry::Recorder&)>& deed, double limit_s = 60) {
    Control control;
    telemetry::Recorder recorder;
    telemetry::Sampler::Settings settings;
    settings.run.workload = "child";
    settings.run.architecture = "nothing";
    settings.run.mapper = "counting";
    settings.run.metrics = {"edp"};
    settings.run.unit = "J s";
    settings.run.id = "child";
    telemetry::Sampler sampler(recorder, settings);
    sampler.add(std::make_unique<dashboard::TuiSink>(control));
    sampler.start();
    telemetry::Worker& worker = recorder.worker(0, "counting");
    worker.state(telemetry::WorkerState::running);
    recorder.incumbent({1e-3, 0.1, 0.01, "counting", "", 0, {}});
    const auto start = Clock::now();
    bool done = false;
    while (!control.stopped && seconds_since(start) < limit_s) {
        worker.evaluated(1000);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (!done && seconds_since(start) > 0.6) {
            done = true;
            deed(recorder);
        }
    }
    sampler.finish(telemetry::RunState::finished);
    std::puts("result: 42");
    return 0;
}

using telemetry::Recorder;

const test::ChildProgram children[] = {
    {"counts", [] { return run_child([](Recorder&) {}); }},
    {"throws",
     [] { return run_child([](Recorder&) { throw std::runtime_error("thrown in the search"); }); }},
    {"throws_in_a_thread",
     [] {
         return run_child([](Recorder&) {
             std::thread([] { throw std::runtime_error("thrown in a worker of a plugin"); }).join();
         });
     }},
    {"crashes",
     [] {
         return run_child([](Recorder&) {
             std::thread([] {
                 // A sanitizer would report a write to nowhere, and end the process itself.
                 ::pthread_kill(::pthread_self(), SIGSEGV);
             }).join();
         });
     }},
    {"exits", [] { return run_child([](Recorder&) { std::exit(3); }); }},
    {"leaves_from_a_handler",
     [] {
         return run_child([](Recorder&) {
             base::restore_terminal();
             ::_exit(130);
         });
     }},
    {"chatters",
     [] {
         return run_child([](Recorder& recorder) {
             std::fputs("a plugin writes to stderr\n", stderr);
             std::puts("a plugin writes to stdout");
             std::fflush(stdout);
             recorder.log("a line of the search's own");
         });
     }},
};

// ---- in the parent ----

std::string child(const std::string& name) {
    return test_program() + " --child " + name;
}

bool started(const Tmux& tmux) {
    return tmux.wait_for("RUNNING") && tmux.wait_for("1.000 mJ s");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(terminal)

BOOST_AUTO_TEST_CASE(all_panels_at_three_sizes_on_a_real_terminal) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(child("counts"));
    BOOST_REQUIRE(started(tmux));
    const char* titles[] = {"1 Summary", "2 Incumbents", "3 Workers", "4 Funnel",
                            "5 Pareto",  "6 Comparison", "7 Plugins", "8 Log"};
    for (const auto& [width, height] : {std::pair(40, 10), {80, 24}, {200, 60}}) {
        tmux.resize(width, height);
        for (int i = 0; i < 8; ++i) {
            tmux.press(std::to_string(i + 1));
            BOOST_TEST(tmux.wait_for(titles[i], 3), tmux.screen());
        }
        BOOST_TEST(tmux.shows("q quit"));
    }
    tmux.resize(30, 5);
    BOOST_TEST(tmux.wait_for("needs 40x10"));
    tmux.press("q");
    BOOST_TEST(tmux.wait_for("y stop"), tmux.screen());
    tmux.resize(80, 24);
    BOOST_TEST(tmux.wait_for("8 Log"), tmux.screen());
    tmux.press("y");
    check_clean_end(tmux);
    BOOST_TEST(tmux.code() == 0);
    BOOST_TEST(tmux.shows("result: 42"), tmux.screen());
}

BOOST_AUTO_TEST_CASE(keys_reach_the_search) {
    Tmux tmux(100, 30);
    tmux.run_between_stty(child("counts"));
    BOOST_REQUIRE(started(tmux));
    tmux.press("c");
    BOOST_TEST(eventually([&] { return tmux.read("checkpoint") == "asked"; }));
    tmux.press("'?'");
    BOOST_TEST(tmux.wait_for("Shift-Tab"));
    tmux.press("Escape");
    BOOST_TEST(tmux.wait_gone("Shift-Tab"));
    tmux.press("F2");
    BOOST_TEST(tmux.wait_for("frames a second"));
    tmux.press("g F2");
    BOOST_TEST(eventually(
        [&] { return tmux.read("tessera/dashboard").find("braille") != std::string::npos; }));
    tmux.press("e");
    BOOST_TEST(tmux.wait_for("written: tessera-child-"));
    tmux.press("s");
    BOOST_TEST(tmux.wait_for("y yes"));
    tmux.press("n");
    BOOST_TEST(tmux.wait_gone("y yes"));
    tmux.press("q d");
    BOOST_TEST(tmux.wait_gone("1 Summary"));
    BOOST_TEST(tmux.looks_like_a_shell());
    BOOST_TEST(tmux.read("code").empty());
}

BOOST_AUTO_TEST_CASE(a_storm_of_new_sizes_does_no_harm) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(child("counts"));
    BOOST_REQUIRE(started(tmux));
    for (int i = 0; i < 60; ++i) {
        tmux.resize(1 + (i * 37) % 220, 1 + (i * 23) % 70);
    }
    tmux.resize(80, 24);
    BOOST_TEST(tmux.wait_for("4 Funnel"), tmux.screen());
    BOOST_TEST(tmux.wait_for("3 Workers"), tmux.screen());
    tmux.press("q y");
    check_clean_end(tmux);
    BOOST_TEST(tmux.code() == 0);
}

BOOST_AUTO_TEST_CASE(an_exception_gives_the_terminal_back) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(child("throws"));
    BOOST_REQUIRE(started(tmux));
    check_clean_end(tmux);
    BOOST_TEST(tmux.code() != 0);
}

BOOST_AUTO_TEST_CASE(an_uncaught_exception_in_a_thread_gives_the_terminal_back) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(child("throws_in_a_thread"));
    BOOST_REQUIRE(started(tmux));
    check_clean_end(tmux);
    BOOST_TEST(tmux.code() == 128 + SIGABRT);
    BOOST_TEST(tmux.wait_for("thrown in a worker of a plugin"), tmux.screen());
}

BOOST_AUTO_TEST_CASE(a_crash_gives_the_terminal_back) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(child("crashes"));
    BOOST_REQUIRE(started(tmux));
    check_clean_end(tmux);
    BOOST_TEST(tmux.code() == 128 + SIGSEGV);
    BOOST_TEST(tmux.wait_for("the terminal was restored"), tmux.screen());
}

BOOST_AUTO_TEST_CASE(exit_and_handlers_give_the_terminal_back) {
    for (const auto& [name, code] : {std::pair("exits", 3), {"leaves_from_a_handler", 130}}) {
        Tmux tmux(80, 24);
        tmux.run_between_stty(child(name));
        BOOST_REQUIRE(started(tmux));
        check_clean_end(tmux);
        BOOST_TEST(tmux.code() == code);
    }
}

BOOST_AUTO_TEST_CASE(what_others_write_is_a_log_line_and_not_lost) {
    Tmux tmux(100, 30);
    tmux.run_between_stty(child("chatters"));
    BOOST_REQUIRE(started(tmux));
    tmux.press("8");
    BOOST_TEST(tmux.wait_for("a plugin writes to stderr"), tmux.screen());
    BOOST_TEST(tmux.wait_for("a plugin writes to stdout"));
    BOOST_TEST(tmux.wait_for("a line of the search's own"));
    BOOST_TEST(tmux.shows("8 Log"));
    tmux.press("q y");
    check_clean_end(tmux);
    BOOST_TEST(tmux.shows("a plugin writes to stderr"), tmux.screen());
    BOOST_TEST(tmux.shows("result: 42"));
}

BOOST_AUTO_TEST_CASE(drawing_takes_little_time_wherever_the_streams_go) {
    Tmux tmux(80, 24);
    tmux.run_between_stty("sh -c 'echo $$ >pid; exec " + child("counts") + " >out 2>&1'");
    BOOST_REQUIRE(started(tmux));
    const auto ticks = [&] {  // user and system time: fields 14 and 15 after the name
        std::ifstream stat("/proc/" + std::to_string(std::atoi(tmux.read("pid").c_str())) +
                           "/stat");
        std::string text;
        std::getline(stat, text);
        std::istringstream fields(text.substr(text.rfind(')') + 1));
        std::string skipped;
        for (int i = 0; i < 11; ++i) {
            fields >> skipped;
        }
        long user = 0, system = 0;
        fields >> user >> system;
        return user + system;
    };
    const long before = ticks();
    BOOST_TEST(before >= 0);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    BOOST_TEST(ticks() - before < 0.2 * static_cast<double>(::sysconf(_SC_CLK_TCK)));
    tmux.press("q y");
    check_clean_end(tmux);
    BOOST_TEST(tmux.read("out").find("result: 42") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(stop_and_continue_redraw) {
    Tmux tmux(80, 24);
    tmux.run_between_stty("set -m; " + child("counts"));
    BOOST_REQUIRE(started(tmux));
    tmux.press("C-z");
    BOOST_TEST(tmux.wait_for("ready>"), tmux.screen());
    BOOST_TEST(tmux.looks_like_a_shell());
    tmux.type("fg");
    BOOST_TEST(tmux.wait_for("1 Summary"), tmux.screen());
    tmux.press("q y");
    BOOST_TEST(tmux.wait_for("result: 42"), tmux.screen());
    BOOST_TEST(tmux.looks_like_a_shell());
}

BOOST_AUTO_TEST_CASE(a_frame_sends_only_what_has_changed) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(child("counts"));
    BOOST_REQUIRE(started(tmux));
    tmux.tmux("pipe-pane 'cat >" + (tmux.folder() / "bytes").string() + "'");
    std::this_thread::sleep_for(std::chrono::seconds(2));
    tmux.tmux("pipe-pane");
    // Eight frames: counters, rate, clock. A whole screen is 80 x 24 = 1920 cells.
    const std::size_t bytes = tmux.read("bytes").size();
    BOOST_TEST(bytes > 0U);
    BOOST_TEST(bytes < 8 * 600U);
    tmux.press("q y");
    check_clean_end(tmux);
}

BOOST_AUTO_TEST_CASE(without_utf8_only_ascii_is_drawn) {
    Tmux tmux(80, 24, "C");
    tmux.run_between_stty("LC_ALL=C " + child("counts"));
    BOOST_REQUIRE(started(tmux));
    const std::string screen = tmux.screen();
    BOOST_TEST(screen.find("+ 1 Summary -") != std::string::npos, screen);
    tmux.press("q y");
    check_clean_end(tmux);
}

BOOST_AUTO_TEST_CASE(colours_are_on_screen_unless_no_color_is_set) {
    for (const bool color : {true, false}) {
        Tmux tmux(80, 24);
        tmux.run_between_stty((color ? "TERM=screen-256color " : "NO_COLOR=1 ") + child("counts"));
        BOOST_REQUIRE(started(tmux));
        const bool orange = tmux.tmux("capture-pane -pe").find("38;5;214") != std::string::npos;
        BOOST_TEST(orange == color);
        tmux.press("q y");
        check_clean_end(tmux);
    }
}

BOOST_AUTO_TEST_CASE(a_dumb_terminal_is_refused_with_a_remedy) {
    Tmux tmux(100, 24);
    tmux.run_between_stty("TERM=dumb " + child("counts"));
    BOOST_TEST(tmux.wait_end());
    BOOST_TEST(tmux.code() != 0);
    BOOST_TEST(tmux.shows("use --ui=line"), tmux.screen());
}

BOOST_AUTO_TEST_SUITE_END()
