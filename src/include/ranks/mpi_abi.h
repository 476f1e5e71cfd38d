/* What the shared object optional/mpi.so gives the program: it alone is linked to MPI. Plain C.
   Thread rule: one thread calls. */
#ifndef TESSERA_RANKS_MPI_ABI_H
#define TESSERA_RANKS_MPI_ABI_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_MPI_ABI 1

struct TesseraMpi {
    int abi;
    const char* library; /* name and version of the MPI library */
    /* 0: begun. Waits for all ranks. */
    int (*begin)(int* rank, int* size);
    /* Begins to send a copy of the data; what cannot be sent is dropped. */
    void (*send)(int rank, int kind, const char* data, size_t size);
    /* 1: a message has come, which stays until the next call; 0: none. Does not wait. */
    int (*receive)(int* rank, int* kind, const char** data, size_t* size);
    /* How many messages are being sent. */
    int (*sending)(void);
    /* Waits for all ranks, which must call it too. */
    void (*end)(void);
};

/* The only symbol that is exported. */
const struct TesseraMpi* tessera_mpi(void);

#ifdef __cplusplus
}
#endif

#endif
