// What a frame must say, wherever there is room for it.
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "dashboard/layout.hpp"
#include "dashboard/render.hpp"
#include "samples.hpp"

using namespace tessera;
using namespace tessera::dashboard;

BOOST_AUTO_TEST_SUITE(content_of_the_dashboard)

namespace {

std::string drawn(Size size, const telemetry::Snapshot& snapshot, const View& view = {}) {
    return render(size, snapshot, view).frame.text();
}

std::string panel(Panel panel, Size size, SymbolSet set = SymbolSet::block) {
    View view;
    view.focus = panel;
    view.alone = true;
    view.symbols = set;
    return drawn(size, tui_test::running_snapshot(), view);
}

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

constexpr Size three_sizes[] = {{40, 10}, {80, 24}, {200, 60}};

}  // namespace

BOOST_AUTO_TEST_CASE(the_summary_says_the_four_most_important_things_at_every_size) {
    const telemetry::Snapshot snapshot = tui_test::running_snapshot();
    int wrong = 0;
    for (int width = 40; width <= 300; width += 5) {
        for (int height = 10; height <= 120; height += 3) {
            const std::string text = drawn({width, height}, snapshot);
            wrong += !says(text, "1.830 mJ s") || !says(text, "12.0%") ||
                     !says(text, "9s ago") || !says(text, "55.3k/s") ||
                     !says(text, "RUNNING 00:12:41");
        }
    }
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(too_small_keeps_the_objective_and_names_the_size) {
    const telemetry::Snapshot snapshot = tui_test::running_snapshot();
    for (const Size size : {Size{39, 10}, Size{39, 3}, Size{20, 2}, Size{100, 5}}) {
        BOOST_TEST(says(drawn(size, snapshot), "1.830e-03"));
        BOOST_TEST(says(drawn(size, snapshot), "40x10"));
    }
    BOOST_TEST(says(drawn({100, 1}, snapshot), "gap 12.0%"));
    BOOST_TEST(says(drawn({100, 1}, snapshot), "55.3k/s"));
    BOOST_TEST(says(drawn({100, 1}, snapshot), "9s ago"));
}

BOOST_AUTO_TEST_CASE(every_panel_shows_its_own_facts_at_three_sizes) {
    const std::pair<Panel, const char*> facts[] = {{Panel::summary, "1.830 mJ s"},
                                                   {Panel::incumbents, "1.830e-03"},
                                                   {Panel::workers, "6.90k"},
                                                   {Panel::funnel, "pruned     770M"},
                                                   {Panel::pareto, "mJ"},
                                                   {Panel::comparison, "annealing"},
                                                   {Panel::plugins, "looptree"},
                                                   {Panel::log, "foo: threw"},
                                                   {Panel::mapping, "for m in 32 / 4 (8 trips)"},
                                                   {Panel::costs, "MainMemory"}};
    for (const Size size : three_sizes) {
        for (const auto& [which, fact] : facts) {
            const std::string text = panel(which, size);
            BOOST_TEST(says(text, fact), title(which) << " " << size.width << "\n" << text);
            BOOST_TEST(says(text, title(which)));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_run_of_one_mapper_and_one_metric_has_fewer_panels) {
    telemetry::Snapshot snapshot = tui_test::empty_snapshot();
    tui_test::add_incumbents(snapshot);
    const std::string text = drawn({200, 60}, snapshot);
    for (const char* name : {"1 Summary", "2 Incumbents", "3 Workers", "4 Funnel"}) {
        BOOST_TEST(says(text, name));
    }
    for (const char* name :
         {"5 Pareto", "6 Comparison", "7 Plugins", "8 Log", "9 Mapping", "0 Costs"}) {
        BOOST_TEST(!says(text, name), text);
    }
    snapshot.run.metrics = {"energy", "latency"};
    BOOST_TEST(says(drawn({200, 60}, snapshot), "5 Pareto"));
}

BOOST_AUTO_TEST_CASE(a_comparison_shows_its_searches_and_nothing_of_one_search) {
    const telemetry::Snapshot snapshot = tui_test::comparing_snapshot();
    const std::string all = drawn({152, 40}, snapshot);
    BOOST_TEST(says(all, "6 Comparison"));
    for (const char* none : {"Incumbents", "Workers", "Funnel", "Mapping", "energy "}) {
        BOOST_TEST(!says(all, none), none << all);
    }
    // The comparison takes the whole width, the others stand above it.
    const Layout where =
        layout({152, 40}, View{}, {Panel::summary, Panel::log, Panel::comparison}, true);
    BOOST_TEST(where.panels.size() == 3u);
    BOOST_TEST((where.panels.back().panel == Panel::comparison));
    BOOST_TEST(where.panels.back().area.width == 152);
    BOOST_TEST(where.panels.back().area.height > 20);
    View view;
    view.focus = Panel::comparison;
    view.alone = true;
    view.owner = true;
    view.scroll_of(Panel::comparison) = 1;
    const std::string text = drawn({110, 24}, snapshot, view);
    for (const char* fact : {"> b annealing", "running", "a ffm", "leads", "5.6%", "15.0%",
                             "failed", "waiting", "i inspect", "x stop one", "[ ] page"}) {
        BOOST_TEST(says(text, fact), fact << text);
    }
    // A curve has the letter of its search where its best was found; the axis ends with the
    // searches.
    BOOST_TEST(says(text, "a"), text);
    BOOST_TEST(says(text, "5.000 s"), text);
    view.filter = "ann";
    view.scroll_of(Panel::comparison) = 0;
    const std::string found = drawn({110, 24}, snapshot, view);
    BOOST_TEST(says(found, "> b annealing"), found);
    BOOST_TEST(!says(found, "a ffm"), found);
    // All of a long list can be marked, and the mark is seen.
    telemetry::Snapshot many = snapshot;
    for (int i = 0; i < 40; ++i) {
        many.comparison.push_back(snapshot.comparison[0]);
        many.comparison.back().name = "mapper" + std::to_string(i);
    }
    view.filter.clear();
    view.scroll_of(Panel::comparison) = 43;
    BOOST_TEST(says(drawn({110, 24}, many, view), "> "), drawn({110, 24}, many, view));
    BOOST_TEST(says(drawn({110, 24}, many, view), "mapper39"));
}

BOOST_AUTO_TEST_CASE(the_summary_names_what_the_search_waits_for) {
    telemetry::Snapshot snapshot = tui_test::running_snapshot();
    View view;
    view.alone = true;
    BOOST_TEST(says(drawn({80, 24}, snapshot, view), "waits  for QK_softmax, 37 of 40 templates"));
    snapshot.phases[1].unit = "Einsums";
    BOOST_TEST(!says(drawn({80, 24}, snapshot, view), "waits"));
}

BOOST_AUTO_TEST_CASE(the_time_left_is_a_range) {
    telemetry::Snapshot snapshot = tui_test::running_snapshot();
    BOOST_TEST(!says(drawn({80, 24}, snapshot), "left"));
    snapshot.rest = {190, 3044};
    BOOST_TEST(says(drawn({80, 24}, snapshot), "left   3m to 50m"));
}

// 0.03 J of 0.0428 J are 70.1 %; Einsums that Array limits take 0.0228 s of 0.0428 s.
BOOST_AUTO_TEST_CASE(costs_name_shares_and_what_limits) {
    std::istringstream lines(panel(Panel::costs, {100, 24}));
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);) {
        found.push_back(line);
    }
    const auto at = [&](const std::string& name) {
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (says(found[i], " " + name + " ")) {
                return i;
            }
        }
        BOOST_ERROR("no line of " + name);
        return found.size() - 1;
    };
    BOOST_TEST(at("MainMemory") < at("Buffer"));
    BOOST_TEST(at("Buffer") < at("Array"));
    BOOST_TEST(says(found[at("MainMemory")], "70.1%"));
    BOOST_TEST(says(found[at("MainMemory")], "46.7%"));
    BOOST_TEST(says(found[at("Array")], "53.3%"));
    BOOST_TEST(says(found[at("Buffer")], "75.0%"));
    BOOST_TEST(says(found[at("QK_softmax")], "Array"));
    BOOST_TEST(says(found[at("QK_softmax")], "90.0%"));
    BOOST_TEST(says(found[2], "43.0% in use"), found[2]);
}

