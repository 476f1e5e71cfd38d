#include "ranked.hpp"

#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/help/help.hpp"
#include "cli/sweep/sweep_work.hpp"
#include "ranks/launch.hpp"
#include "ranks/worker.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

Ranked* current = nullptr;

}  // namespace

void add_ranks(options::Description& description) {
    description.add_options()(
        "mpi", options::text().by_default("auto").named("WHEN"),
        "auto: if mpirun or srun started several of this program, the first hands out searches to "
        "the others; off: each is on its own");
}

/// Every rank decides it alike, from the same arguments. What the manager does alone, and wrong
/// arguments are such, needs no MPI.
Ranked::Role Ranked::role_in(const std::string& command, const std::vector<std::string>& args) {
    const ranks::Launch launch = ranks::launch();
    if (command != "sweep" || launch.size < 2) {
        return Role::alone;
    }
    const bool first = launch.rank == 0;
    const Role by_itself = first ? Role::alone : Role::idle;
    if (help_asked(args) != HelpAsked::none) {
        return by_itself;
    }
    try {
        const Arguments arguments(command, args, sweep_text().options);
        if (arguments.flag("share") || arguments.choice("mpi", {"auto", "off"}) == 1) {
            return Role::alone;
        }
        return arguments.has("merge") ? by_itself : first ? Role::manager : Role::worker;
    } catch (const UserError&) {
        return by_itself;
    }
}

Ranked::Ranked(const std::string& command, const std::vector<std::string>& args)
    : role_(role_in(command, args)) {
    current = this;
}

Ranked::~Ranked() {
    current = nullptr;
    if (role_ != Role::manager || manager_) {
        return;
    }
    try {
        const ranks::Manager dismissed;
    } catch (...) {
        // Without MPI no rank waits.
    }
}

std::optional<int> Ranked::work() const {
    if (role_ != Role::worker) {
        return role_ == Role::idle ? std::optional<int>(ExitCode::ok) : std::nullopt;
    }
    return ranks::work(own_program(), sweep_work);
}

ranks::Manager* Ranked::manager() {
    if (current == nullptr || current->role_ != Role::manager) {
        return nullptr;
    }
    if (!current->manager_) {
        current->manager_ = std::make_unique<ranks::Manager>();
    }
    return current->manager_.get();
}

}  // namespace tessera::cli
