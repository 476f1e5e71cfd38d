// The facts of one arch::Path that the cost analysis reads, in flat arrays.
//
// Built once per path and reused for any number of mappings: the analysis itself looks at no
// string, no map and no optional field. Immutable after building; safe to read from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/arch/architecture.hpp"
#include "tessera/arch/path.hpp"

namespace tessera::model {

/// One tensor of the Einsum.
struct TensorFacts {
    struct Term {
        int variable = 0;
        double coefficient = 1;
    };
    /// Extent of one rank: 1 + offset + sum of coefficient * (shape - 1). `plain`: just one shape.
    struct Rank {
        bool plain = false;
        int variable = 0;
        double offset = 0;
        int begin = 0, end = 0;  ///< range of PathTables::terms
    };
    std::uint64_t relevant = 0;  ///< variables that are Relevancy::relevant
    std::uint64_t partial = 0;   ///< variables that are Relevancy::partially_relevant
    /// An update of a running state fetches the state of the iteration before: loops over these
    /// variables, though relevant, do not begin with a value that need not be fetched.
    std::uint64_t updates = 0;
    bool output = false;
    bool fusable = false;
    int begin = 0, end = 0;  ///< range of PathTables::ranks

    bool indexed_by(int variable) const {
        return (relevant | partial) >> variable & 1;
    }
};

/// One level as one tensor sees it (memories, tolls).
struct HolderFacts {
    double bits_per_value = 0;
    double reads_per_value = 0;   ///< read actions per value moved
    double writes_per_value = 0;  ///< 0 for a toll
    bool up = true;               ///< traffic from child to parent is charged
    bool down = true;             ///< traffic from parent to child is charged
    double hops_per_value = 0;    ///< networks
};

struct LevelFacts {
    arch::LevelKind kind = arch::LevelKind::memory;
    bool skip_initial = true;  ///< the first read of an output is skipped
    bool distributed = false;
    double bank_bits = 0;  ///< PathLevel::bank_bits
    int first_dim = 0;     ///< into PathTables::dims
    int n_dims = 0;
    int next_spatial = -1;      ///< first level below with spatial dimensions
    int read = -1, write = -1;  ///< indices into PathLevel::actions
    bool all_to_all = false;
};

struct DimFacts {
    int level = 0, dim = 0;
    double fanout = 1;
    double usage_scale = 1;
    std::uint64_t may_reuse = 0;
    int name = 0;  ///< dimensions of equal name share this number
};

class PathTables {
public:
    PathTables(const arch::Path& path, arch::Compat compat);

    const arch::Path& path() const {
        return *path_;
    }
    const HolderFacts& holder(int level, int tensor) const {
        return holders_[level * n_tensors + tensor];
    }
    /// The first network strictly between two levels, -1 if there is none.
    int network_between(int upper, int lower) const;
    /// Placement of a distributed memory along the dimension of that name, or nullptr.
    const arch::PhysicalDim* physical(int level, int dim_name) const;

    arch::Convention convention;
    int n_tensors = 0, n_variables = 0, n_levels = 0, n_dim_names = 0;
    bool copy = false;
    int copy_source = 0;        ///< copy Einsum: its input
    int outermost_memory = -1;  ///< level; -1: there is none
    bool has_networks = false;  ///< networks or distributed memories: the slower pass is needed
    bool has_distributed = false;
    double n_instances = 1;
    std::vector<double> bounds;   ///< per variable
    std::uint64_t simple = 0;     ///< variables that never stand inside a sum or multiple
    std::uint64_t only_last = 0;  ///< variables of which only the last iteration is run
    std::vector<TensorFacts> tensors;
    std::vector<TensorFacts::Rank> ranks;
    std::vector<TensorFacts::Term> terms;
    std::vector<LevelFacts> levels;
    std::vector<DimFacts> dims;
    std::vector<std::string> dim_names;

private:
    void read_tensors();
    void read_levels();
    void read_holders(const arch::PathLevel& level);

    const arch::Path* path_;
    std::vector<HolderFacts> holders_;
};

}  // namespace tessera::model
