// Programs that a test starts in a process of their own (a crash, an interrupt, a terminal): the
// test executable itself, called as `test-executable --child NAME`. They are no test cases.
#pragma once

#include <string>

namespace tessera::test {

/// Registers a program when defined at namespace scope. `run` gives the exit code.
class ChildProgram {
public:
    ChildProgram(std::string name, int (*run)());
};

/// What main() returns for `--child NAME`: the program's exit code; 1 with a message on stderr if
/// it throws; 127 if there is none of that name.
int run_child_program(const std::string& name);

}  // namespace tessera::test
