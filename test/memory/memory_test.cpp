// Searches whose memory runs out: by a limit of the system, and allocation by allocation. Whatever
// fails where, the program says so, delivers what it has, and ends with exit code 5.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/uncaught.hpp"
#include "spec/reader.hpp"
#include "support/child_program.hpp"
#include "tessera/base/json.hpp"
#include "tessera/plugin/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

namespace {

/// Allocations are counted from 1. That of this number finds no memory; 0: all find some.
std::atomic<long> allocations{0}, failing{0};
/// It throws at once, as if there were no reserve.
std::atomic<bool> throwing{false};

void* allocate(std::size_t size) {
    bool fails = ++allocations == failing;
    if (fails && throwing) {
        throw std::bad_alloc();
    }
    for (;; fails = false) {
        void* const block = fails ? nullptr : std::malloc(size == 0 ? 1 : size);
        if (block != nullptr) {
            return block;
        }
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) {
            throw std::bad_alloc();
        }
        handler();
    }
}

}  // namespace

void* operator new(std::size_t size) {
    return allocate(size);
}
void* operator new[](std::size_t size) {
    return allocate(size);
}
void operator delete(void* block) noexcept {
    std::free(block);
}
void operator delete[](void* block) noexcept {
    std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
    std::free(block);
}
void operator delete[](void* block, std::size_t) noexcept {
    std::free(block);
}

namespace {

using namespace tessera;
namespace fs = std::filesystem;

// ---- in the child ----

long number(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? 0 : std::atol(text);
}

/// The command in TESSERA_TEST_COMMAND; says how many allocations it made.
int run_command() {
    std::set_terminate(cli::report_uncaught);
    std::istringstream words(std::getenv("TESSERA_TEST_COMMAND"));
    const std::vector<std::string> args{std::istream_iterator<std::string>(words), {}};
    throwing = number("TESSERA_TEST_THROWING") != 0;
    allocations = 0;
    failing = number("TESSERA_TEST_FAILING");
    const int code = cli::run(args, std::cout, std::cerr);
    failing = 0;
    std::cerr << "allocations: " << allocations << "\n";
    return code;
}

const test::ChildProgram children[] = {{"run", run_command}};

// ---- in the parent ----

struct Ran {
    int code = 0;  ///< 128 + signal if one ended it, 124 if it took too long
    std::string out, err;
};

std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

Ran shell(const std::string& command) {
    const std::string stem =
        (fs::temp_directory_path() / ("tessera-memory-" + std::to_string(::getpid()))).string();
    const std::string line =
        "timeout 120 sh -c '" + command + "' > " + stem + ".out 2> " + stem + ".err";
    const int status = std::system(line.c_str());
    Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            text_of(stem + ".out"), text_of(stem + ".err")};
    fs::remove(stem + ".out");
    fs::remove(stem + ".err");
    return ran;
}

const fs::path self = fs::read_symlink("/proc/self/exe");

