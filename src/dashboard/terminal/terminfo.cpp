#include "terminfo.hpp"

#include <cstdlib>
#include <cstring>

// clang-format off: term.h needs curses.h before it
#include <ncursesw/curses.h>
#include <ncursesw/term.h>
// clang-format on

namespace tessera::dashboard {

namespace {

std::string* collected = nullptr;

int collect(int c) {
    collected->push_back(static_cast<char>(c));
    return c;
}

const char* capability(const char* name) {
    const char* text = ::tigetstr(const_cast<char*>(name));
    return text == reinterpret_cast<char*>(-1) ? nullptr : text;
}

}  // namespace

bool describe_terminal(int fd) {
    const char* name = std::getenv("TERM");
    if (!name || !*name || std::strcmp(name, "dumb") == 0) {
        return false;
    }
    int status = 0;
    return ::setupterm(nullptr, fd, &status) == OK && capability("cup") != nullptr;
}

std::string leave_sequence() {
    std::string result;
    collected = &result;
    for (const char* name : {"rmkx", "sgr0", "op", "cnorm", "rmcup"}) {
        if (const char* text = capability(name)) {
            ::tputs(text, 1, collect);
        }
    }
    return result;
}

}  // namespace tessera::dashboard
