#include <filesystem>
#include <iostream>

#include "cli/cli.hpp"
#include "cli/timeloop.hpp"

int main(int argc, char** argv) {
    // Links named after Timeloop's programs are those programs.
    const std::string name =
        argc > 0 ? std::filesystem::path(argv[0]).filename().string() : std::string();
    const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (tessera::cli::is_timeloop_name(name)) {
        return tessera::cli::run_timeloop(name, args, std::cout, std::cerr);
    }
    return tessera::cli::run(args, std::cout, std::cerr);
}
