// Exploration of one Einsum: templates, formulas, tile shapes, pmapping groups.
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

/// One template of an Einsum on one of its computes. Equal Einsums share it.
struct TemplateEntry {
    const arch::Path* path = nullptr;  ///< of the first of the equal Einsums
    int path_index = 0;                ///< the same for all of them
    mapspace::Template tmpl;
    bool unmatched = false;  ///< no mapping has it: no other Einsum treats some shared tensor alike
    /// What tile shapes, with partial tiles those without, reach of the best-effort conditions.
    std::optional<std::vector<double>> levels;
    /// Filled by explore: tile shapes of the pmappings in the groups, row-major.
    std::vector<std::int32_t> tiles;
};

/// Templates that treat shared tensors alike: the memory that backs each of them.
struct TemplateClass {
    mapspace::TensorChoices choices;  ///< one per tensor of EinsumSpace::shared
    std::vector<std::uint32_t> templates;
    std::array<double, 2> least;  ///< per objective, infinite without a legal row; unused: 0
    double scalarised = 0;        ///< least scalarised cost
};

/// One Einsum while it is explored.
struct EinsumSpace {
    int einsum = 0;
    std::vector<std::unique_ptr<arch::Path>> paths;  ///< one per enabled compute
    std::size_t same = 0;  ///< the first Einsum that it equals; its own index if none
    std::shared_ptr<std::vector<TemplateEntry>> templates =
        std::make_shared<std::vector<TemplateEntry>>();
    std::vector<mapspace::PmappingGroup> groups;
    std::string size;             ///< number of complete pmappings, exact decimal
    std::uint64_t evaluated = 0;  ///< tile-shape rows looked at
    /// Of these, in the class bounds: their number depends on which thread finds what first.
    std::uint64_t evaluated_in_class_bounds = 0;
    std::vector<int> shared;  ///< tensors that other Einsums may access, local indices
    std::vector<TemplateClass> classes;
    std::vector<double> least;                  ///< per objective: least over all legal pmappings
    std::vector<mapspace::CapacityNeed> needs;  ///< filled when no template has a row
    std::string no_compute;                     ///< reason when no compute may run the Einsum
};

/// Settings shared by all templates.
struct ExploreContext : mapspace::ShapeContext {
    const model::CostModel* model = nullptr;
    const mapper::Options* options = nullptr;
    telemetry::Recorder* recorder = nullptr;  ///< a phase runs while it is explored
    Switches switches;
};

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

using TileShapes = std::vector<std::int32_t>;  ///< by symbol

/// An Einsum's part of a mapping.
struct UsedPmapping {
    std::size_t index = 0;  ///< of the template
    TileShapes shapes;
};

/// Pmappings of a template that may improve a mapping.
struct ImprovedRows {
    std::set<TileShapes> best;  ///< those in use, and the best one of every step
    std::set<TileShapes> all;
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
class SharedTiles;

/// Explores the templates of all Einsums in parallel. Deterministic for any number of threads.
class Exploration {
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
    /// Rows looked at, of use or not; restore() adds its own. Thread rule: any.
    std::uint64_t evaluated() const {
        return evaluated_;
    }
    /// What class_bounds() has found so far. Thread rule: any.
    std::vector<SavedClassBounds> progress() const;
    /// Leaves out of class_bounds() what an earlier run has found. \throws UserError if it was
    /// another problem
    void restore(const std::vector<SavedClassBounds>& known);
    /// Keeps what rows() finds in each template, for a run that goes on from there, and takes what
    /// an earlier run has kept. `save` as for class_bounds(). \throws UserError if it was another
    /// problem
    void keep_rows(std::vector<SavedSearch> known, const std::function<void()>& save);
    /// What rows() has found so far. Large tables are not kept. Thread rule: any.
    std::vector<SavedSearch> searches() const;
    /// Whether the last call of rows() has found more than is kept: a run that goes on from there
    /// does some of it again.
    bool overflowed() const {
        return overflowed_;
    }
    /// Forgets what the last call of rows() has kept: nobody will search that again.
    void forget_search();
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
    /// Groups with one pmapping per Einsum, from local searches: in the best template so far and in
    /// some more with every call. Needs nothing_shared().
    /// `total`: costs of the best mapping so far; empty: every Einsum by itself.
    void local_search(const std::vector<double>& total);
    /// Looks for pmappings that improve a known mapping, given by Einsum. `total`: its costs.
    void improve(const std::vector<UsedPmapping>& known, const std::vector<double>& total);
    /// Groups with what improve() has found: the best of it, or all.
    void improved(bool all);
    /// Groups with some good pmappings of templates without fused loops, for a first mapping.
    void simple();
    // One Einsum by itself (best_first.cpp). Each search leaves groups of one pmapping if it finds
    // one below `best`, and says so.
    /// Local searches in some templates.
    bool local_search_templates(double best);
    /// Parts of templates that may have something below `best`. \throws base::Stopped
    /// Of `every` so-manieth template.
    void make_boxes(double best, std::size_t every);
    std::size_t n_boxes() const {
        return boxes_.size();
    }
    /// Of the box with that many others before it in order of bounds; infinite behind the last.
    double bound_of_rank(std::size_t rank) const;
    /// Local searches in the boxes of least bound.
    bool local_search_boxes(double best);
    /// All of `n` boxes from the `first` on.
    bool explore_boxes(std::size_t first, std::size_t n, double best);
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
    /// What one template leaves behind.
    struct Result {
        std::vector<mapspace::PmappingGroup> groups;
        double evaluated = 0;
        std::string space;
        std::vector<mapspace::CapacityNeed> needs;
    };
    /// Tools of one thread.
    struct Scratch {
        model::FormulaPool pool;
        mapspace::TileShapeExplorer explorer;
        mapspace::TileShapeResult result;
        mapspace::TemplateRows rows;
        std::vector<char> in_groups;  ///< by row: some group has it
        telemetry::Worker* worker = nullptr;
        std::vector<telemetry::Reason> reasons;  ///< of the problem's constraints
    };

