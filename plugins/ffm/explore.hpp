// What FFM finds out about the pmappings of all Einsums: class bounds, first mappings, rows.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explorer.hpp"
#include "kept_rows.hpp"
#include "mapspace/scalarised_bound.hpp"
#include "mapspace/shape_problem.hpp"
#include "mapspace/shape_semijoin.hpp"
#include "mapspace/tabulate.hpp"
#include "saved.hpp"
#include "switches.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/mapspace/relaxed_join.hpp"
#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/formula_pool.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::ffm {

/// Paths of one Einsum.
EinsumSpace open_einsum(const ExploreContext& context, int einsum);
/// Templates of an Einsum. \throws NoLegalMapping if there is none
void make_templates(const ExploreContext& context, EinsumSpace& space);

/// Marks the templates that no other Einsum can meet (docs/ffm-proofs.md, 2.19).
void mark_unmatched(const ExploreContext& context, std::vector<EinsumSpace>& spaces);

/// What a mapping must be able to beat to be of use.
struct Incumbents {
    bool product = false;                     ///< compare products of the objectives (EDP)
    std::vector<std::vector<double>> points;  ///< objective vectors of known mappings
};

/// Einsums that have the same templates and costs, tensor by tensor, whatever their names.
class EqualEinsums {
public:
    /// The first Einsum asked about that this one equals; its own index if there is none.
    std::size_t first(const EinsumSpace& space);

private:
    std::map<std::string, std::size_t> seen_;
};

/// The memory that backs a tensor, as a choice of a class.
inline std::int32_t choice_of(int component, bool persistent) {
    return 2 * component + (persistent ? 1 : 0);
}

/// Least costs of the classes of one Einsum.
using KnownClassBounds = std::map<mapspace::TensorChoices, std::array<double, 2>>;

/// Costs that differ by less are the same, computed in another order.
inline constexpr double rounding = 1e-11;

class SequentialBound;

/// Class bounds and rows of all Einsums. Deterministic for any number of threads.
class Exploration : public TemplateExplorer {
public:
    /// `spaces` must outlive it.
    Exploration(const ExploreContext& context, std::vector<EinsumSpace>& spaces);
    ~Exploration();

