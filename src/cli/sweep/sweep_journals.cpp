#include "sweep_journals.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/compare/comparison.hpp"
#include "cli/run/live_run.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

constexpr const char* claims = "claims";

}  // namespace

void SweepJournals::read(const base::Directory& folder, std::vector<SweepOutcome>& outcomes) {
    for (const std::string& name : folder.names()) {
        if (!name.starts_with("points") || !name.ends_with(".jsonl")) {
            continue;
        }
        std::uint64_t& from = read_[name];
        const std::string text = folder.read(name, from).value_or("");
        from += read_journal(text, outcomes);
    }
}

std::string SweepJournals::own_name() {
    std::uint32_t chance = 0;
    if (::getrandom(&chance, sizeof chance, 0) != sizeof chance) {
        throw UserError("--share: the system gives no random number");
    }
    char id[9];
    std::snprintf(id, sizeof id, "%08x", chance);
    return "points-" + plain_name(host_name()) + "-" + std::to_string(::getpid()) + "-" + id +
           ".jsonl";
}

SweepClaims::SweepClaims(const base::Directory& folder)
    : path_((folder.path() / claims).string()), file_(folder.open_to_append(claims)) {}

SweepClaims::~SweepClaims() {
    ::close(file_);
}

int SweepClaims::lock(std::size_t point, short kind) const {
    struct flock where {};
    where.l_type = kind;
    where.l_whence = SEEK_SET;
    where.l_start = static_cast<off_t>(point);
    where.l_len = 1;
    int failed;
    do {
        failed = ::fcntl(file_, F_OFD_SETLK, &where);
    } while (failed != 0 && errno == EINTR);
    return failed != 0 ? errno : 0;
}

bool SweepClaims::take(std::size_t point) {
    const int reason = lock(point, F_WRLCK);
    if (reason == EAGAIN || reason == EACCES) {
        return false;
    }
    if (reason != 0) {
        throw UserError("--share: " + path_ + " cannot be locked: " + std::strerror(reason) +
                        "; processes claim points by locks: choose a folder on a file system that "
                        "has them, divide the sweep with --shard, or let one process search with "
                        "--jobs (what this folder holds goes on with --resume)");
    }
    own_.insert(point);
    return true;
}

void SweepClaims::drop(std::size_t point) {
    lock(point, F_UNLCK);
    own_.erase(point);
}

}  // namespace tessera::cli
