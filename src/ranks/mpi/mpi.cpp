// Messages by MPI, without waiting: MPI waits by turning in a circle, which would take a core from
// the searches. Whoever calls sleeps between calls.
#include <mpi.h>

#include <climits>
#include <list>
#include <string>

#include "ranks/mpi_abi.h"

namespace {

struct Pending {
    MPI_Request request = MPI_REQUEST_NULL;
    int rank = 0, kind = 0;
    std::string data;
};

// Their buffers must stay where they are.
std::list<Pending> sent, coming;
Pending arrived;

bool is_over(MPI_Request& request) {
    int over = 0;
    return MPI_Test(&request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS || over != 0;
}

int begin(int* rank, int* size) {
    int running = 0;
    MPI_Initialized(&running);
    if (running == 0 && MPI_Init(nullptr, nullptr) != MPI_SUCCESS) {
        return 1;
    }
    // A rank that was lost must not end the others.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return 0;
}

void send(int rank, int kind, const char* data, size_t size) {
    if (size > INT_MAX) {
        return;
    }
    Pending& one = sent.emplace_back(Pending{MPI_REQUEST_NULL, rank, kind, {data, size}});
    if (MPI_Isend(one.data.data(), static_cast<int>(size), MPI_CHAR, rank, kind, MPI_COMM_WORLD,
                  &one.request) != MPI_SUCCESS) {
        sent.pop_back();
    }
}

int sending() {
    sent.remove_if([](Pending& one) { return is_over(one.request); });
    return static_cast<int>(sent.size());
}

/// A message that has begun to arrive is taken while others are looked after.
void take_what_comes() {
    for (int found = 1; found != 0;) {
        found = 0;
        MPI_Message message;
        MPI_Status status;
        if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, &status) !=
                MPI_SUCCESS ||
            found == 0) {
            return;
        }
        int size = 0;
        MPI_Get_count(&status, MPI_CHAR, &size);
        Pending& one =
            coming.emplace_back(Pending{MPI_REQUEST_NULL, status.MPI_SOURCE, status.MPI_TAG,
                                        std::string(static_cast<std::size_t>(size), '\0')});
        if (MPI_Imrecv(one.data.data(), size, MPI_CHAR, &message, &one.request) != MPI_SUCCESS) {
            coming.pop_back();
        }
    }
}

int receive(int* rank, int* kind, const char** data, size_t* size) {
    sending();
    take_what_comes();
    for (auto one = coming.begin(); one != coming.end(); ++one) {
        if (is_over(one->request)) {
            arrived = std::move(*one);
            coming.erase(one);
            *rank = arrived.rank;
            *kind = arrived.kind;
            *data = arrived.data.data();
            *size = arrived.data.size();
            return 1;
        }
    }
    return 0;
}

void end() {
    MPI_Finalize();
}

const char* library() {
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    return text;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const TesseraMpi* tessera_mpi(void) {
    static const TesseraMpi table = {TESSERA_MPI_ABI, library(), begin, send,
                                     receive,         sending,   end};
    return &table;
}
