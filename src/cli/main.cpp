#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>

#include "base/leave.hpp"
#include "cli/cli.hpp"
#include "cli/timeloop/timeloop.hpp"
#include "cli/uncaught.hpp"

namespace {

/// A stream that the caller closed must not be taken by the next file that is opened.
void hold_standard_streams() {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
        if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != stream) {
            ::_exit(tessera::cli::ExitCode::user_error);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    hold_standard_streams();
    tessera::cli::set_commit(TESSERA_COMMIT);
    std::set_terminate(tessera::cli::report_uncaught);
    ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of writing
    const bool searches_once = argc > 1 && std::string(argv[1]) == "map";
    if (searches_once) {
        tessera::base::end_process_after_search();
    }
    // Links named after Timeloop's programs are those programs.
    const std::string name =
        argc > 0 ? std::filesystem::path(argv[0]).filename().string() : std::string();
    const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (tessera::cli::is_timeloop_name(name)) {
        return tessera::cli::run_timeloop(name, args, std::cout, std::cerr);
    }
    return tessera::cli::run(args, std::cout, std::cerr);
}