    using Work = std::function<void(std::size_t e, std::size_t i, Scratch& scratch)>;
    using Completions = std::vector<double>;
    struct Job {
        std::size_t space = 0, index = 0;
    };
    void for_each_template(const base::StopToken& token, const Work& work);
    void for_each_job(const std::vector<Job>& jobs, const base::StopToken& token, const Work& work);
    base::StopToken token() const {
        return {c_.options->stop};
    }
    template <class Explore>
    void for_each_in_sequence(const Explore& explore);
    std::vector<Completions> completions_at(const SequentialBound& sequence, std::size_t e) const;
    void forget_sequence();
    void find_compatible(const SequentialBound& sequence, std::size_t e);
    bool allow(std::size_t e, std::size_t i, mapspace::TileShapeProblem& problem) const;
    bool bound_rows(std::size_t e, std::size_t i, const std::vector<Completions>& completions,
                    const mapspace::IncumbentBound& classes, const mapspace::CostFront& whole,
                    double own_excess, mapspace::IncumbentBound& bound) const;
    bool given_up() const {
        return most_evaluated_ > 0 && evaluated_ > most_evaluated_;
    }
    bool stopped() const {
        return c_.options->stop != nullptr && c_.options->stop->load();
    }
    mapspace::TileShapeProblem problem_of(std::size_t e, std::size_t i,
                                          const model::TemplateFormulas& f, Scratch& scratch) const;
    void run(std::size_t e, std::size_t i, mapspace::TileShapeProblem& problem, Scratch& scratch,
             bool first_rows = false, std::size_t beam = 0,
             double most_rows = std::numeric_limits<double>::infinity());
    void count(Scratch& scratch) const;
    void make_classes();
    std::size_t class_of(std::size_t e, std::size_t i) const {
        return class_of_[e][i];
    }
    /// Of a template: not below its class's, or found; no legal row; given up.
    enum class ClassBound { known, none, open };
    bool least_of(std::size_t e, std::size_t i, Scratch& scratch);
    ClassBound least_of_cost(std::size_t e, std::size_t i, mapspace::TileShapeProblem& problem,
                             const model::Formula& cost, std::atomic<double>& found,
                             double root_bound, Scratch& scratch);
    bool reaches_root_bound(std::size_t e, std::size_t i, mapspace::TileShapeProblem& problem,
                            const model::Formula& cost, double level, std::atomic<double>& found,
                            Scratch& scratch);
    ClassBound tighten_root_bound(std::size_t e, std::size_t i, mapspace::TileShapeProblem& problem,
                                  const model::Formula& cost, std::atomic<double>& found,
                                  double before, double& root_bound, Scratch& scratch);
    std::optional<double> find_below(std::size_t e, std::size_t i,
                                     mapspace::TileShapeProblem& problem,
                                     const model::Formula& cost, double level, double most_rows,
                                     Scratch& scratch, std::size_t beam = 0);
    /// By how much root relaxations of a template hold the bound down: levels to tighten them to,
    /// per objective and for the scalarised cost; 0: not.
    using Tightening = std::array<double, 3>;
    std::map<std::pair<std::size_t, std::size_t>, Tightening> root_bounds_to_tighten(
        bool scalarised_bounds, double most_rows) const;
    void tighten(std::size_t e, std::size_t i, const Tightening& levels, double most_rows,
                 Scratch& scratch);
    void root_bound_scalarised();
    std::array<double, 2> scalarised_completions(std::size_t e, std::size_t i) const;
    std::optional<double> find_scalarised_below(mapspace::TileShapeProblem& problem,
                                                const std::vector<model::Formula>& cost,
                                                std::size_t e, std::size_t i, double level,
                                                double most_rows, Scratch& scratch);
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
                 Scratch& scratch, bool first_rows = false, std::size_t beam = 0);
    void begin_search(const Incumbents& incumbents, const Incumbents* near, double own_excess);
    bool take_kept(std::size_t e, std::size_t i, Scratch& scratch);
    void forget_other_searches();
    void keep(std::size_t e, std::size_t i, const Scratch& scratch);
    void group_rows(std::size_t e, std::size_t i, const model::TemplateFormulas& f,
                    Scratch& scratch);
    void tabulate_rows(std::size_t e, std::size_t i, const model::TemplateFormulas& f,
                       Scratch& scratch);
    class PairSearch;
    void for_each_improved(const Work& work);
    /// What a local search found in one template.
    struct LocalOptimum {
        std::size_t index = 0;
        std::size_t tried = 0;  ///< templates of the Einsum that were searched
        std::vector<std::int32_t> shapes;
        std::vector<double> cost;  ///< empty: nothing
    };
    /// Some of the symbols of a template have given tile shapes.
    struct Box {
        std::size_t index = 0;
        double bound = 0;       ///< of the metric
        TileShapes fixed;       ///< by symbol; 0: open
        bool few_rows = false;  ///< to look at all of them is quicker than to bound any
    };
    struct BoxProblem {
        TemplateEntry entry;  ///< over the open symbols
        std::vector<int> open;
        model::TemplateFormulas formulas;
        std::vector<model::Formula> cost;
        mapspace::TileShapeProblem problem;
    };
    struct BoxRow {
        double value = std::numeric_limits<double>::infinity();
        std::size_t index = 0;
        TileShapes shapes;  ///< of all symbols; empty: nothing below the incumbent
    };
    BoxProblem open_box(const Box& box, Scratch& scratch, bool keep_sums = false) const;
    double bound_of_box(const Box& box, double enough, bool closest, Scratch& scratch) const;
    void branch(const Box& box, std::span<const std::vector<int>> chains, double best,
                Scratch& scratch, std::vector<Box>& out) const;
    void offer_rows(const Box& box, const BoxProblem& p, const Scratch& scratch,
                    BoxRow& best) const;
    void explore_rows(BoxProblem& p, const mapspace::TileShapeOptions& how, Scratch& scratch) const;
    BoxRow explore_box(const Box& box, double best, Scratch& scratch) const;
    BoxRow local_search_box(const Box& box, Scratch& scratch) const;
    template <class Search>
    bool search_boxes(std::span<const Box> boxes, double best, const Search& search);
    void keep_row(std::size_t e, std::size_t i, const model::TemplateFormulas& f,
                  const mapspace::TileShapeProblem& problem, const TileShapes& shapes,
                  Scratch& scratch);
    LocalOptimum local_search_template(std::size_t e, std::size_t i,
                                       const std::vector<std::int32_t>& start,
                                       const std::vector<double>& completions, Scratch& scratch);
    void gather(std::size_t e);
    void share_groups();
    void clear_results();
    const mapspace::TabulateContext& table(std::size_t e, const TemplateEntry& t) const {
        return tables_[same(e)][static_cast<std::size_t>(t.path_index)];
    }

