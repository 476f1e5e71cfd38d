// Tasks in child processes: what each says, and how those end that go wrong.
#include "base/process_pool.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <map>
#include <set>
#include <vector>

using namespace tessera::base;

namespace {

std::map<std::size_t, ChildEnd> run(std::size_t n, const ProcessPoolOptions& options,
                                    const std::function<void(std::size_t, int)>& body) {
    std::vector<std::size_t> tasks;
    for (std::size_t i = 0; i < n; ++i) {
        tasks.push_back(i);
    }
    std::map<std::size_t, ChildEnd> ends;
    const auto done = [&](std::size_t task, const ChildEnd& end) { ends[task] = end; };
    BOOST_TEST(run_in_children(tasks, options, body, done, nullptr));
    return ends;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(process_pool)

BOOST_AUTO_TEST_CASE(every_task_says_what_it_has_to_say) {
    ProcessPoolOptions options;
    options.jobs = 3;
    const auto ends = run(7, options, [](std::size_t task, int pipe) {
        write_to_pipe(pipe, std::string(200'000, static_cast<char>('a' + task)));
    });
    BOOST_TEST(ends.size() == 7U);
    for (const auto& [task, end] : ends) {
        BOOST_TEST(end.failed == "");
        BOOST_TEST((end.text == std::string(200'000, static_cast<char>('a' + task))));
        BOOST_TEST(end.peak_memory_bytes > 0U);
    }
}

BOOST_AUTO_TEST_CASE(whole_lines_are_told_at_once_and_the_rest_is_the_answer) {
    std::map<std::size_t, std::vector<std::string>> lines;
    std::set<std::size_t> started;
    ProcessPoolOptions options;
    options.jobs = 2;
    options.line = [&](std::size_t task, const std::string& line) { lines[task].push_back(line); };
    options.started = [&](std::size_t task) { started.insert(task); };
    bool asked = false;
    options.turn = [&](const SignalTask& signal) {
        // Task 1 waits for a signal that comes once its first line is heard.
        if (!asked && lines[1].size() == 1) {
            asked = true;
            BOOST_TEST(signal(1, SIGUSR1));
            BOOST_TEST(!signal(7, SIGUSR1));
        }
    };
    const auto ends = run(3, options, [](std::size_t task, int pipe) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        ::sigprocmask(SIG_BLOCK, &set, nullptr);
        write_to_pipe(pipe, "one\ntw");
        write_to_pipe(pipe, "");
        if (task == 1) {
            write_to_pipe(pipe, "o");
            int number = 0;
            ::sigwait(&set, &number);
            write_to_pipe(pipe, "\n\nthe ans");
        } else {
            write_to_pipe(pipe, "o\n\nthe ans");
        }
        write_to_pipe(pipe, "wer");
    });
    BOOST_TEST(asked);
    BOOST_TEST(started.size() == 3U);
    for (const auto& [task, end] : ends) {
        BOOST_TEST(end.text == "the answer");
        BOOST_TEST(lines[task] == (std::vector<std::string>{"one", "two", ""}),
                   boost::test_tools::per_element());
    }
}

// An interrupt of the whole group cuts what children find short: it is no answer.
BOOST_AUTO_TEST_CASE(nothing_is_told_of_a_child_that_ends_after_the_stop) {
    std::atomic<bool> stop{false};
    ProcessPoolOptions options;
    options.line = [&](std::size_t, const std::string&) { stop = true; };
    bool told = false;
    BOOST_TEST(!run_in_children(
        std::vector<std::size_t>{0}, options,
        [](std::size_t, int pipe) { write_to_pipe(pipe, "news\nan answer"); },
        [&](std::size_t, const ChildEnd&) { told = true; }, &stop));
    BOOST_TEST(!told);
}

BOOST_AUTO_TEST_CASE(what_goes_wrong_ends_its_task_only) {
    ProcessPoolOptions options;
    options.jobs = 2;
    options.limit_s = 0.5;
    const auto ends = run(5, options, [](std::size_t task, int pipe) {
        if (task == 1) {
            ::signal(SIGSEGV, SIG_DFL);
            ::raise(SIGSEGV);
        } else if (task == 2) {
            throw 1;
        } else if (task == 3) {
            ::pause();
        }
        write_to_pipe(pipe, "done");
    });
    BOOST_TEST(ends.at(0).text == "done");
    BOOST_TEST(ends.at(1).failed.find("signal 11") != std::string::npos, ends.at(1).failed);
    BOOST_TEST(ends.at(2).failed == "its process ended with code 1");
    BOOST_TEST(ends.at(3).failed.find("did not end within") != std::string::npos);
    BOOST_TEST(ends.at(4).failed == "");
    BOOST_TEST(ends.at(4).text == "done");
}

BOOST_AUTO_TEST_CASE(a_child_has_no_file_of_its_parent_but_its_pipe) {
    const int before = ::dup(STDOUT_FILENO), after = ::fcntl(before, F_DUPFD, 900);
    BOOST_TEST_REQUIRE(after >= 900);
    const auto ends = run(1, {}, [&](std::size_t, int pipe) {
        std::string open;
        for (int file = 0; file < 1024; ++file) {
            open += ::fcntl(file, F_GETFD) >= 0 && file != pipe ? std::to_string(file) + " " : "";
        }
        write_to_pipe(pipe, open);
    });
    ::close(before);
    ::close(after);
    BOOST_TEST(ends.at(0).text == "0 1 2 ");
}

BOOST_AUTO_TEST_CASE(a_pinned_child_has_one_core) {
    ProcessPoolOptions options;
    options.pin = true;
    const auto ends = run(1, options, [](std::size_t, int pipe) {
        cpu_set_t set;
        CPU_ZERO(&set);
        ::sched_getaffinity(0, sizeof set, &set);
        write_to_pipe(pipe, std::to_string(CPU_COUNT(&set)));
    });
    BOOST_TEST(ends.at(0).text == "1");
}

BOOST_AUTO_TEST_CASE(a_stop_kills_those_that_run) {
    std::atomic<bool> stop{false};
    std::size_t ended = 0;
    const bool whole = run_in_children(
        {0, 1, 2}, {}, [](std::size_t task, int) { task == 0 ? 0 : ::pause(); },
        [&](std::size_t, const ChildEnd&) {
            ++ended;
            stop = true;
        },
        &stop);
    BOOST_TEST(!whole);
    BOOST_TEST(ended == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
