// Glyphs, colours, cost of a frame, and the reader of snapshots against broken text.
#include <boost/test/unit_test.hpp>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <cwchar>

#include "dashboard/keys.hpp"
#include "dashboard/render.hpp"
#include "dashboard/viewer.hpp"
#include "samples.hpp"
#include "tessera/base/error.hpp"

using namespace tessera;
using namespace tessera::dashboard;

BOOST_AUTO_TEST_SUITE(symbols_and_colours)

namespace {

struct Color {
    double red, green, blue;
};

Color rgb(int xterm) {
    if (xterm >= 232) {
        const double grey = (8 + 10 * (xterm - 232)) / 255.0;
        return {grey, grey, grey};
    }
    const auto level = [](int i) { return i == 0 ? 0.0 : (55 + 40 * i) / 255.0; };
    const int i = xterm - 16;
    return {level(i / 36), level(i / 6 % 6), level(i % 6)};
}

double linear(double value) {
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

// Machado, Oliveira, Fernandes 2009: what a deuteranope sees, on linear RGB.
Color deuteranopia(Color c) {
    const double r = linear(c.red), g = linear(c.green), b = linear(c.blue);
    return {0.367322 * r + 0.860646 * g - 0.227968 * b, 0.280085 * r + 0.672501 * g + 0.047413 * b,
            -0.011820 * r + 0.042940 * g + 0.968881 * b};
}

// CIELAB (D65) of linear RGB.
Color lab(Color c) {
    const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
    const double x = f((0.4124 * c.red + 0.3576 * c.green + 0.1805 * c.blue) / 0.95047);
    const double y = f(0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue);
    const double z = f((0.0193 * c.red + 0.1192 * c.green + 0.9505 * c.blue) / 1.08883);
    return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// As WCAG has it, against black or white.
double contrast(Ink ink, bool light) {
    const Color c = rgb(xterm_color(ink, light));
    const double luminance =
        0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue);
    return light ? 1.05 / (luminance + 0.05) : (luminance + 0.05) / 0.05;
}

double difference(Ink a, Ink b, bool light) {
    const Color x = lab(deuteranopia(rgb(xterm_color(a, light)))),
                y = lab(deuteranopia(rgb(xterm_color(b, light))));
    return std::hypot(x.red - y.red, x.green - y.green, x.blue - y.blue);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_glyph_that_can_be_drawn_takes_one_column) {
    BOOST_REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr);
    int wrong = 0, drawn = 0;
    for (char32_t c = 0x20; c < 0x20000; ++c) {
        std::string text;
        append_utf8(text, c);
        if (glyphs(text, false) == std::u32string(1, c) && c != U'?') {
            ++drawn;
            wrong += ::wcwidth(static_cast<wchar_t>(c)) != 1;
        }
    }
    for (const SymbolSet set : {SymbolSet::braille, SymbolSet::block, SymbolSet::ascii}) {
        const Symbols& s = symbols(set);
        std::u32string all = {s.horizontal,   s.vertical, s.top_left, s.top_right, s.bottom_left,
                              s.bottom_right, s.improved, s.running,  s.done,      s.failed,
                              s.waiting,      s.ellipsis, s.dash,     s.dotted,    s.up,
                              s.down,         s.marker};
        all += s.spark;
        all += s.bar;
        for (const char32_t c : all) {
            wrong += ::wcwidth(static_cast<wchar_t>(c)) != 1;
            wrong += set == SymbolSet::ascii && c > 0x7e;
        }
        const std::u32string states = {s.improved, s.running, s.done, s.failed};
        for (std::size_t i = 0; i < 4; ++i) {
            wrong += states.find(states[i]) != i;
        }
    }
    BOOST_TEST(drawn > 1000);
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(colours_used_together_differ_for_the_colour_blind) {
    const std::pair<Ink, Ink> pairs[] = {
        {Ink::orange, Ink::sky},         // best and bound
        {Ink::sky, Ink::vermillion},     // done and failed
        {Ink::yellow, Ink::vermillion},  // warning and error
        {Ink::orange, Ink::grey},        // value and label
        {Ink::blue, Ink::grey},          // bar and label
        {Ink::yellow, Ink::grey},
    };
    for (const bool light : {false, true}) {
        for (const auto& [a, b] : pairs) {
            BOOST_TEST(difference(a, b, light) > 20, static_cast<int>(a)
                                                         << " and " << static_cast<int>(b) << ": "
                                                         << difference(a, b, light));
        }
        for (int ink = 1; ink < ink_count; ++ink) {
            BOOST_TEST(contrast(static_cast<Ink>(ink), light) > 4,
                       ink << " on " << (light ? "white" : "black"));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_light_background_has_darker_colours) {
    ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    ::unsetenv("NO_COLOR");
    for (const auto& [colours, theme] : std::vector<std::pair<const char*, Theme>>{
             {"0;15", Theme::light}, {"0;default;7", Theme::light}, {"15;0", Theme::color}}) {
        ::setenv("COLORFGBG", colours, 1);
        BOOST_TEST((initial_view().theme == theme), colours);
    }
    ::unsetenv("COLORFGBG");
    ::unsetenv("XDG_CONFIG_HOME");
    const telemetry::Snapshot snapshot = tui_test::running_snapshot();
    View view;
    std::string seen = name(view.theme);
    for (int i = 0; i < 3; ++i) {
        react(view, Key{Key::Kind::character, U't', 0, 0}, render({80, 24}, snapshot, view));
        seen += std::string(" ") + name(view.theme);
    }
    BOOST_TEST(seen == "colour light mono colour");
    View light;
    light.theme = Theme::light;
    const std::string drawn = render({80, 24}, snapshot, light).frame.ansi();
    BOOST_TEST(drawn.find("38;5;130") != std::string::npos);
    BOOST_TEST(drawn.find("38;5;214") == std::string::npos);
}

#ifndef __SANITIZE_THREAD__  // which costs ten times as much
BOOST_AUTO_TEST_CASE(four_frames_a_second_cost_less_than_a_hundredth_of_a_core) {
    telemetry::Snapshot snapshot = tui_test::running_snapshot();
    for (int i = 0; i < 500; ++i) {
        telemetry::IncumbentView found = snapshot.incumbents.back();
        found.time_s += 0.01 * i;
        found.value *= 0.999;
        snapshot.incumbents.push_back(found);
        snapshot.log.push_back(snapshot.log.front());
    }
    for (const Size size : {Size{80, 24}, Size{200, 60}}) {
        constexpr int frames = 200;
        std::size_t cells = 0;
        const std::clock_t start = std::clock();
        for (int i = 0; i < frames; ++i) {
            snapshot.elapsed_s += 0.25;
            cells += render(size, snapshot, View{}).frame.text().size();
        }
        const double frame_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / frames;
        BOOST_TEST(cells > 0U);
        BOOST_TEST(4 * frame_s < 0.01, frame_s);
    }
}
#endif

BOOST_AUTO_TEST_CASE(broken_snapshots_are_refused_and_never_crash) {
    const std::string whole = telemetry::to_json(tui_test::running_snapshot());
    std::mt19937 random(3);
    int refused = 0, read = 0;
    for (int i = 0; i < 1500; ++i) {
        std::string text = whole;
        const unsigned kind = random() % 3;
        if (kind == 0) {
            text.resize(random() % text.size());
        } else {
            for (unsigned k = 0; k <= random() % 4; ++k) {
                const std::size_t at = random() % text.size();
                kind == 1 ? text[at] = static_cast<char>(random() % 256)
                          : (text.erase(at, 1 + random() % 20), ' ');
            }
        }
        try {
            const telemetry::Snapshot snapshot = telemetry::from_json(text);
            render({80, 24}, snapshot, View{});
            ++read;
        } catch (const UserError&) {
            ++refused;
        }
    }
    BOOST_TEST(refused > 100);
    BOOST_TEST(read + refused == 1500);
}

BOOST_AUTO_TEST_SUITE_END()