    /// What the root relaxation of every template says: least costs that hold before the class
    /// bounds are known. False if stopped.
    bool root_bounds();
    /// Least costs of every class and Einsum, and `needs` of the Einsums that have no legal
    /// pmapping. False if stopped. `save` is called, on any thread, when progress() should be
    /// saved.
    /// A template that takes more rows than `most_rows` in one step is given up: its class bound is
    /// its root relaxation by then.
    bool class_bounds(const std::function<void()>& save,
                      double most_rows = std::numeric_limits<double>::infinity());
    /// What class_bounds() has found so far. Thread rule: any.
    std::vector<SavedClassBounds> progress() const;
    /// Leaves out of class_bounds() what an earlier run has found. \throws UserError if it was
    /// another problem
    void restore(const std::vector<SavedClassBounds>& known);
    /// Keeps what rows() finds in each template, for a run that goes on from there, and takes what
    /// an earlier run has kept. `save` as for class_bounds(). \throws UserError if it was another
    /// problem
    void keep_rows(std::vector<SavedSearch> known, const std::function<void()>& save);
    /// What rows() has found so far; its last search is that of the last call.
    KeptRows& kept() {
        return kept_;
    }
    /// Least costs of classes, of use to a run in a larger mapspace.
    std::vector<KnownClassBounds> known_class_bounds() const;
    /// Costs of a part of this mapspace. Class bounds that are lower by less than the share
    /// `worth_finding` are not looked for: they count as lower by that.
    void start_from(const std::vector<KnownClassBounds>& known, double worth_finding);
    /// After class_bounds(), where some templates were given up. `known`: as in start_from();
    /// `costs`: of a known mapping.
    void start_tightening(const std::vector<KnownClassBounds>& known,
                          const std::vector<double>& costs);
    /// Tightens the class bounds that the bound rests on, of the objectives or of what they cost
    /// jointly. A template that takes more rows than `most_rows` keeps its root relaxation. If it
    /// is stopped, bound() holds all the same.
    void tighten_class_bounds(bool scalarised_bounds, double most_rows);
    /// Whether tighten_class_bounds() knows scalarised costs.
    bool scalarised_bounds() const {
        return scalarised_.used();
    }
    /// Groups with any pmappings of templates without fused loops: a mapping within milliseconds.
    /// A stop is obeyed only from `until` on.
    void first(std::chrono::steady_clock::time_point until);
    /// Whether no Einsum accesses what another one does.
    bool nothing_shared() const;
    /// Costs of a legal pmapping of each Einsum: no least cost is above them. Empty: none is known.
    void note_costs(const std::vector<std::vector<double>>& of_einsums);
    /// Groups with some good pmappings of templates without fused loops, for a first mapping.
    void simple();
    /// Groups with every row that can be part of a mapping better than (or equal to) the
    /// incumbents. False, and no groups: given up with more than `most_rows` looked at, of all
    /// templates together; what is finished is kept for the next time. Needs the class bounds.
    /// `near`: classes that cannot be part of a mapping of this cost are left out, and rows that
    /// add more than `own_excess` of their Einsum's least cost to the least of the whole (a beam
    /// search; not exact). \throws base::Stopped
    bool rows(const Incumbents& incumbents, std::uint64_t most_rows,
              const Incumbents* near = nullptr, double own_excess = 0);
    /// Groups with rows of partial mappings that a beam of `width` keeps in every template, below
    /// the incumbents: not all of them. Needs the class bounds. \throws base::Stopped
    void some_rows(const Incumbents& incumbents, std::size_t width);
    /// Least costs of whole mappings, from the class bounds. Needs them.
    mapspace::CostFront bound() const;
    /// Their least product, or the least one.
    double least_value() const;

private:
    using Completions = std::vector<double>;
    template <class Explore>
    void for_each_in_sequence(const Explore& explore);
    std::vector<Completions> completions_at(const SequentialBound& sequence, std::size_t e) const;
    void forget_sequence();
    void find_compatible(const SequentialBound& sequence, std::size_t e);
    bool allow(std::size_t e, std::size_t i, mapspace::TileShapeProblem& problem) const;
    /// What limits the rows of a search, beside the costs of the other Einsums.
    struct RowLimits {
        mapspace::IncumbentBound rows, classes;  ///< what is to be beaten
        mapspace::CostFront whole;  ///< a beam search: least costs of whole mappings; else empty
        double own_excess = 0;
    };
    std::optional<mapspace::IncumbentBound> bound_rows(std::size_t e, std::size_t i,
                                                       const std::vector<Completions>& completions,
                                                       const RowLimits& limits) const;
    bool given_up() const {
        return most_evaluated_ > 0 && evaluated_ > most_evaluated_;
    }
    void make_classes();
    std::size_t class_of(std::size_t e, std::size_t i) const {
        return class_of_[e][i];
    }
    /// Of a template: not below its class's, or found; no legal row; given up.
    enum class ClassBound { known, none, open };
    bool least_of(std::size_t e, std::size_t i, Scratch& scratch);
    ClassBound least_of_cost(const Asked& asked, const model::Formula& cost,
                             std::atomic<double>& found, double root_bound);
    bool reaches_root_bound(const Asked& asked, const model::Formula& cost, double level,
                            std::atomic<double>& found);
    ClassBound tighten_root_bound(const Asked& asked, const model::Formula& cost,
                                  std::atomic<double>& found, double before, double& root_bound);
    std::optional<double> find_below(const Asked& asked, const model::Formula& cost, double level,
                                     const Effort& effort);
    /// By how much root relaxations of a template hold the bound down: levels to tighten them to,
    /// per objective and for the scalarised cost; 0: not.
    using Tightening = std::array<double, 3>;
    std::map<std::pair<std::size_t, std::size_t>, Tightening> root_bounds_to_tighten(
        bool scalarised_bounds, double most_rows) const;
    void tighten(std::size_t e, std::size_t i, const Tightening& levels, double most_rows,
                 Scratch& scratch);
    void root_bound_scalarised();
    std::array<double, 2> scalarised_completions(std::size_t e, std::size_t i) const;
    std::optional<double> find_scalarised_below(const Asked& asked,
                                                const std::vector<model::Formula>& cost,
                                                double level, const Effort& effort);
    bool holds_bound(std::size_t e, std::size_t k, const mapspace::ChoiceTable& rest,
                     const mapspace::ChoiceTable* scalarised, double bound) const;
    template <class Most, class Open>
    void class_bounds_from(const Most& most, const Open& open);
    double cap(std::size_t e, std::size_t k, std::size_t q) const;
    void class_bounds_from_root_bounds();
    mapspace::TileShapeProblem class_bound_problem(std::size_t e, std::size_t i,
                                                   const model::TemplateFormulas& f,
                                                   Scratch& scratch) const;
    static void lower(std::atomic<double>& to, double value) {
        double now = to.load();
        while (value < now && !to.compare_exchange_weak(now, value)) {
        }
    }
    void note_class_bound(std::size_t e, std::size_t i);
    void note_root_bounds(std::size_t e, std::size_t i);
    void restore_tightened();
    void collect_class_bounds();
    void lower_unfinished_class_bounds();
    void relax();
    void find_completions();
    /// False if there was nothing to explore.
    bool rows_of(std::size_t e, std::size_t i, const mapspace::IncumbentBound& bound,
                 Scratch& scratch, const Effort& effort = {});
    void begin_search(const Incumbents& incumbents, const Incumbents* near, double own_excess);
    bool take_kept(std::size_t e, std::size_t i, Scratch& scratch);
    void keep(std::size_t e, std::size_t i, const Scratch& scratch);

