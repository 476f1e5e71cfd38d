#include "tessera/base/parallel.hpp"

#include <pthread.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/child_program.hpp"

using namespace tessera;

namespace {

/// Squares of all indices.
std::vector<std::size_t> squares(std::size_t n, int threads) {
    std::vector<std::size_t> out(n, 0);
    base::parallel_for(n, threads, [&](std::size_t i, int) { out[i] += i * i; });
    return out;
}

/// Where no thread can be started, the caller does the work.
int without_threads() {
    // No stack of this size finds room. A limit on all memory would end a sanitizer, too.
    pthread_attr_t huge;
    ::pthread_attr_init(&huge);
    ::pthread_attr_setstacksize(&huge, std::size_t{1} << 50);
    ::pthread_setattr_default_np(&huge);
    try {
        std::thread([] {}).join();
        return 2;  // nothing is tested
    } catch (const std::system_error&) {
    }
    std::atomic<int> sum{0};
    base::parallel_for(100, 4, [&](std::size_t i, int thread) {
        sum += thread == 0 ? static_cast<int>(i) : 100000;
    });
    return sum == 4950 ? 0 : 1;
}

const test::ChildProgram children[] = {{"without-threads", without_threads}};

}  // namespace

BOOST_AUTO_TEST_SUITE(parallel)

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_number_of_threads) {
    const std::vector<std::size_t> one = squares(1000, 1);
    BOOST_TEST(one[999] == 999u * 999u);
    for (const int threads : {0, 2, 3, 8}) {
        BOOST_TEST((squares(1000, threads) == one));
    }
    BOOST_TEST(squares(0, 4).empty());
}

BOOST_AUTO_TEST_CASE(a_number_of_a_thread_is_used_by_one_at_a_time) {
    base::Threads threads(4);
    BOOST_TEST(threads.size() == 4);
    std::vector<int> sums(4, 0);  // no atomics
    for (int round = 0; round < 50; ++round) {
        threads.for_each(100, [&](std::size_t, int thread) { ++sums[thread]; });
    }
    BOOST_TEST(std::accumulate(sums.begin(), sums.end(), 0) == 5000);
}

BOOST_AUTO_TEST_CASE(the_first_exception_comes_back_and_ends_the_loop) {
    for (const int n : {1, 4}) {
        base::Threads threads(n);
        std::atomic<int> begun{0};
        const auto work = [&](std::size_t i, int) {
            ++begun;
            if (i == 3) {
                throw std::runtime_error("the fourth");
            }
            // Others run until they hear of it.
            while (n > 1 && i > 3) {
                base::poll_stop();
            }
        };
        BOOST_CHECK_EXCEPTION(
            threads.for_each(1000, work), std::runtime_error,
            [](const std::runtime_error& e) { return e.what() == std::string("the fourth"); });
        BOOST_TEST(begun < 20);
        int again = 0;
        threads.for_each(1, [&](std::size_t, int) { ++again; });
        BOOST_TEST(again == 1);
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_exception_class_comes_back_too) {
    const auto work = [](std::size_t i, int) {
        if (i == 1) {
            throw 42;
        }
    };
    BOOST_CHECK_THROW(base::parallel_for(5, 2, work), int);
}

BOOST_AUTO_TEST_CASE(the_stop_token_of_the_caller_is_that_of_all_threads) {
    std::atomic<bool> stop{false};
    std::atomic<int> begun{0};
    const base::StopScope scope({&stop});
    const auto work = [&](std::size_t i, int) {
        ++begun;
        stop = stop || i == 5;
        while (i >= 5) {
            base::poll_stop();
        }
    };
    BOOST_CHECK_THROW(base::parallel_for(1000, 3, work), base::Stopped);
    BOOST_TEST(begun < 20);
}

BOOST_AUTO_TEST_CASE(a_loop_inside_another_ends_with_it) {
    const auto outer = [&](std::size_t i, int) {
        if (i == 1) {
            throw std::bad_alloc();
        }
        base::parallel_for(std::size_t{1} << 60, 1, [](std::size_t, int) {});
    };
    BOOST_CHECK_THROW(base::parallel_for(2, 2, outer), std::bad_alloc);
}

BOOST_AUTO_TEST_CASE(threads_that_cannot_be_started_are_done_without) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    BOOST_TEST(std::system((self + " --child without-threads").c_str()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
