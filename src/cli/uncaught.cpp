#include "cli/uncaught.hpp"

#include <unistd.h>

#include <exception>
#include <initializer_list>
#include <new>
#include <string_view>

#include "base/terminal_restore.hpp"
#include "cli/cli.hpp"
#include "plugin/guard.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {
namespace {

// There may be no memory: nothing here allocates any.
void say(std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) {
        [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, word.data(), word.size());
    }
}

}  // namespace

void report_uncaught() noexcept {
    base::restore_terminal();
    const std::exception_ptr thrown = std::current_exception();
    const char* what = "an exception of unknown type";
    bool memory = false;
    try {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
        what = "std::terminate() was called";
    } catch (const std::bad_alloc& none) {
        memory = true;
        what = none.what();
    } catch (const std::exception& failure) {
        what = failure.what();
    } catch (...) {
    }
    if (const char* call = plugin::blamed_call()) {
        say({"tessera: ", call, ", where nobody can catch it: ", what, "\n"});
        ::_exit(ExitCode::plugin_refused);
    }
    if (memory) {
        say({"tessera: ", out_of_memory_text});
        ::_exit(ExitCode::limit_before_result);
    }
    say({"tessera: internal error: ", what,
         ", where nobody can catch it; this is a bug in tessera, please report it\n"});
    ::_exit(ExitCode::bug);
}

}  // namespace tessera::cli