BOOST_AUTO_TEST_CASE(words_of_traffic_are_not_called_joules) {
    telemetry::Snapshot snapshot = tui_test::empty_snapshot();
    snapshot.run.metrics = {"traffic"};
    snapshot.run.unit = "words";
    snapshot.incumbents = {{1, 5e6, 5e6, 2, "ffm", "", 0, 10}};
    snapshot.best = 5e6;
    for (const Size size : three_sizes) {
        const std::string text = drawn(size, snapshot);
        BOOST_TEST(!says(text, "MJ"), text);
        BOOST_TEST(!says(text, "energy"), text);
    }
    // Beside energy the words take the place of the latency.
    snapshot.run.metrics = {"energy", "traffic"};
    snapshot.run.unit = "J";
    snapshot.incumbents = {{1, 2, 2, 5e6, "ffm", "", 0, 10}};
    snapshot.front = {{2, 5e6}};
    const std::string text = drawn({200, 60}, snapshot);
    BOOST_TEST(says(text, "energy"), text);
    BOOST_TEST(says(text, "traffic"), text);
    BOOST_TEST(!says(text, "latency"), text);
    BOOST_TEST(!says(text, "EDP"), text);
}

// A bound of 0 at first leaves the wide span of the values to a logarithmic axis: 2963, 500, 72 and
// their medium are drawn far apart.
BOOST_AUTO_TEST_CASE(a_bound_of_zero_does_not_flatten_the_curve) {
    telemetry::Snapshot snapshot = tui_test::empty_snapshot();
    for (const auto& [time_s, value] : {std::pair(1.0, 2963.0), {4.0, 460.0}, {16.0, 72.0}}) {
        snapshot.incumbents.push_back({time_s, value, value, 1, "ffm", "", 0, 10});
    }
    snapshot.bounds = {{0.5, 0}, {20, 71}};
    snapshot.elapsed_s = 64;
    View view;
    view.focus = Panel::incumbents;
    view.alone = true;
    view.symbols = SymbolSet::ascii;
    std::istringstream lines(drawn({80, 40}, snapshot, view));
    int rows = 0, row = 0, first = -1, middle = -1;
    for (std::string line; std::getline(lines, line); ++row) {
        const auto stars = std::count(line.begin(), line.end(), '*');
        rows += stars > 5 ? 1 : 0;
        if (stars > 5 && rows == 1) {
            first = row;
        }
        if (stars > 5 && rows == 2) {
            middle = row;
        }
    }
    BOOST_TEST(rows == 3);
    BOOST_TEST(middle - first > 5);  // 460 is halfway on a logarithmic axis, next to 72 on another
}

