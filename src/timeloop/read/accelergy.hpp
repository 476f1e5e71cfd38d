#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera::timeloop {

/// The program `accelergy` in PATH or ACCELERGYPATH, or nothing.
std::optional<std::string> find_accelergy();

/// Runs it as Timeloop does: `accelergy FILES --oprefix NAME. -o DIR/`, its output in
/// `PREFIX.accelergy.log`. \return whether it ended well
bool run_accelergy(const std::string& program, const std::vector<std::string>& files,
                   const std::string& prefix);

}  // namespace tessera::timeloop