    std::vector<std::vector<std::uint32_t>> class_of_;
    /// By Einsum and template: what its formulas do not go below, from the class bounds; 0: not
    /// known.
    std::vector<std::vector<std::array<double, 2>>> least_;
    std::vector<std::array<double, 2>> root_bound_;  ///< by Einsum: least of all its templates
    std::vector<std::vector<std::array<double, 2>>> root_bound_by_template_;
    std::vector<std::vector<std::array<std::atomic<double>, 2>>> found_;  ///< by Einsum and class
    std::uint64_t most_evaluated_ = 0;  ///< rows() is given up with more; 0: never
    double most_class_bound_rows_ = 0;
    std::vector<KnownClassBounds> caps_;  ///< by Einsum: class bounds are not tightened above these
    mapspace::ScalarisedBound scalarised_;
    std::vector<std::vector<double>> root_bound_scalarised_;  ///< by Einsum and template
    /// By Einsum and template: rows that were not enough to tighten the root relaxations.
    std::vector<std::vector<std::array<double, 3>>> in_vain_;
    std::vector<KnownClassBounds> class_bounds_before_;  ///< by Einsum; when class_bounds() began
    mutable std::mutex progress_lock_;
    std::vector<SavedClassBounds> progress_;  ///< by Einsum; of those that equal another one, empty
    KeptRows kept_;
    std::function<void()> save_;  ///< empty: nothing is kept
    std::optional<mapspace::RelaxedJoin> relaxed_;
    std::optional<mapspace::RelaxedJoin>
        relaxed_scalarised_;  ///< of scalarised costs, if they are in use
    /// By Einsum and class: costs of all others, one alternative after the other. Classes without
    /// any cannot be part of a mapping that is of use.
    std::vector<std::vector<Completions>> completions_;
    /// How explored Einsums hold the tensors that the one at hand shares: by local tensor; none:
    /// they say nothing.
    std::vector<std::optional<mapspace::CompatibilitySet>> compatible_;
};

/// Memories whose capacity couples Einsums.
std::vector<mapspace::TrackedMemory> tracked_memories(const std::vector<EinsumSpace>& spaces);

}  // namespace tessera::ffm