BOOST_AUTO_TEST_CASE(the_footer_shows_at_least_five_keys) {
    for (int width = 40; width <= 200; width += 4) {
        const std::string text = drawn({width, 12}, tui_test::running_snapshot());
        for (const char* key : {"q quit", "? help", "0-9 panel", "p pause", "/ find"}) {
            BOOST_TEST(says(text, key), key << " at width " << width);
        }
    }
}

BOOST_AUTO_TEST_CASE(colour_and_mono_say_the_same) {
    const telemetry::Snapshot snapshot = tui_test::running_snapshot();
    for (const Size size : three_sizes) {
        for (int i = 0; i < panel_count; ++i) {
            View color, mono;
            color.focus = mono.focus = static_cast<Panel>(i);
            mono.theme = Theme::mono;
            BOOST_TEST(drawn(size, snapshot, color) == drawn(size, snapshot, mono));
            const std::string ansi = render(size, snapshot, mono).frame.ansi();
            BOOST_TEST(!says(ansi, "38;5"));
        }
    }
    BOOST_TEST(says(render({80, 24}, snapshot, View{}).frame.ansi(), "38;5;214"));
}

BOOST_AUTO_TEST_CASE(ascii_frames_hold_nothing_but_ascii) {
    for (const Size size : three_sizes) {
        for (int i = 0; i < panel_count; ++i) {
            const std::string text = panel(static_cast<Panel>(i), size, SymbolSet::ascii);
            const auto beyond = std::count_if(text.begin(), text.end(), [](char c) {
                return static_cast<unsigned char>(c) > 0x7e ||
                       (c != '\n' && static_cast<unsigned char>(c) < 0x20);
            });
            BOOST_TEST(beyond == 0, text);
        }
    }
}

BOOST_AUTO_TEST_CASE(braille_plots_are_drawn_in_braille) {
    const std::string text = panel(Panel::incumbents, {80, 24}, SymbolSet::braille);
    const bool braille = says(text, "\xe2\xa0") || says(text, "\xe2\xa1") ||
                         says(text, "\xe2\xa2") || says(text, "\xe2\xa3");
    BOOST_TEST(braille);
    BOOST_TEST(!says(panel(Panel::incumbents, {80, 24}), "\xe2\xa1"));
}

