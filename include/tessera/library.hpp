// What tessera/tessera.hpp declares, for those who look into no workload.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tessera/arch/architecture.hpp"
#include "tessera/base/budget.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/model/report.hpp"

namespace tessera {

/// A workload on an architecture. Owns what it was made of; copies share it and cost nothing.
class Problem {
public:
    /// Values for the `variables` that the files declare: {"BATCH", "4"}.
    using Defines = std::map<std::string, std::string>;

    /// Files, or names in arch-specs/ and problem-shapes/ of the installation (or of the folders in
    /// the environment variable TESSERA_DATA_PATH). `compat`: whose cost conventions count.
    /// \throws UserError with file, line and column; also for a define that no file declares
    static Problem load(const std::string& architecture, const std::string& workload,
                        const Defines& defines = {}, arch::Compat compat = arch::Compat::none);

    /// The same for the YAML text of such files, which cannot include others.
    static Problem parse(const std::string& architecture_yaml, const std::string& workload_yaml,
                         const Defines& defines = {}, arch::Compat compat = arch::Compat::none);

    const workload::Workload& workload() const;
    const arch::Architecture& architecture() const;
    /// For mappers and models that are called directly. Valid while a copy of this problem lives.
    model::Problem view() const;
    /// What the files say without effect, a line each, fit to be shown.
    const std::vector<std::string>& warnings() const;

    /// These Einsums alone. \throws UserError for a name that is no Einsum
    Problem only(const std::vector<std::string>& einsums) const;

private:
    struct Data;
    Problem(std::shared_ptr<const Data> data, arch::Compat compat)
        : data_(std::move(data)), compat_(compat) {}
    std::shared_ptr<const Data> data_;
    arch::Compat compat_ = arch::Compat::none;
};

/// Names that Problem::load() finds, sorted.
std::vector<std::string> architecture_names();
std::vector<std::string> workload_names();

/// What a search tells while it runs. Values are of the first metric, in J, s or J s.
struct Progress {
    double elapsed_s = 0;
    std::uint64_t evaluated = 0;  ///< pmappings or mappings so far
    std::string phase;            ///< "explore"; empty: none
    std::optional<double> best;   ///< of the incumbent
    std::optional<double> bound;  ///< proven lower bound over the mapspace
    std::optional<double> gap;    ///< (best - bound) / best
};

/// Usage of memories, shares of their sizes, that is minimised as well as other metrics.
struct UsageGoals {
    std::vector<std::string> memories;
    bool alone = false;  ///< the other metrics decide only between mappings of equal usage
};

/// The metric "resource_usage:GlobalBuffer" of "GlobalBuffer".
std::string usage_metric(const std::string& memory);
/// "GlobalBuffer" of "resource_usage:GlobalBuffer"; nothing: another metric.
std::optional<std::string> memory_of_usage(const std::string& metric);
/// Its value: the largest share of the memory's size that is in use at any time; 0 if none is.
double resource_usage(const model::Report& report, const std::string& memory);

/// `{}` means what `tessera map` without options means.
struct Options {
    std::vector<mapper::Metric> metrics{mapper::Metric::edp};
    /// With memories, the Pareto set over their usage and `metrics` is looked for.
    UsageGoals usage;
    mapspace::MapSpaceOptions mapspace;
    /// The mapspace is searched as it stands, so that mappers can be compared in it. Else a mapper
    /// chooses partial tiles where none are asked for (mapper::Mapper::preferred()).
    bool exact_mapspace = false;
    base::Budget limits;
    std::string mapper = "ffm";  ///< a mapper or a search strategy ("random")
    std::string model = "looptree";
    /// Component -> knob -> value, as in `--knob search.batch=512`.
    std::map<std::string, std::map<std::string, std::string>> knobs;
    /// Known mappings to begin with: what is found is as good as the best of them or better.
    std::vector<mapping::Mapping> start;
    int threads = 0;  ///< 0: one per core
    std::uint64_t seed = 0;
    std::stop_token stop;  ///< ends the search with its best mapping
    /// Called four times a second, when something was found, and once at the end, on a thread of
    /// its own. What it throws ends the calls, not the search.
    std::function<void(const Progress&)> progress;
};

/// Status, solutions with their costs per Einsum, component and tensor, bound, statistics.
struct Result : mapper::Result {
    std::vector<mapper::Metric> metrics;  ///< that were asked for
    UsageGoals usage;                     ///< that was asked for

    /// The first solution. \throws NoLegalMapping or LimitReached saying why there is none
    const mapper::Solution& best() const;
    /// (best - bound) / best; 0 if optimal. Empty: unknown, or several metrics.
    std::optional<double> gap() const;
};

/// Searches. That no mapping is legal, or that a limit came first, is a result (Result::status).
/// \throws UserError for unknown names, wrong knobs, what the mapper does not support, and a
/// mapping to begin with that is not legal; IllegalMapping for one that breaks a limit of the
/// hardware
Result map(const Problem& problem, const Options& options = {});

/// Costs of a mapping. \throws IllegalMapping naming the limit of the hardware that it breaks
model::Report evaluate(const Problem& problem, const mapping::Mapping& mapping,
                       const std::string& model = "looptree");

/// All that makes a mapping illegal, by the independent checker and, if that finds nothing, by the
/// model (rule `model`). Empty, or warnings alone: it is legal.
std::vector<mapspace::Violation> explain(const Problem& problem, const mapping::Mapping& mapping,
                                         const std::string& model = "looptree");

/// Reads what mapping::to_yaml() writes. `name` stands for a file in messages. \throws UserError
mapping::Mapping parse_mapping(const std::string& yaml, const std::string& name = "mapping");

/// Adds the components of a plugin. Its code runs. \throws PluginError saying why not
void load_plugin(const std::string& file);

}  // namespace tessera
