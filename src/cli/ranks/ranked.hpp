// A command that the ranks of an MPI job share: rank 0, the manager, runs it and alone has files
// and terminal; the others are workers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "ranks/manager.hpp"

namespace tessera::cli {

/// Adds --mpi.
void add_ranks(options::Description& description);

/// What this process is in the command that it was started with.
/// Thread rule: made and destroyed by the main thread; one object at a time.
class Ranked {
public:
    Ranked(const std::string& command, const std::vector<std::string>& args);
    /// Of the manager: workers that still wait are let go, whatever happened.
    ~Ranked();
    Ranked(const Ranked&) = delete;
    Ranked& operator=(const Ranked&) = delete;

    /// Of a worker: its exit code once its work is done. Nothing: this process runs the command.
    /// \throws UserError if there is no MPI
    std::optional<int> work() const;

    /// The workers of this command; null: it has none. The first call waits for all ranks.
    /// \throws UserError if there is no MPI
    static ranks::Manager* manager();

private:
    enum class Role { alone, manager, worker, idle };

    static Role role_in(const std::string& command, const std::vector<std::string>& args);

    Role role_ = Role::alone;
    std::unique_ptr<ranks::Manager> manager_;
};

/// Name, version and commit of this program.
std::string own_program();

}  // namespace tessera::cli
