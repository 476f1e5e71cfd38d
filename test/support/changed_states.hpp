// States of strategies as a hostile file may hold them.
#pragma once

#include <string>
#include <vector>

namespace tessera::test {

/// Cut short, with a byte that no number has, or with something behind its end.
inline std::vector<std::string> changed_states(const std::string& state) {
    constexpr std::size_t places = 40;
    std::vector<std::string> changed = {"", state + "0 "};
    for (std::size_t at = 0; at < state.size(); at += state.size() / places + 1) {
        changed.push_back(state.substr(0, at));
        changed.push_back(state);
        changed.back()[at] = 'x';
    }
    return changed;
}

}  // namespace tessera::test
