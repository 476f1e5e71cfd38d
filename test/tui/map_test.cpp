// tessera map with the dashboard, on a real terminal: interrupts, ill-behaved mappers, viewers. The
// mappers below exist only in this executable, which runs itself with them.
#include <boost/test/unit_test.hpp>
#include <iostream>

#include "cli/cli.hpp"
#include "support/child_program.hpp"
#include "tessera/plugin/mapper.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "tmux.hpp"

using namespace tessera;
using namespace tessera::tui_test;

namespace {

// ---- in the child ----

/// Works for a while, then does what a mapper must not do.
class IllBehaved : public mapper::Mapper {
public:
    mapper::Result map(const model::Problem&, const model::CostModel&,
                       const mapper::Options& options) override {
        telemetry::Recorder unread;
        telemetry::Recorder& recorder = options.recorder ? *options.recorder : unread;
        telemetry::Worker& worker = recorder.worker(0, name());
        worker.state(telemetry::WorkerState::running);
        recorder.begin_phase("misbehaving", 100, "deeds");
        const auto start = Clock::now();
        while (seconds_since(start) < 2.5) {
            worker.evaluated();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        misbehave(worker);
        return {};
    }

private:
    virtual void misbehave(telemetry::Worker& worker) = 0;
};

class Deaf : public IllBehaved {
public:
    std::string name() const override {
        return "deaf";
    }

private:
    void misbehave(telemetry::Worker& worker) override {
        for (const auto start = Clock::now(); seconds_since(start) < 30;) {
            worker.evaluated();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
};

class Throwing : public IllBehaved {
public:
    std::string name() const override {
        return "throwing";
    }

private:
    void misbehave(telemetry::Worker&) override {
        throw 42;
    }
};

class ThrowingThread : public IllBehaved {
public:
    std::string name() const override {
        return "throwing_thread";
    }

private:
    void misbehave(telemetry::Worker&) override {
        std::thread([] { throw std::runtime_error("nobody catches this"); }).join();
    }
};

TESSERA_PLUGIN(tessera::mapper::Mapper, Deaf, "deaf", "hears no stop", "");
TESSERA_PLUGIN(tessera::mapper::Mapper, Throwing, "throwing", "throws an int", "");
TESSERA_PLUGIN(tessera::mapper::Mapper, ThrowingThread, "throwing_thread", "throws in a thread",
               "");

int map_with(const char* mapper) {
    return cli::run({"map", "-a", "simba", "-w", "matmuls", "--mapper", mapper, "--ui", "tui"},
                    std::cout, std::cerr);
}

const test::ChildProgram children[] = {
    {"map-deaf", [] { return map_with("deaf"); }},
    {"map-throwing", [] { return map_with("throwing"); }},
    {"map-throwing_thread", [] { return map_with("throwing_thread"); }},
};

// ---- in the parent ----

constexpr const char* problem = " -a simba -w matmuls ";

/// A search that only ends when it is asked to.
std::string endless(const std::string& options) {
    return tessera_program() + " map" + problem + "--mapper random --max-time 60s --threads 1 " +
           options;
}

std::string ill_behaved(const std::string& mapper) {
    return test_program() + " --child map-" + mapper;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(map_command)

BOOST_AUTO_TEST_CASE(first_interrupt_ends_the_search_with_its_result) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(endless("--ui=tui -o run"));
    BOOST_TEST(tmux.wait_for("matmuls on simba"), tmux.screen());
    BOOST_TEST(tmux.wait_for("J s"), tmux.screen());
    const auto start = Clock::now();
    tmux.press("C-c");
    check_clean_end(tmux, 130);
    BOOST_TEST(seconds_since(start) < 5);
    BOOST_TEST(tmux.shows("Written to run"), tmux.screen());
    BOOST_TEST(!tmux.read("run/result.json").empty());
    BOOST_TEST(!tmux.read("run/mapping.yaml").empty());
}

BOOST_AUTO_TEST_CASE(second_interrupt_ends_a_deaf_search_within_a_second) {
    Tmux tmux(160, 30);
    tmux.run_between_stty(ill_behaved("deaf"));
    BOOST_TEST(tmux.wait_for("deaf"), tmux.screen());
    BOOST_TEST(tmux.wait_for("RUNNING"), tmux.screen());
    tmux.press("C-c");
    BOOST_TEST(tmux.wait_for("STOPPING"), tmux.screen());
    tmux.press("8 Enter");
    BOOST_TEST(tmux.wait_for("again to stop within a second"), tmux.screen());
    const auto start = Clock::now();
    tmux.press("C-c");
    check_clean_end(tmux, 130);
    BOOST_TEST(seconds_since(start) < 2);
}

BOOST_AUTO_TEST_CASE(third_interrupt_ends_a_deaf_search_at_once) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(ill_behaved("deaf"));
    BOOST_TEST(tmux.wait_for("RUNNING"), tmux.screen());
    tmux.press("C-c");
    BOOST_TEST(tmux.wait_for("STOPPING"), tmux.screen());
    const auto start = Clock::now();
    tmux.press("C-c");
    // Two signals at the same moment would be one.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    tmux.press("C-c");
    check_clean_end(tmux, 130);
    BOOST_TEST(seconds_since(start) < 0.8);
}

BOOST_AUTO_TEST_CASE(a_mapper_that_throws_is_named_after_the_terminal_is_back) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(ill_behaved("throwing"));
    BOOST_TEST(tmux.wait_for("RUNNING"), tmux.screen());
    check_clean_end(tmux, 70);
    BOOST_TEST(tmux.shows("unknown type"), tmux.screen());
}

BOOST_AUTO_TEST_CASE(a_thread_of_a_mapper_that_throws_gives_the_terminal_back) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(ill_behaved("throwing_thread"));
    BOOST_TEST(tmux.wait_for("RUNNING"), tmux.screen());
    check_clean_end(tmux, 128 + SIGABRT);
    BOOST_TEST(tmux.shows("nobody catches this"), tmux.screen());
}

BOOST_AUTO_TEST_CASE(a_closed_dashboard_leaves_the_search_running) {
    Tmux tmux(100, 30);
    tmux.run_between_stty(endless("--ui=tui"));
    BOOST_TEST(tmux.wait_for("1 Summary"), tmux.screen());
    tmux.press("d");
    BOOST_TEST(tmux.wait_gone("1 Summary"), tmux.screen());
    BOOST_TEST(tmux.looks_like_a_shell());
    BOOST_TEST(tmux.read("code").empty());
    tmux.press("C-c");
    check_clean_end(tmux, 130);
    BOOST_TEST(tmux.shows("Not proven optimal"), tmux.screen());
}

BOOST_AUTO_TEST_CASE(viewers_come_and_go_while_a_search_shows_itself) {
    Tmux search(80, 24), viewer(120, 40);
    search.run_between_stty(endless("--ui=tui -o run"));
    BOOST_TEST(search.wait_for("1 Summary"), search.screen());
    const std::string run = (search.folder() / "run").string();
    for (int i = 0; i < 2; ++i) {
        viewer.type("clear; sh -c 'echo $$ >pid; exec " + tessera_program() + " top " + run + "'");
        BOOST_TEST(viewer.wait_for("viewer"), viewer.screen());
        if (i == 0) {
            viewer.press("q");
        } else {
            ::kill(std::atoi(viewer.read("pid").c_str()), SIGKILL);
        }
        BOOST_TEST(viewer.wait_for("ready>"), viewer.screen());
    }
    const std::string before = search.screen();
    BOOST_TEST(eventually([&] { return search.screen() != before; }));
    search.press("q y");
    check_clean_end(search, 130);
    BOOST_TEST(search.shows("Not proven optimal"), search.screen());
}

BOOST_AUTO_TEST_CASE(a_lost_terminal_does_not_end_the_search) {
    Tmux tmux(80, 24);
    tmux.type(tessera_program() + " map" + problem +
              "--mapper random --max-time 4s --threads 1 --ui=tui -o run");
    BOOST_TEST(tmux.wait_for("1 Summary"), tmux.screen());
    tmux.tmux("kill-server");
    BOOST_TEST(eventually([&] { return !tmux.read("run/result.json").empty(); }, 20));
    BOOST_TEST(tmux.read("run/status.json").find("\"state\":\"finished\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(auto_shows_lines_on_a_terminal_too) {
    Tmux tmux(100, 40);
    tmux.run_between_stty(endless(""));
    BOOST_TEST(tmux.wait_for("best edp"), tmux.screen());
    // The line after 5 s: no new mapping, so what is being done and not who found it.
    BOOST_TEST(tmux.wait_for("  search "), tmux.screen());
    BOOST_TEST(!tmux.shows("1 Summary"), tmux.screen());
    tmux.press("C-c");
    check_clean_end(tmux, 130);
    BOOST_TEST(tmux.shows("Not proven optimal"), tmux.screen());
}

BOOST_AUTO_TEST_CASE(a_finished_run_can_be_looked_at) {
    Tmux tmux(80, 24);
    tmux.run_between_stty(tessera_program() + " map" + problem + "-q -o run >/dev/null");
    BOOST_TEST(tmux.wait_end());
    const std::string frame = output_of(tessera_program() + " top --once --size 80x24 " +
                                        (tmux.folder() / "run").string());
    BOOST_TEST(frame.find("FINISHED") != std::string::npos, frame);
    BOOST_TEST(frame.find("matmuls on simba") != std::string::npos, frame);
    BOOST_TEST(frame.find("gap    0.0%") != std::string::npos, frame);
}

BOOST_AUTO_TEST_SUITE_END()
