#include <iostream>

#include "cli/cli.hpp"

int main(int argc, char** argv) {
    return tessera::cli::run({argv + 1, argv + argc}, std::cout, std::cerr);
}
