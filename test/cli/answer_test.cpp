// The answer stays on the screen: what is asked for comes last, and lines follow the width.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "cli/session.hpp"
#include "cli/table.hpp"

using namespace tessera;
using namespace tessera::cli_test;

namespace {

Outcome mapped(const Args& more) {
    return invoke(
        joined({"map", "-a", "simple", "-w", "three-matmuls", "-q", "--threads", "1"}, more));
}

/// Whether they stand in this order.
bool in_order(const std::string& text, const std::vector<std::string>& parts) {
    std::size_t at = 0;
    for (const std::string& part : parts) {
        at = text.find(part, at);
        if (at == std::string::npos) {
            return false;
        }
        at += part.size();
    }
    return true;
}

std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::size_t widest(const std::string& text) {
    std::istringstream in(text);
    std::size_t result = 0;
    for (std::string line; std::getline(in, line);) {
        result = std::max(result, line.size());
    }
    return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(answer)

BOOST_AUTO_TEST_CASE(a_search_fits_on_a_screen_and_the_tree_is_in_its_folder) {
    const Folder folder;
    const std::string run = folder.at("run");
    const Outcome short_one = mapped({"-o", run});
    BOOST_TEST(short_one.code == 0, short_one.err);
    BOOST_TEST(!short_one.prints("LoopTree:"), short_one.out);
    BOOST_TEST(lines(short_one.out) < 24U, short_one.out);
    const Outcome with_tree = mapped({"--tree"});
    BOOST_TEST(in_order(with_tree.out, {"LoopTree:", "Fused Einsums:", "  energy ", "  EDP ",
                                        "Search: ", "Proven optimal for edp", "  Space: "}),
               with_tree.out);
    std::istringstream tree(folder.read("run/looptree.txt"));
    std::size_t found = 0;
    for (std::string line; std::getline(tree, line); ++found) {
        BOOST_TEST(with_tree.prints("  " + line + "\n"), line);
    }
    BOOST_TEST(found > 3U);
}

BOOST_AUTO_TEST_CASE(tables_that_were_asked_for_end_an_evaluation) {
    const Folder folder;
    const std::string run = folder.at("run");
    BOOST_TEST(mapped({"-o", run}).code == 0);
    const Args model = {"model",         "-a", "simple", "-w",
                        "three-matmuls", "-q", "-m",     run + "/mapping.yaml"};
    const Outcome plain = invoke(model);
    BOOST_TEST(!plain.prints("LoopTree:"), plain.out);
    BOOST_TEST(in_order(plain.out, {"occupancy", "Peak occupancy:", "  EDP "}), plain.out);
    const Outcome tables = invoke(joined(model, {"--by", "einsum", "--top", "1", "-v"}));
    BOOST_TEST(in_order(tables.out, {"LoopTree:", "  EDP ", "Einsums (1 of 3):"}), tables.out);
    BOOST_TEST(!tables.prints("Peak occupancy:"), tables.out);
    BOOST_TEST(lines(tables.out.substr(tables.out.find("Einsums (1"))) == 3U, tables.out);
}

BOOST_AUTO_TEST_CASE(a_result_without_a_proof_ends_with_what_to_try) {
    const Outcome strategy = mapped({"--mapper", "random", "--max-evals", "50"});
    BOOST_TEST(
        in_order(strategy.out, {"Search: ", "Not proven optimal: --max-evals stopped the search.",
                                "To try, in this order:\n  --mapper ffm ", "a strategy proves none",
                                "a higher --max-evals", "the best mapping came after "}),
        strategy.out);
    const Outcome wide = mapped({"--max-evals", "1", "--imperfect-temporal"});
    BOOST_TEST(!wide.prints("--mapper ffm"), wide.out);
    if (wide.code == 0) {
        BOOST_TEST(in_order(wide.out, {"To try", "whole tiles alone", "--max-fused-loops 1"}),
                   wide.out);
    }
    BOOST_TEST(!mapped({}).prints("To try"));
}

BOOST_AUTO_TEST_CASE(tables_wider_than_the_terminal_go_on_below) {
    const std::vector<std::vector<std::string>> rows = {
        {"  name", "energy", "latency", "share"}, {"  a", "1", "2", "3"}, {"  bb", "4", "5", "6"}};
    std::ostringstream free, narrow;
    cli::print_table_within(free, rows, 1, 0);
    BOOST_TEST(free.str() ==
               "  name  energy  latency  share\n  a          1        2      3\n"
               "  bb         4        5      6\n");
    cli::print_table_within(narrow, rows, 1, 23);
    BOOST_TEST(narrow.str() ==
               "  name  energy  latency\n  a          1        2\n"
               "  bb         4        5\n  name  share\n  a         3\n"
               "  bb        6\n");
}

BOOST_AUTO_TEST_CASE(lines_wider_than_the_terminal_are_broken_between_words) {
    const std::string line = "  spent in Main 50 %, Buffer 30 %, MAC 20 %";
    std::ostringstream free, narrow, word;
    cli::print_line_within(free, line, 11, 0);
    BOOST_TEST(free.str() == line + "\n");
    cli::print_line_within(narrow, line, 11, 24);
    BOOST_TEST(narrow.str() ==
               "  spent in Main 50 %,\n           Buffer 30 %,\n"
               "           MAC 20 %\n");
    BOOST_TEST(widest(narrow.str()) <= 24U);
    cli::print_line_within(word, std::string(50, 'x'), 11, 24);
    BOOST_TEST(word.str() == std::string(50, 'x') + "\n");
}

BOOST_AUTO_TEST_SUITE_END()
