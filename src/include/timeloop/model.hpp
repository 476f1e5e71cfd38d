// The Timeloop cost model for dense mappings, as Timeloop computes it: same counts, energies and
// cycles to the last bit that is printed. Two evaluators give the same numbers:
//   evaluate()     as written in the rules, with every printed figure;
//   CompiledModel  compiled per problem and architecture, cost only, no allocation per mapping.
// Neither has process-wide state: every object may be used beside any other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "timeloop/architecture.hpp"
#include "timeloop/dialect.hpp"
#include "timeloop/mapping.hpp"
#include "timeloop/problem.hpp"
#include "timeloop/stats.hpp"

namespace tessera::timeloop {

/// What Timeloop takes from its environment variables, here an argument.
struct ModelOptions {
    Dialect dialect = Dialect::v3_0_3;
    bool first_read_elision = true;  ///< TIMELOOP_ENABLE_FIRST_READ_ELISION
    bool link_transfers = true;      ///< not TIMELOOP_DISABLE_LINK_TRANSFERS
};

/// Why a mapping is no mapping, or ok.
struct Fit {
    enum class Kind : std::uint8_t { ok, kept_nowhere, capacity, min_utilization };
    Kind kind = Kind::ok;
    int level = -1;            ///< storage level; kept_nowhere: the data space
    std::uint64_t needed = 0;  ///< scalars
    double available = 0;      ///< effective size, or the least number of scalars

    bool ok() const {
        return kind == Kind::ok;
    }
};
/// "mapped tile size 40 exceeds buffer capacity 32", with the level's name.
std::string describe(const Fit& fit, const Problem& problem, const Architecture& architecture);

struct Evaluation {
    Fit fit;
    Stats stats;  ///< complete also where the mapping does not fit, unless kept_nowhere
};

/// Evaluates one mapping. The architecture carries its energies (apply_default_energies,
/// apply_ert). \pre structural_fault() is empty. \throws UserError as CompiledModel does.
Evaluation evaluate(const Problem& problem, const Architecture& architecture,
                    const Mapping& mapping, const ModelOptions& options = {});

/// The cost of one mapping, without the figures behind it.
struct Cost {
    Fit fit;
    double energy_pj = 0;
    std::uint64_t cycles = 0;
    double utilization = 0;
    bool wrapped = false;                                  ///< see Stats::wrapped
    bool forgets = false;                                  ///< see Stats::forgotten
    std::uint64_t accesses[FlatMapping::max_levels] = {};  ///< per storage level, all instances

    double edp() const {
        return energy_pj * static_cast<double>(cycles) / 1e12;
    }
};

/// Compiled once per problem and architecture. Immutable: threads share it, each with its own
/// Workspace.
class CompiledModel {
public:
    /// \throws UserError from check_topology(), or for more levels, dimensions, ranks or data
    /// spaces than the evaluators hold.
    CompiledModel(const Problem& problem, const Architecture& architecture,
                  const ModelOptions& options = {});
    ~CompiledModel();

    /// Scratch memory of one thread. Grows to its largest mapping, then stays.
    class Workspace {
    public:
        Workspace();
        ~Workspace();

    private:
        friend class CompiledModel;
        struct Impl;
        std::unique_ptr<Impl> impl_;
    };

    /// Capacities alone, far cheaper: tile sizes from the products of loop ends.
    Fit check_capacity(const FlatMapping& mapping) const;

    /// The same numbers as evaluate(), bit by bit. Where the mapping does not fit, only
    /// `Cost::fit` is set.
    void evaluate(const FlatMapping& mapping, Workspace& workspace, Cost& cost) const;

private:
    struct Impl;
    std::unique_ptr<const Impl> impl_;
};

}  // namespace tessera::timeloop
