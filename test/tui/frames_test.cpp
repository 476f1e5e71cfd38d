// Frames of searches that run, at three sizes, on a real terminal: what each shows of the best
// mapping, its costs and the way there.
#include <boost/test/unit_test.hpp>
#include <map>

#include "support/child_program.hpp"
#include "tmux.hpp"

using namespace tessera;
using namespace tessera::tui_test;

namespace {

struct Size {
    int width, height;
};
constexpr Size sizes[] = {{80, 24}, {120, 40}, {200, 60}};

std::string search(const std::string& options) {
    return tessera_program() + " map -a simba -w gpt3-6.7b --max-time 60s --threads 1 --ui=tui " +
           options;
}

/// Every box is closed and no line is longer than the terminal.
void check_frame(const Tmux& tmux, const std::string& screen, const Size& size) {
    std::istringstream lines(screen);
    int rows = 0;
    for (std::string line; std::getline(lines, line); ++rows) {
        const auto glyphs =
            std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
        BOOST_TEST(glyphs <= size.width, line);
    }
    BOOST_TEST(rows <= size.height);
    BOOST_TEST(tmux.shows("RUNNING"), screen);
}

/// What the frame has to say at each size, and what a key brings up where there is no room.
void check_search(const std::string& options, const std::vector<std::string>& always,
                  const std::vector<std::string>& largest) {
    for (const Size& size : sizes) {
        Tmux tmux(size.width, size.height);
        tmux.run_between_stty(search(options));
        for (const std::string& part : always) {
            BOOST_TEST(tmux.wait_for(part), options << ": " << part << "\n" << tmux.screen());
        }
        for (const std::string& part : size.width == 200 ? largest : std::vector<std::string>{}) {
            BOOST_TEST(tmux.wait_for(part), options << ": " << part << "\n" << tmux.screen());
        }
        check_frame(tmux, tmux.screen(), size);
        tmux.press("9");
        BOOST_TEST(tmux.wait_for("9 Mapping"), tmux.screen());
        BOOST_TEST(tmux.wait_for("holds"), tmux.screen());
        tmux.press("0");
        BOOST_TEST(tmux.wait_for("MainMemory"), tmux.screen());
        check_frame(tmux, tmux.screen(), size);
        tmux.press("C-c");
        BOOST_TEST(tmux.wait_end(), tmux.screen());
        BOOST_TEST(tmux.code() == 130, tmux.screen());
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frames)

BOOST_AUTO_TEST_CASE(of_ffm_with_partial_tiles) {
    check_search("--imperfect-temporal --imperfect-spatial",
                 {"1 Summary", "2 Incumbents", "0 Costs", "component", "J s"},
                 {"trips)", "Einsum", "class bounds"});
}

BOOST_AUTO_TEST_CASE(of_a_strategy) {
    check_search("--mapper annealing", {"1 Summary", "0 Costs", "component", "no bound: heuristic"},
                 {"trips)", "incompatible"});
}

BOOST_AUTO_TEST_CASE(of_a_pareto_set) {
    check_search("--mapper random --metric energy,latency", {"1 Summary", "0 Costs", "component"},
                 {"5 Pareto", "trips)"});
}

BOOST_AUTO_TEST_SUITE_END()
