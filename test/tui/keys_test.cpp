// Keys and numbers.
#include <boost/test/unit_test.hpp>

#include "dashboard/keys.hpp"
#include "dashboard/numbers.hpp"
#include "samples.hpp"

using namespace tessera;
using namespace tessera::dashboard;

namespace {

struct Terminal {
    View view;
    Size size{80, 24};
    telemetry::Snapshot snapshot = tui_test::running_snapshot();

    Request press(Key key) {
        return react(view, key, render(size, snapshot, view));
    }
    Request press(char32_t c) {
        return press(Key{Key::Kind::character, c, 0, 0});
    }
    Request press(Key::Kind kind) {
        return press(Key{kind, 0, 0, 0});
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(keys_of_the_dashboard)

BOOST_AUTO_TEST_CASE(digits_and_tab_choose_panels) {
    Terminal terminal;
    for (int i = 0; i < panel_count; ++i) {
        terminal.press(static_cast<char32_t>(U"1234567890"[i]));
        BOOST_TEST(static_cast<int>(terminal.view.focus) == i);
    }
    terminal.press(Key::Kind::tab);
    BOOST_TEST((terminal.view.focus == Panel::summary));
    terminal.press(Key::Kind::back_tab);
    BOOST_TEST((terminal.view.focus == Panel::costs));
    terminal.press(Key::Kind::escape);
    BOOST_TEST((terminal.view.focus == Panel::summary));
}

BOOST_AUTO_TEST_CASE(scrolling_stops_at_the_ends) {
    Terminal terminal;
    terminal.press(U'8');
    for (int i = 0; i < 100; ++i) {
        terminal.press(U'k');
    }
    const int limit = terminal.view.scroll_of(Panel::log);
    BOOST_TEST(limit > 0);
    BOOST_TEST(limit < 40);
    terminal.press(U'j');
    BOOST_TEST(terminal.view.scroll_of(Panel::log) == limit - 1);
    terminal.press(Key::Kind::end);
    BOOST_TEST(terminal.view.scroll_of(Panel::log) == 0);
    terminal.press(Key::Kind::home);
    BOOST_TEST(terminal.view.scroll_of(Panel::log) == limit);
}

BOOST_AUTO_TEST_CASE(a_viewer_quits_at_once_and_an_owner_is_asked) {
    Terminal viewer;
    BOOST_TEST((viewer.press(U'q') == Request::close));
    Terminal owner;
    owner.view.owner = owner.view.control = true;
    BOOST_TEST((owner.press(U'q') == Request::none));
    BOOST_TEST((owner.view.question == Question::quit));
    BOOST_TEST((owner.press(U'x') == Request::none));
    BOOST_TEST((owner.view.question == Question::quit));
    BOOST_TEST((owner.press(U'n') == Request::none));
    BOOST_TEST((owner.view.question == Question::none));
    owner.press(Key::Kind::f10);
    BOOST_TEST((owner.press(U'd') == Request::close));
    owner.press(U'q');
    BOOST_TEST((owner.press(U'y') == Request::stop));
}

BOOST_AUTO_TEST_CASE(stopping_is_confirmed_and_needs_control) {
    Terminal viewer;
    BOOST_TEST((viewer.press(U's') == Request::none));
    BOOST_TEST((viewer.view.question == Question::none));
    BOOST_TEST(!viewer.view.message.empty());
    BOOST_TEST((viewer.press(U'c') == Request::none));
    viewer.view.control = true;
    viewer.press(U's');
    BOOST_TEST((viewer.view.question == Question::stop));
    BOOST_TEST((viewer.press(U'y') == Request::stop));
    BOOST_TEST((viewer.press(U'c') == Request::checkpoint));
}

BOOST_AUTO_TEST_CASE(no_key_means_something_else_in_another_panel) {
    // Each character, in each panel: the request and the change of the view are the same, but for
    // what is scrolled and focused.
    for (char32_t c = 0x20; c < 0x7f; ++c) {
        std::vector<Request> requests;
        std::vector<std::string> changes;
        for (int i = 0; i < panel_count; ++i) {
            Terminal terminal;
            terminal.size = {40, 10};
            terminal.view.focus = static_cast<Panel>(i);
            requests.push_back(terminal.press(c));
            const View& v = terminal.view;
            changes.push_back(std::to_string(static_cast<int>(v.page)) + v.message +
                              std::to_string(v.paused) + std::to_string(v.alone) +
                              std::to_string(v.typing_filter) + std::to_string(v.rate_hz) +
                              name(v.symbols) + std::to_string(static_cast<int>(v.theme)));
        }
        for (int i = 1; i < panel_count; ++i) {
            BOOST_TEST((requests[0] == requests[static_cast<std::size_t>(i)]));
            BOOST_TEST(changes[0] == changes[static_cast<std::size_t>(i)]);
        }
    }
}

BOOST_AUTO_TEST_CASE(searches_of_a_comparison_are_inspected_and_stopped) {
    Terminal terminal;
    BOOST_TEST((terminal.press(U'i') == Request::none));  // a search is shown, not a comparison
    BOOST_TEST((terminal.press(U'x') == Request::none));
    BOOST_TEST((terminal.press(U']') == Request::none));
    BOOST_TEST(!terminal.view.message.empty());
    terminal.snapshot = tui_test::comparing_snapshot();
    terminal.view.owner = terminal.view.control = true;
    terminal.view.focus = Panel::comparison;
    terminal.view.alone = true;
    const auto marked = [&] {
        return render(terminal.size, terminal.snapshot, terminal.view).marked->search;
    };
    BOOST_TEST(marked() == 40u);
    BOOST_TEST((terminal.press(U'x') == Request::none));  // has ended
    BOOST_TEST((terminal.view.question == Question::none));
    terminal.press(Key::Kind::down);
    BOOST_TEST(marked() == 41u);
    BOOST_TEST((terminal.press(U'x') == Request::none));
    BOOST_TEST((terminal.view.question == Question::stop_search));
    BOOST_TEST((terminal.press(U'n') == Request::none));
    terminal.press(U'x');
    BOOST_TEST((terminal.press(U'y') == Request::stop_search));
    BOOST_TEST((terminal.press(U'i') == Request::inspect));
    BOOST_TEST(terminal.view.inspecting);
    BOOST_TEST((terminal.view.focus == Panel::summary));
    terminal.snapshot = tui_test::running_snapshot();  // what the comparison shows now
    BOOST_TEST((terminal.press(U'i') == Request::overview));
    BOOST_TEST((terminal.view.focus == Panel::comparison));
    terminal.snapshot = tui_test::comparing_snapshot();
    BOOST_TEST((terminal.press(U'[') == Request::page_before));
    BOOST_TEST((terminal.press(U']') == Request::page_after));
    BOOST_TEST(marked() == 40u);
    terminal.press(Key::Kind::end);
    BOOST_TEST(marked() == 43u);
    BOOST_TEST((terminal.press(U'i') == Request::none));  // waits
    BOOST_TEST(!terminal.view.inspecting);
}

BOOST_AUTO_TEST_CASE(random_keys_at_random_sizes_do_no_harm) {
    std::mt19937 random(5);
    Terminal terminal;
    int requests = 0;
    for (int i = 0; i < 6000; ++i) {
        if (i % 50 == 0) {
            terminal.size = {static_cast<int>(random() % 200) + 1,
                             static_cast<int>(random() % 60) + 1};
            terminal.snapshot =
                random() % 2 == 0 ? tui_test::running_snapshot() : tui_test::comparing_snapshot();
        }
        Key key{static_cast<Key::Kind>(random() % 18), static_cast<char32_t>(random() % 256),
                static_cast<int>(random() % 300) - 20, static_cast<int>(random() % 100) - 20};
        requests += terminal.press(key) != Request::none;
        BOOST_REQUIRE(terminal.view.rate_hz >= 0.25 && terminal.view.rate_hz <= 16);
    }
    BOOST_TEST(requests > 0);
}

BOOST_AUTO_TEST_CASE(a_click_focuses_the_panel_under_it) {
    Terminal terminal;
    terminal.press(Key{Key::Kind::click, 0, 60, 5});
    BOOST_TEST((terminal.view.focus == Panel::incumbents));
}

BOOST_AUTO_TEST_CASE(filters_are_typed_and_cleared) {
    Terminal terminal;
    terminal.press(U'/');
    for (const char32_t c : U"qüs") {
        if (c != 0) {
            terminal.press(c);
        }
    }
    terminal.press(Key::Kind::backspace);
    terminal.press(Key::Kind::backspace);
    BOOST_TEST(terminal.view.filter == "q");
    terminal.press(Key::Kind::enter);
    BOOST_TEST(!terminal.view.typing_filter);
    BOOST_TEST(terminal.view.filter == "q");
    terminal.press(U'/');
    terminal.press(Key::Kind::escape);
    BOOST_TEST(terminal.view.filter.empty());
}

BOOST_AUTO_TEST_CASE(symbols_follow_the_locale_and_the_terminal) {
    BOOST_TEST((default_symbols("de_DE.UTF-8", "xterm") == SymbolSet::block));
    BOOST_TEST((default_symbols("C.utf8", "screen") == SymbolSet::block));
    BOOST_TEST((default_symbols("de_DE.UTF-8", "linux") == SymbolSet::ascii));
    BOOST_TEST((default_symbols("C", "xterm") == SymbolSet::ascii));
    BOOST_TEST((default_symbols("", "xterm") == SymbolSet::ascii));
}

BOOST_AUTO_TEST_CASE(counts_take_five_columns) {
    const std::pair<double, const char*> cases[] = {
        {0, "    0"},        {7, "    7"},      {999, "  999"},    {999.6, "1.00k"},
        {1234, "1.23k"},     {9994, "9.99k"},   {9996, "10.0k"},   {99960, " 100k"},
        {123456, " 123k"},   {999499, " 999k"}, {999600, "1.00M"}, {5.2e6, "5.20M"},
        {8.12e8, " 812M"},   {1e15, "1.00P"},   {0.5, " 0.50"},    {12.34, " 12.3"},
        {INFINITY, "    -"}, {NAN, "    -"},    {1e30, "1e+30"}};
    for (const auto& [value, text] : cases) {
        BOOST_TEST(count(value) == text);
    }
    for (double value = 1e-3; value < 1e20; value *= 1.07) {
        BOOST_TEST(count(value).size() == 5U);
    }
}

BOOST_AUTO_TEST_CASE(quantities_keep_four_digits) {
    BOOST_TEST(quantity(0.1593, "J") == "159.3 mJ");
    BOOST_TEST(quantity(0.159, "J") == "159.0 mJ");
    BOOST_TEST(quantity(0.9999951, "s") == "1.000 s");
    BOOST_TEST(quantity(1.08248e-3, "J s") == "1.082 mJ s");
    BOOST_TEST(quantity(0, "J") == "0 J");
    BOOST_TEST(quantity(2.5e-21, "J") == "2.5 zJ");
    BOOST_TEST(quantity(16777216, "words") == "16.78 M words");
    BOOST_TEST(quantity(INFINITY, "J") == "-");
}

BOOST_AUTO_TEST_CASE(times_and_shares) {
    BOOST_TEST(clock(761) == "00:12:41");
    BOOST_TEST(clock(86400 * 3 + 61) == "3d 00:01:01");
    BOOST_TEST(age(59.9) == "59s");
    BOOST_TEST(age(3599) == "59m");
    BOOST_TEST(age(86400 * 2) == "2d");
    BOOST_TEST(age(-1) == "-");
    BOOST_TEST(percent(0.1202) == "12.0%");
    BOOST_TEST(percent(0) == "0.0%");
    BOOST_TEST(percent(0.00012) == "0.01%");
    BOOST_TEST(percent(1e9) == ">9999%");
}

BOOST_AUTO_TEST_SUITE_END()
