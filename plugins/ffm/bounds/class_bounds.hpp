// Least costs of classes of templates, and what they say about whole mappings.
//   class        templates that back the shared tensors in the same memories
//   root bound   per template and objective: the root relaxation of its formulas
//   class bound  per class and objective: branch and bound over the tile shapes of its templates,
//                one objective at a time, first for values close to their root bounds
//   relaxation   relaxation.hpp: whole mappings
// With partial tiles class bounds are tightened step by step: bound_tightening.hpp.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "../explorer.hpp"
#include "../saved.hpp"
#include "relaxation.hpp"

namespace tessera::ffm {

/// Least costs of the classes of one Einsum.
using KnownClassBounds = std::map<mapspace::TensorChoices, std::array<double, 2>>;

/// Costs that differ by less are the same, computed in another order.
inline constexpr double rounding = 1e-11;
/// Costs of known classes that are lower by less than this share are not looked for.
inline constexpr double worth_tightening = 0.001;

/// The tile shapes of a template whose least costs are asked for: no fused one has to be kept
/// separate.
mapspace::TileShapeProblem least_cost_problem(const TemplateExplorer& explorer, std::size_t e,
                                              std::size_t i, const model::TemplateFormulas& f,
                                              TemplateExplorer::Scratch& scratch);

/// Root bounds are what root relaxations say (docs/glossary.md).
/// Deterministic for any number of threads: minima do not depend on who finds them first.
class ClassBounds {
public:
    /// Sorts the templates into classes. `explorer` must outlive it.
    explicit ClassBounds(TemplateExplorer& explorer);

    /// Root bounds of all templates: least costs that hold before the class bounds are known. False
    /// if stopped.
    bool find_root_bounds();
    /// Least costs of every class and Einsum, and EinsumSpace::needs of those that have no legal
    /// pmapping. False if stopped. `save` is called, on any thread, when progress() should be
    /// saved. A template that takes more rows than `most_rows` in one step is given up: it has its
    /// root bound by then.
    /// Not `in_turns`: where all templates together have taken so many rows, the others have what
    /// the convex bound says. In turns: root bounds are tightened from what is known at the
    /// beginning.
    /// Templates that are left when `pause` says so are for the next call: paused(). It is asked on
    /// any thread, with the share of templates that are done.
    bool find(const std::function<void()>& save, double most_rows, bool in_turns,
              const std::function<bool(double)>& pause = {});
    bool paused() const {
        return paused_;
    }
    /// relaxation() of what a paused find() knows. \pre open()
    void relax_so_far();
    /// Only mappings that cost no more than `value` are of use from now on: class bounds are those
    /// of the pmappings that can be part of one (class_bounds_below.cpp). \pre relaxation()
    void look_below(double value);
    /// Some template was given up by find(): the class bounds are none that are attained.
    bool open() const {
        return open_;
    }

    /// What find() has found so far. Thread rule: any.
    std::vector<SavedClassBounds> progress() const;
    /// Leaves out of find() what an earlier run has found. \throws UserError if it was another
    /// problem
    void restore(const std::vector<SavedClassBounds>& known);

    /// Least costs of classes, of use to a run in a larger mapspace.
    std::vector<KnownClassBounds> known() const;
    /// Costs of a part of this mapspace. Class bounds that are lower by less than the share
    /// `worth_finding` are not looked for: they count as lower by that.
    void start_from(const std::vector<KnownClassBounds>& known, double worth_finding);
    /// What classes cost at least by one of two objectives is known: `least`, by Einsum and class;
    /// `single`: the bounds of that objective alone, of the same templates. find() looks for the
    /// other objective; of a class that has no row by either, both are infinite.
    void take_known(const ClassBounds& single, const std::vector<std::vector<double>>& least,
                    std::size_t objective);
    /// The other objective, from root bounds alone. False if stopped.
    bool find_from_root_bounds();
    /// Costs of a legal pmapping of each Einsum: no least cost is above them. Empty: none is known.
    /// \pre nothing_shared()
    void note_costs(const std::vector<std::vector<double>>& of_einsums);

    /// Whether no Einsum accesses what another one does.
    bool nothing_shared() const;
    /// Least costs of whole mappings: by the class bounds; before these are known, by root bounds.
    mapspace::CostFront bound() const;
    /// Their least product, or the least one.
    double least_value() const;
    /// What the class bounds say; null before they are known.
    const ClassRelaxation* relaxation() const {
        return relaxation_ ? &*relaxation_ : nullptr;
    }
    /// What the formulas of a template do not go below, as far as find() looked; 0: not known.
    const std::array<double, 2>& least(std::size_t e, std::size_t i) const {
        return least_[e][i];
    }

