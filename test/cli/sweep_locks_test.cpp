// tessera sweep --share where locks fail: the calls of this program go through the fcntl() below.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "cli/session.hpp"

using namespace tessera::cli_test;

namespace {

std::atomic<int> reason{0};   ///< with which locks of bytes fail; 0: they do not
std::atomic<int> allowed{0};  ///< so many succeed before
std::atomic<int> calls{0};

bool fails() {
    const int call = calls++;
    return reason == EINTR ? call % 2 == 0 : reason != 0 && call >= allowed;
}

struct LocksFail {
    explicit LocksFail(int why, int after = 0) {
        allowed = after;
        calls = 0;
        reason = why;
    }
    ~LocksFail() {
        reason = 0;
    }
};

struct Sweep : Folder {
    std::string arch = file("arch.yaml", small_arch);
    std::string workload = file("workload.yaml",
                                "variables: {ROWS: 16}\n"
                                "workload:\n"
                                "  rank_sizes: {M: ROWS, K: 8, N: 4}\n"
                                "  bits_per_value: {All: 1}\n"
                                "  einsums: ['Y[m, n] = X[m, k] * W[k, n]']\n");

    Outcome run(const std::vector<std::string>& more) const {
        std::vector<std::string> args = {"sweep", "-a",       arch,     "-w", workload, "-q",
                                         "-D",    "ROWS=1:6", "--jobs", "1",  "-o",     at("out")};
        args.insert(args.end(), more.begin(), more.end());
        return invoke(args);
    }
    std::size_t found() const {
        std::size_t n = 0;
        for (const auto& one : std::filesystem::directory_iterator(at("out"))) {
            const std::string name = one.path().filename().string();
            const std::string text = name.starts_with("points-") ? read("out/" + name) : "";
            n += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
        }
        return n;
    }
};

}  // namespace

extern "C" int fcntl(int file, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    if (command == F_OFD_SETLK && fails()) {
        errno = reason;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_fcntl, file, command, argument));
}

BOOST_AUTO_TEST_SUITE(sweep_locks)

BOOST_AUTO_TEST_CASE(locks_that_fail_end_a_shared_sweep_with_the_reason) {
    for (const int why : {ENOLCK, EOPNOTSUPP, EINVAL, EIO}) {
        const Sweep sweep;
        Outcome outcome;
        {
            const LocksFail fail(why);
            outcome = sweep.run({"--share"});
        }
        BOOST_TEST(outcome.code == 2);
        BOOST_TEST(outcome.says(sweep.at("out/claims") + " cannot be locked: " + strerror(why)),
                   outcome.err);
        BOOST_TEST(outcome.says("--shard"), outcome.err);
        BOOST_TEST(!sweep.has("out/result.json"));
        // What the message advises works.
        BOOST_TEST(sweep.run({"--resume"}).code == 0);
        BOOST_TEST(sweep.has("out/result.json"));
    }
}

BOOST_AUTO_TEST_CASE(locks_that_fail_later_leave_what_was_found) {
    for (const int after : {1, 3, 6, 12}) {
        const Sweep sweep;
        Outcome outcome;
        {
            const LocksFail fail(ENOLCK, after);
            outcome = sweep.run({"--share"});
        }
        BOOST_TEST(outcome.code == 2);
        BOOST_TEST(outcome.says("cannot be locked"), outcome.err);
        BOOST_TEST(sweep.found() == static_cast<std::size_t>((after + 1) / 2));
        BOOST_TEST(sweep.run({"--resume"}).code == 0);
    }
}

BOOST_AUTO_TEST_CASE(an_interrupted_lock_is_tried_again) {
    const Sweep sweep;
    const LocksFail fail(EINTR);
    BOOST_TEST(sweep.run({"--share"}).code == 0);
    BOOST_TEST(calls > 12);
    BOOST_TEST(sweep.found() == 6u);
}

BOOST_AUTO_TEST_SUITE_END()