/// Allocation `n` fails. `throws`: nothing is kept in reserve for it.
Ran with_failure(const std::string& command, long n, bool throws) {
    return shell(
        "TESSERA_TEST_COMMAND=\"" + command + "\" TESSERA_TEST_FAILING=" + std::to_string(n) +
        " TESSERA_TEST_THROWING=" + (throws ? "1 " : "0 ") + self.string() + " --child run");
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// A result, or exit code 5 with the reason and the hint.
void check_end(const Ran& ran, const std::string& what) {
    const bool expected = ran.code == 0 || ran.code == 5;
    BOOST_TEST(expected, what << ": exit code " << ran.code << "\n" << ran.err);
    if (ran.code == 5) {
        // Where there is no room for a thread's stack, or the time was up first, that is said.
        const bool told = has(ran.err, "--max-memory") ||
                          has(ran.err, "the system starts no more threads") ||
                          has(ran.err, "a limit was hit before any mapping was found");
        BOOST_TEST(told, what << "\n" << ran.err);
    }
    if (ran.code == 0) {
        const bool result = has(ran.out, "Mapping of") || has(ran.out, "\"mappings\": [");
        BOOST_TEST(result, what << "\n" << ran.err);
    }
}

/// How often `run` throws bad_alloc, once for each of its allocations; it throws nothing else.
template <class Run>
long each_allocation_fails(const Run& run) {
    throwing = true;
    long failed = 0;
    for (bool done = false; !done;) {
        allocations = 0;
        failing = failed + 1;
        try {
            run();
            done = true;
        } catch (const std::bad_alloc&) {
            ++failed;
        }
    }
    failing = 0;
    throwing = false;
    return failed;
}

const char* const searches[] = {
    "map -a snowcat -w matmuls -D N_EINSUMS=2 -q --threads 2",
    "map -a simba -w matmuls -D N_EINSUMS=1 -q --threads 2 --mapper random --max-evals 2000",
    "map -a snowcat -w matmuls -D N_EINSUMS=1 -q --threads 2 --mapper exhaustive --max-evals 2000",
    "map -a eyeriss -w matmuls -D N_EINSUMS=1 -q --threads 2 --mapper timeloop --max-evals 2000",
    "map -a snowcat -w matmuls -D N_EINSUMS=1 -q --threads 2 --json",
};

/// The first ones one by one, then ever wider apart.
std::vector<long> sweep(long total) {
    std::vector<long> out;
    for (double at = 1; at < static_cast<double>(total); at = at * 1.6 + 1) {
        out.push_back(static_cast<long>(at));
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(any_allocation_may_fail) {
    for (const std::string search : searches) {
        const Ran whole = with_failure(search, 0, false);
        BOOST_TEST_REQUIRE(whole.code == 0, whole.err);
        const std::size_t at = whole.err.rfind("allocations: ");
        BOOST_TEST_REQUIRE(at != std::string::npos);
        const long total = std::stol(whole.err.substr(at + 13));
        BOOST_TEST_REQUIRE(total > 1000);
        for (const bool throws : {false, true}) {
            for (const long n : sweep(total)) {
                check_end(with_failure(search, n, throws),
                          search + ": " + std::to_string(n) + " of " + std::to_string(total) +
                              (throws ? ", without the reserve" : ""));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_copy_of_a_value_may_fail) {
    const std::string text(40, 'x');  // longer than what a string holds without memory
    const base::Json value{
        {"list", base::Json::array({text, 1, base::Json::array({text, nullptr})})},
        {text, base::Json{{text, true}, {"number", 0.5}}}};
    const long failed = each_allocation_fails([&] {
        const base::Json copy = value;
        BOOST_TEST_REQUIRE((copy == value));
    });
    BOOST_TEST(failed > 5);
}

BOOST_AUTO_TEST_CASE(a_component_may_find_no_memory) {
    plugin::register_builtins();
    for (const char* name : {"ffm", "search", "timeloop"}) {
        const long failed = each_allocation_fails([&] {
            static_cast<void>(plugin::Registry<mapper::Mapper>::instance().create(name, {}));
        });
        BOOST_TEST(failed > 2, name);
    }
}

BOOST_AUTO_TEST_CASE(the_system_may_have_little) {
    const std::string tool = (self.parent_path().parent_path() / "tessera").string();
    const char* const problems[] = {"-a tpu-v4i -w gpt3-6.7b -D BATCH=64 -D TOKENS=2048",
                                    "-a eyeriss -w matmuls -D N_EINSUMS=2"};
    const char* const mappers[] = {"ffm", "random", "exhaustive", "timeloop"};
    int ended = 0, without = 0;
    for (const std::string problem : problems) {
        for (const std::string mapper : mappers) {
            if (mapper == "timeloop" && problem == problems[0]) {
                continue;  // it has no copies
            }
            for (const long mib : {40, 55, 70, 100, 150}) {
                const std::string command = "ulimit -v " + std::to_string(mib * 1024) + "; exec " +
                                            tool + " map " + problem + " --mapper " + mapper +
                                            " -q --threads 2 --max-time 1s --max-evals 100000";
                const Ran ran = shell(command);
                if (has(ran.err, "error while loading shared libraries")) {
                    continue;
                }
                check_end(ran, command);
                ended += ran.code == 5 ? 1 : 0;
                without += ran.code == 0 ? 1 : 0;
            }
        }
    }
    BOOST_TEST(ended > 0);
    BOOST_TEST(without > 0);
}

BOOST_AUTO_TEST_CASE(the_best_mapping_so_far_is_the_result) {
    // Found at once, then the rest of the search finds no memory: mapping, gap, reason, exit code.
    const std::string search =
        "map -a simba -w matmuls -D N_EINSUMS=1 -q --threads 2 --mapper random "
        "--max-evals 2000";
    const Ran whole = with_failure(search, 0, false);
    const long total = std::stol(whole.err.substr(whole.err.rfind("allocations: ") + 13));
    int saved = 0;
    for (long n = total / 4; n < total; n += total / 40) {
        const Ran ran = with_failure(search, n, true);
        check_end(ran, std::to_string(n));
        if (has(ran.err, "the search was stopped with the best mapping so far")) {
            ++saved;
            BOOST_TEST(ran.code == 5);
            BOOST_TEST(has(ran.out, "Mapping of"));
            BOOST_TEST(has(ran.out, "Not proven optimal"));
        }
    }
    BOOST_TEST(saved > 0);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// A chain of matrix products that says in every way what can be said of each Einsum: sizes and
/// iteration spaces of all at one place, of one beside it, renames by its name.
std::string chain_text(int n) {
    std::string names, sizes, shapes, einsums;
    for (int i = 0; i < n; ++i) {
        const std::string here = std::to_string(i), next = std::to_string(i + 1);
        names += "  - {name: E" + here + ", tensor_accesses: {input: T" + here + ", weight: W" +
                 here + "}}\n";
        sizes += "    N" + next + ": N0\n";
        shapes += "    n" + next + ": 0 <= n" + next + " < 8\n";
        einsums += "  - name: E" + here + "\n    rank_sizes: {M: 4}\n    einsum: T" + next +
                   "[m, n" + next + "] = T" + here + "[m, n" + here + "] * W" + here + "[n" + here +
                   ", n" + next + "]\n";
    }
    return "renames:\n  einsums:\n" + names + "workload:\n  rank_sizes:\n    N0: 8\n" + sizes +
           "  iteration_space_shape:\n" + shapes + "  bits_per_value: {All: 8}\n  einsums:\n" +
           einsums;
}

double allocations_of_reading(int n) {
    const std::string text = chain_text(n);
    const long before = allocations;
    workload::read_workload(spec::expand_document(spec::read_text(text, "chain.yaml"), {}));
    return static_cast<double>(allocations - before);
}

}  // namespace

BOOST_AUTO_TEST_CASE(reading_takes_time_linear_in_the_einsums) {
    const double few = allocations_of_reading(200), many = allocations_of_reading(400);
    BOOST_TEST(many < 2.2 * few, "200 Einsums: " << few << " allocations, 400: " << many);
}
