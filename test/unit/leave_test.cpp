// Tables that nobody needs are freed, unless the process ends anyway.
#include "base/leave.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "support/child_program.hpp"

using namespace tessera;

namespace {

/// Counts what is freed.
struct Table {
    explicit Table(int& freed_) : freed(&freed_) {}
    Table(Table&& other) noexcept : freed(std::exchange(other.freed, nullptr)) {}
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
    ~Table() {
        if (freed != nullptr) {
            ++*freed;
        }
    }
    int* freed;
};

int scope_with_table(bool stopped) {
    int freed = 0;
    const std::atomic<bool> stop{stopped};
    const base::StopScope scope({&stop});
    { const base::LeftOnStop<Table> table(freed); }
    return freed;
}

/// In a process that ends after its search.
int in_a_process_that_ends() {
    base::end_process_after_search();
    int freed = 0;
    base::leave(Table(freed));
    const bool left = freed == 0 && base::objects_left() == 1;
    const bool goes_on = scope_with_table(false) == 1 && base::objects_left() == 1;
    const bool stopped = scope_with_table(true) == 0 && base::objects_left() == 2;
    return left && goes_on && stopped ? 0 : 1;
}

const test::ChildProgram children[] = {{"process-that-ends", in_a_process_that_ends}};

}  // namespace

BOOST_AUTO_TEST_SUITE(leave)

BOOST_AUTO_TEST_CASE(a_process_that_goes_on_frees_everything) {
    int freed = 0;
    base::leave(Table(freed));
    BOOST_TEST(freed == 1);
    BOOST_TEST(scope_with_table(false) == 1);
    BOOST_TEST(scope_with_table(true) == 1);
    BOOST_TEST(base::objects_left() == 0u);
}

BOOST_AUTO_TEST_CASE(a_process_that_ends_leaves_what_a_stop_cuts_short) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    BOOST_TEST(std::system((self + " --child process-that-ends").c_str()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
