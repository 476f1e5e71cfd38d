// The one entry point that every test executable shares. Boost's own summary counts cases that a
// crash kept from running as passed; the protocol written here lets tools/run-tests count honestly.
#define BOOST_TEST_MODULE tessera
#define BOOST_TEST_NO_MAIN
#include <boost/test/results_collector.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/tree/traverse.hpp>
#include <boost/test/tree/visitor.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "support/child_program.hpp"

namespace {

namespace ut = boost::unit_test;

/// Writes to the file named by TESSERA_TEST_PROTOCOL: `plan N` first, then one line per finished
/// case, `pass NAME`, `fail NAME`, or `skip NAME` if it lacks what it needs on this machine. A case
/// that checks nothing fails.
class Protocol : public ut::test_observer {
public:
    Protocol() {
        if (std::getenv("TESSERA_TEST_PROTOCOL") != nullptr) {
            ut::framework::register_observer(*this);
        }
    }

    void test_start(ut::counter_t cases, ut::test_unit_id) override {
        // Not before: a child program of a test is this executable, too.
        file_.open(std::getenv("TESSERA_TEST_PROTOCOL"));
        file_ << "plan " << cases << std::endl;
    }

    void test_unit_finish(const ut::test_unit& unit, unsigned long) override {
        if (unit.p_type != ut::TUT_CASE) {
            return;
        }
        const ut::test_results& result = ut::results_collector.results(unit.p_id);
        const bool empty = result.p_assertions_passed == 0 && result.passed();
        if (empty) {
            std::cerr << "error: in \"" << unit.full_name() << "\": the case checks nothing\n";
        }
        file_ << (result.passed() && !empty ? "pass " : "fail ") << unit.full_name() << std::endl;
    }

    void test_unit_skipped(const ut::test_unit& unit, ut::const_string reason) override {
        if (unit.p_type == ut::TUT_CASE && reason != "disabled") {
            std::cerr << "skipped: " << unit.full_name() << ": " << reason << "\n";
            file_ << "skip " << unit.full_name() << std::endl;
        }
    }

    // After the collector of results.
    int priority() override {
        return 100;
    }

private:
    std::ofstream file_;
};

Protocol protocol;

/// Disables all cases but every `parts`-th one.
class OnePart : public ut::test_tree_visitor {
public:
    OnePart(int part, int parts) : part_(part), parts_(parts) {}

    void visit(const ut::test_case& one) override {
        if (at_++ % parts_ != part_ - 1) {
            ut::framework::get<ut::test_case>(one.p_id).p_default_status.value =
                ut::test_unit::RS_DISABLED;
        }
    }

private:
    int part_, parts_, at_ = 0;
};

/// TESSERA_TEST_PART=1/2: the first of two parts of the cases, which can run beside the other.
bool init() {
    const char* const text = std::getenv("TESSERA_TEST_PART");
    int part = 0, parts = 0;
    if (text == nullptr) {
        return init_unit_test();
    }
    if (std::sscanf(text, "%d/%d", &part, &parts) != 2 || part < 1 || part > parts) {
        std::cerr << "TESSERA_TEST_PART=" << text << ": give k/n, such as 1/2\n";
        return false;
    }
    const bool ready = init_unit_test();
    OnePart visitor(part, parts);
    ut::traverse_test_tree(ut::framework::master_test_suite(), visitor, true);
    return ready;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--child") {
        return tessera::test::run_child_program(argv[2]);
    }
    return ut::unit_test_main(&init, argc, argv);
}
