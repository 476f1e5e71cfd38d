// What manager and workers say to each other: lines of JSON.
#pragma once

#include <optional>
#include <string>

#include "base/process_pool.hpp"

namespace tessera::ranks {

/// From a worker: first `hello`, then `ready` or `refused`, then an `end` for each task.
struct Said {
    enum class What { hello, ready, refused, end, gone };
    What what = What::gone;
    std::string program = {}, host = {};  ///< hello
    std::string traits = {};              ///< ready
    std::string message = {};             ///< refused, gone: why
    int exit_code = 0;                    ///< refused
    std::size_t task = 0;                 ///< end
    base::ChildEnd end = {};
};
std::string to_line(const Said& said);
/// Nothing: it is none.
std::optional<Said> read_said(const std::string& line);

struct Task {
    std::size_t number = 0;
    std::string text;
};
std::string to_line(const Task& task);
std::optional<Task> read_task(const std::string& line);

}  // namespace tessera::ranks