    std::size_t same(std::size_t e) const {
        return spaces_[e].same;
    }
    bool explored(std::size_t e) const {
        return same(e) == e;
    }

    const ExploreContext& c_;
    std::vector<EinsumSpace>& spaces_;
    std::vector<std::vector<Result>> results_;  ///< by Einsum and template
    std::vector<std::vector<std::uint32_t>> class_of_;
    /// By Einsum and template: what its formulas do not go below, from the class bounds; 0: not
    /// known.
    std::vector<std::vector<std::array<double, 2>>> least_;
    std::vector<std::vector<mapspace::TabulateContext>> tables_;
    std::vector<std::array<double, 2>> root_bound_;  ///< by Einsum: least of all its templates
    std::vector<std::vector<std::array<double, 2>>> root_bound_by_template_;
    std::vector<Box> boxes_;                   ///< of one Einsum by itself, by ascending bound
    std::vector<LocalOptimum> local_optimum_;  ///< by Einsum
    std::vector<std::map<std::size_t, ImprovedRows>> improved_;  ///< by Einsum and template
    std::vector<std::vector<std::array<std::atomic<double>, 2>>> found_;  ///< by Einsum and class
    mutable std::atomic<std::uint64_t> evaluated_ = 0;
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
    std::vector<SavedSearch> kept_;           ///< the last one: that of rows()
    /// Of the last one: which of its rows are of a template, by Einsum and template; -1: none.
    std::vector<std::vector<int>> kept_at_;
    std::size_t kept_values_ = 0;                ///< numbers in all of kept_
    bool overflowed_ = false;                    ///< not all of the last one is kept
    std::function<void()> save_;                 ///< empty: nothing is kept
    std::unique_ptr<SharedTiles> shared_tiles_;  ///< while Einsums are explored one by one
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
