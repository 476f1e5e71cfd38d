#include "support/child_program.hpp"

#include <exception>
#include <iostream>
#include <map>
#include <utility>

namespace tessera::test {
namespace {

std::map<std::string, int (*)()>& programs() {
    static std::map<std::string, int (*)()> all;
    return all;
}

}  // namespace

ChildProgram::ChildProgram(std::string name, int (*run)()) {
    programs().emplace(std::move(name), run);
}

int run_child_program(const std::string& name) {
    const auto found = programs().find(name);
    if (found == programs().end()) {
        std::cerr << "no child program " << name << "\n";
        return 127;
    }
    try {
        return found->second();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n";
        return 1;
    }
}

}  // namespace tessera::test
