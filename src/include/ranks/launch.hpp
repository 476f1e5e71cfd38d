// Ranks: processes that mpirun, srun or the like started at once, which see each other by MPI. One
// of them, the manager, hands out tasks; the others, the workers, run them.
#pragma once

#include <string>

namespace tessera::ranks {

/// How this process was started.
struct Launch {
    int rank = 0;
    int size = 1;  ///< 1: alone
};

/// As the launcher's environment says: Open MPI, PMI, PMIx with Slurm. Nothing of MPI is loaded.
Launch launch();

}  // namespace tessera::ranks
