#include "ranks/launch.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace tessera::ranks {

namespace {

/// A whole number of the environment.
std::optional<int> number(const char* name) {
    const char* const text = std::getenv(name);
    int value = 0;
    if (text == nullptr) {
        return std::nullopt;
    }
    const char* const end = text + std::strlen(text);
    const auto [last, code] = std::from_chars(text, end, value);
    return code == std::errc() && last == end && value >= 0 ? std::optional(value) : std::nullopt;
}

struct Names {
    const char* rank;
    const char* size;
};

constexpr Names known[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                           {"PMI_RANK", "PMI_SIZE"},
                           {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
                           {"PMIX_RANK", "SLURM_NTASKS"}};

}  // namespace

Launch launch() {
    for (const auto& [rank_name, size_name] : known) {
        const std::optional<int> rank = number(rank_name), size = number(size_name);
        if (rank && size && *rank < *size) {
            return {*rank, *size};
        }
    }
    return {};
}

}  // namespace tessera::ranks
