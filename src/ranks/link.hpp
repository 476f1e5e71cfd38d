// The MPI library behind optional/mpi.so, loaded once it is needed.
#pragma once

#include <optional>
#include <string>

#include "ranks/mpi_abi.h"

namespace tessera::ranks {

/// What a message is.
enum Kind : int {
    text = 1,   ///< a line of JSON
    leave = 2,  ///< to a worker: end; with text "at once": without waiting for others
    beat = 3,   ///< its sender lives
};

struct Message {
    int rank = 0, kind = 0;
    std::string text;
};

class Link {
public:
    /// Waits for all ranks. \throws UserError if there is no MPI, or another than the launcher's
    Link();
    /// Waits for all ranks if `orderly` is still true.
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    int rank() const {
        return rank_;
    }
    int size() const {
        return size_;
    }
    void send(int rank, Kind kind, const std::string& text) const;
    /// Nothing: none has come.
    std::optional<Message> receive() const;
    /// Messages are on their way out: receive() must be called often.
    bool sends() const {
        return mpi_->sending() > 0;
    }
    /// Whether all ranks will be there at the end.
    void set_orderly(bool orderly) {
        orderly_ = orderly;
    }

private:
    const TesseraMpi* mpi_ = nullptr;
    int rank_ = 0, size_ = 1;
    bool orderly_ = true;
};

/// The launcher (mpirun, orted, slurmstepd) starts ranks as children of its own: another parent
/// says that it was killed.
class Launcher {
public:
    Launcher();
    bool is_gone() const;

private:
    int parent_;
};

}  // namespace tessera::ranks
