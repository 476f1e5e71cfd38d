// tessera compare --instances with the dashboard, on a real terminal: all searches at once, one by
// itself, one stopped, the terminal given back.
#include <boost/test/unit_test.hpp>

#include "cli/cli.hpp"
#include "support/child_program.hpp"
#include "tmux.hpp"

using namespace tessera;
using namespace tessera::tui_test;

namespace {

/// Four searches that end only when they are asked to.
void begin(const Tmux& tmux, const std::string& options) {
    std::ofstream(tmux.folder() / "field.yaml")
        << "- {name: small, arch: simba, workload: matmuls, define: {N_EINSUMS: 2}}\n";
    tmux.run_between_stty(tessera_program() +
                          " compare --instances field.yaml --mapper random,annealing --seeds 2 "
                          "--jobs 2 --max-time 60s --ui tui " +
                          options);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(compare_command)

BOOST_AUTO_TEST_CASE(searches_are_watched_inspected_and_stopped_one_by_one) {
    Tmux tmux(120, 30);
    begin(tmux, "-o field");
    BOOST_TEST(tmux.wait_for("> a random"), tmux.screen());
    BOOST_TEST(tmux.wait_for("b annealing"), tmux.screen());
    BOOST_TEST(tmux.wait_for("leads"), tmux.screen());
    // The folder tells it to others.
    BOOST_TEST(eventually([&] {
        return output_of("cd " + tmux.folder().string() + " && " + tessera_program() +
                         " top --once --panel comparison --size 120x30 field")
                   .find("annealing") != std::string::npos;
    }));
    tmux.press("i");
    BOOST_TEST(tmux.wait_for("4 Funnel"), tmux.screen());
    BOOST_TEST(tmux.wait_for("matmuls on simba"), tmux.screen());
    tmux.press("i");
    BOOST_TEST(tmux.wait_for("> a random"), tmux.screen());
    tmux.press("x");
    BOOST_TEST(tmux.wait_for("Stop the marked search?"), tmux.screen());
    tmux.press("y");
    // The next search takes its place, on the page of the next seed.
    BOOST_TEST(tmux.wait_for("seed 1"), tmux.screen());
    tmux.press("[");
    BOOST_TEST(tmux.wait_for("seed 0"), tmux.screen());
    BOOST_TEST(tmux.wait_for("feasible"), tmux.screen());
    tmux.press("q");
    BOOST_TEST(tmux.wait_for("d close this view only"), tmux.screen());
    tmux.press("y");
    check_clean_end(tmux, 130);
    BOOST_TEST(tmux.shows("1 search stopped by hand"), tmux.screen());
    BOOST_TEST(tmux.read("field/trials.csv").find(",stop,") != std::string::npos);
    BOOST_TEST(tmux.read("field/status.json").find("\"interrupted\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_view_is_closed_and_the_comparison_goes_on_with_lines) {
    Tmux tmux(100, 30);
    begin(tmux, "");
    BOOST_TEST(tmux.wait_for("> a random"), tmux.screen());
    BOOST_TEST(tmux.wait_for("leads"), tmux.screen());
    tmux.press("x");
    tmux.press("y");
    BOOST_TEST(tmux.wait_for("seed 1"), tmux.screen());
    tmux.press("d");
    BOOST_TEST(eventually([&] { return tmux.looks_like_a_shell(); }));
    BOOST_TEST(tmux.tmux("display-message -p '#{pane_current_command}'") != "sh\n");
    tmux.press("C-c");
    check_clean_end(tmux, 130);
    BOOST_TEST(tmux.shows("Comparison of 2 mappers"), tmux.screen());
}

BOOST_AUTO_TEST_SUITE_END()
