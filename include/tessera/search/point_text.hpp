// Points as text, for the states that strategies save. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tessera/search/space.hpp"
#include "tessera/search/state_text.hpp"

namespace tessera::search {

/// `template.join template.join ; tile tile tile`, numbers in decimal; ` ; order` comes after it
/// unless it is 0.
inline std::string to_text(const Point& point) {
    std::string text;
    for (const Choice& choice : point.choices) {
        text += std::to_string(choice.tmpl) + '.' + std::to_string(choice.join) + ' ';
    }
    text += ';';
    for (const std::int64_t tile : point.tiles) {
        text += ' ' + std::to_string(tile);
    }
    if (point.order != 0) {
        text += " ; " + std::to_string(point.order);
    }
    return text;
}

/// What to_text() wrote. False, and an empty point: it is something else. A point that is read is
/// still to be evaluated: it may come from another space.
inline bool from_text(const std::string& text, Point& point) {
    point = {};
    const char* at = text.c_str();
    const auto number = [&](std::int64_t& out) {
        char* end = nullptr;
        out = std::strtoll(at, &end, 10);
        const bool read = end != at;
        at = end;
        return read;
    };
    std::int64_t tmpl = 0, join = 0, tile = 0;
    while (*at != ';') {
        if (!number(tmpl) || *at++ != '.' || !number(join) || *at++ != ' ') {
            point = {};
            return false;
        }
        point.choices.push_back(
            {static_cast<std::uint32_t>(tmpl), static_cast<std::uint32_t>(join)});
    }
    for (++at; *at == ' ' && at[1] != ';';) {
        if (!number(tile)) {
            point = {};
            return false;
        }
        point.tiles.push_back(tile);
    }
    if (*at == ' ') {
        at += 2;  // " ;"
        std::int64_t order = 0;
        if (!number(order) || order < 1 || order > UINT32_MAX) {
            point = {};
            return false;
        }
        point.order = static_cast<std::uint32_t>(order);
    }
    return *at == '\0';
}

/// Whether it has a template of the space for every Einsum and a number for every tile shape of
/// these, as points of the space have. The numbers may be anything.
inline bool has_form_of(const Space& space, const Point& point) {
    std::size_t n_tiles = 0;
    for (std::uint32_t e = 0; e < point.choices.size(); ++e) {
        if (e >= space.n_einsums() || point.choices[e].tmpl >= space.n_templates(e)) {
            return false;
        }
        n_tiles += space.tmpl(e, point.choices[e].tmpl).symbols.size();
    }
    return point.choices.size() == space.n_einsums() && point.tiles.size() == n_tiles &&
           point.order < space.n_orders();
}

/// A point of that form, with tile shapes of at least 1, that was put as text.
inline bool get_point(StateReader& in, const Space& space, Point& point) {
    std::string text;
    return in.get(text) && from_text(text, point) && has_form_of(space, point) &&
           std::ranges::all_of(point.tiles, [](std::int64_t tile) { return tile >= 1; });
}

}  // namespace tessera::search