BOOST_AUTO_TEST_CASE(trouble_is_named) {
    telemetry::Snapshot snapshot = tui_test::running_snapshot();
    for (telemetry::WorkerView& worker : snapshot.workers) {
        worker.quiet_s = 12;
    }
    snapshot.budgets = {{"max-memory", "B", 950e6, 1e9, 0.95}};
    const std::string text = panel(Panel::summary, {100, 30});
    BOOST_TEST(says(text, "plugin foo detached"));
    BOOST_TEST(says(text, "failed 3 (see 8)"));
    const std::string stuck = drawn({100, 30}, snapshot);
    BOOST_TEST(says(stuck, "stalled: nothing evaluated for 12s"));
    BOOST_TEST(says(stuck, "memory near its limit"));
    snapshot.state = telemetry::RunState::stopping;
    BOOST_TEST(says(drawn({100, 30}, snapshot), "worker 0 is late to stop"));
}

BOOST_AUTO_TEST_CASE(without_a_bound_the_search_is_called_heuristic) {
    telemetry::Snapshot snapshot = tui_test::running_snapshot();
    snapshot.bound.reset();
    snapshot.gap.reset();
    BOOST_TEST(says(drawn({80, 24}, snapshot), "no bound: heuristic"));
    snapshot.run.mapper = "ffm";
    BOOST_TEST(says(drawn({80, 24}, snapshot), "no bound yet"));
    BOOST_TEST(says(drawn({100, 1}, snapshot), "no bound"));
}

// Of a loss there is no bound, and nothing is evaluated; its two curves are compared.
BOOST_AUTO_TEST_CASE(a_training_shows_its_losses) {
    telemetry::Snapshot snapshot = tui_test::running_snapshot();
    snapshot.run.mapper = "train";
    snapshot.run.metrics = {"loss"};
    snapshot.run.unit.clear();
    snapshot.bound.reset();
    snapshot.gap.reset();
    snapshot.best = 0.5;
    snapshot.workers.clear();
    snapshot.comparison.clear();
    snapshot.mapping = {};
    for (const char* name : {"training", "unseen problems"}) {
        telemetry::ContenderView curve;
        curve.name = name;
        curve.best = 0.5;
        curve.history = {{1, 2}, {2, 1}, {3, 0.5}};
        snapshot.comparison.push_back(std::move(curve));
    }
    const std::string text = drawn({100, 40}, snapshot);
    BOOST_TEST(says(text, "loss   "));
    BOOST_TEST(says(text, "unseen pro"));
    for (const char* not_said : {"bound", "eval ", "energy", "Workers", "Funnel", "Incumbents"}) {
        BOOST_TEST(!says(text, not_said), not_said);
    }
    BOOST_TEST(!says(drawn({100, 1}, snapshot), "no bound"));
}

BOOST_AUTO_TEST_CASE(an_empty_search_says_so) {
    const std::string text = drawn({200, 60}, tui_test::empty_snapshot());
    for (const char* part : {"none yet", "nothing found yet", "no worker has started yet"}) {
        BOOST_TEST(says(text, part), part);
    }
    for (const auto& [which, part] :
         {std::pair(Panel::log, "nothing to report"), {Panel::plugins, "no plugin takes part"}}) {
        View view;
        view.focus = which;
        BOOST_TEST(says(drawn({200, 60}, tui_test::empty_snapshot(), view), part), part);
    }
}

BOOST_AUTO_TEST_CASE(filter_leaves_the_lines_that_match) {
    View view;
    view.focus = Panel::log;
    view.filter = "threw";
    const std::string text = drawn({80, 24}, tui_test::running_snapshot(), view);
    BOOST_TEST(says(text, "foo: threw"));
    BOOST_TEST(!says(text, "line 38"));
    BOOST_TEST(says(text, "/threw"));
}

BOOST_AUTO_TEST_CASE(frames_survive_the_way_through_json) {
    const telemetry::Snapshot snapshot = tui_test::running_snapshot();
    const telemetry::Snapshot back = telemetry::from_json(telemetry::to_json(snapshot));
    for (int i = 0; i < panel_count; ++i) {
        View view;
        view.focus = static_cast<Panel>(i);
        const bool same =
            render({80, 24}, snapshot, view).frame == render({80, 24}, back, view).frame;
        BOOST_TEST(same, title(view.focus));
    }
}

BOOST_AUTO_TEST_SUITE_END()
