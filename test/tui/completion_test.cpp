// Completion in a bash that a person types into.
#include <boost/test/unit_test.hpp>

#include "tmux.hpp"

using namespace tessera::tui_test;

namespace {

/// A bash with the completion of the program under test.
void start_bash(const Tmux& tmux) {
    const std::string folder = std::filesystem::path(tessera_program()).parent_path().string();
    tmux.type("bash --norc --noprofile");
    tmux.type("PS1='$ '; PATH=" + folder + ":$PATH; . <(tessera completion bash); clear; echo ok");
    BOOST_TEST_REQUIRE(tmux.wait_for("ok"), tmux.screen());
}

/// What the line becomes by a Tab after `typed`.
void check_tab(const Tmux& tmux, const std::string& typed, const std::string& completed) {
    tmux.press("C-u C-l");
    tmux.tmux("send-keys -l -- '" + typed + "'");
    tmux.press("Tab");
    BOOST_TEST(tmux.wait_for("$ " + completed, 5), typed << ":\n" << tmux.screen());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(completion)

BOOST_AUTO_TEST_CASE(a_tab_completes_commands_options_names_and_values) {
    const Tmux tmux(100, 30);
    start_bash(tmux);
    check_tab(tmux, "tessera com", "tessera comp");  // compare and completion
    check_tab(tmux, "tessera expl", "tessera explain");
    check_tab(tmux, "tessera map --imperfect-t", "tessera map --imperfect-temporal");
    check_tab(tmux, "tessera map -a tpu", "tessera map -a tpu-v4i");
    check_tab(tmux, "tessera map -w gpt3-6", "tessera map -w gpt3-6.7b");
    check_tab(tmux, "tessera map --mapper ann", "tessera map --mapper annealing");
    check_tab(tmux, "tessera map --metric lat", "tessera map --metric latency");
    check_tab(tmux, "tessera help ru", "tessera help ru");  // nothing of that name
    tmux.press("C-u");
    tmux.tmux("send-keys -l -- 'tessera map --max-'");
    tmux.press("Tab Tab");
    BOOST_TEST(tmux.wait_for("--max-memory", 5), tmux.screen());
}

BOOST_AUTO_TEST_SUITE_END()