    // For bound tightening.

    /// Of a distinct Einsum's template. Needs find_root_bounds().
    std::array<double, 2>& root_bound(std::size_t e, std::size_t i) {
        return root_bounds_[e][i];
    }
    /// What is saved of a distinct Einsum. Thread rule: one thread alone.
    SavedClassBounds& saved(std::size_t e) {
        return progress_[e];
    }
    /// The root bounds of a template are to be saved, and so is what is known of its costs jointly:
    /// a bound, and rows that were not enough for each of the three.
    void note_root_bounds(std::size_t e, std::size_t i,
                          const std::array<double, 4>* jointly = nullptr);
    /// The class bound becomes the least root bound of its templates that are `open`, and at most
    /// `most(distinct Einsum, class, objective)`.
    void set_from_root_bounds(
        const std::function<double(std::size_t, std::size_t, std::size_t)>& most,
        const std::function<bool(std::size_t, std::size_t)>& open);
    /// The class bounds have changed.
    void relax(const mapspace::ScalarisedBound& scalarised);

private:
    using Asked = TemplateExplorer::Asked;
    using Scratch = TemplateExplorer::Scratch;
    /// Of a template: not below its class's, or found; no legal row; given up.
    enum class Least { known, none, open };

    void make_classes();
    /// What a class costs at least, as far as it is of use.
    double least_of_class(std::size_t e, std::size_t k, std::size_t q) const;
    std::function<double(std::size_t, std::size_t)> order_of_templates() const;
    /// Rows of all templates together, and of one search.
    struct RowsOfFind {
        double all = 0, each = 0;
    };
    bool least_of(std::size_t e, std::size_t i, const RowsOfFind& most, Scratch& scratch);
    /// `most`: what costs more is of no use.
    Least least_of_cost(const Asked& asked, const model::Formula& cost, std::atomic<double>& found,
                        double most, double root_bound, double most_rows);
    Least least_of_relaxation(const Asked& asked, const model::Formula& cost, double found,
                              double& root_bound) const;
    bool reaches_root_bound(const Asked& asked, const model::Formula& cost, double level,
                            std::atomic<double>& found);
    /// Which step is given up does not depend on what other threads find: `before`.
    struct Tightening {
        double before = 0, most_rows = 0;
    };
    Least tighten_root_bound(const Asked& asked, const model::Formula& cost,
                             std::atomic<double>& found, const Tightening& limits,
                             double& root_bound);
    void note(std::size_t e, std::size_t i);
    void note_evaluated(std::size_t e, std::size_t i);
    void collect();
    bool finish_find(bool open);
    void collect_needs(std::size_t e);
    /// Least costs that hold though some templates were not searched.
    void lower_unfinished();

    TemplateExplorer& x_;
    const ExploreContext& c_;
    std::vector<EinsumSpace>& spaces_;
    std::vector<std::vector<std::array<double, 2>>> least_;        ///< by Einsum and template
    std::vector<std::vector<std::array<double, 2>>> root_bounds_;  ///< the same; empty: not known
    std::vector<std::array<double, 2>> root_bound_of_einsum_;
    std::vector<std::vector<std::array<std::atomic<double>, 2>>> found_;  ///< by Einsum and class
    /// What memories lack, by Einsum and template, where it has no legal row.
    std::vector<std::vector<std::vector<mapspace::CapacityNeed>>> needs_;
    std::atomic<double> rows_ = 0;  ///< of exact class bounds
    bool in_turns_ = false, open_ = false, convex_ = false, paused_ = false, looks_below_ = false;
    /// By Einsum and class: what a pmapping costs at most that is of use; of no use: below 0.
    std::vector<std::vector<std::array<double, 2>>> most_;
    /// By Einsum and template: searched no further than that.
    std::vector<std::vector<char>> limited_;
    std::vector<std::vector<char>> visited_;  ///< by Einsum and template: in this call of find()
    std::atomic<bool> given_up_ = false;      ///< some of them
    std::vector<KnownClassBounds> before_;    ///< by Einsum; when find() began
    std::optional<std::size_t> known_objective_;  ///< take_known()
    mutable std::mutex progress_lock_;
    std::vector<SavedClassBounds> progress_;  ///< by Einsum; of those that equal another one, empty
    std::optional<ClassRelaxation> relaxation_;
};

}  // namespace tessera::ffm
