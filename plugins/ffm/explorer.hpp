// Exploring templates in parallel: formulas, tile shapes, groups of pmappings. What is looked for
// in them, and what becomes of it, is for those who ask: class bounds, rows, heuristics.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mapspace/shape_problem.hpp"
#include "mapspace/shape_semijoin.hpp"
#include "mapspace/tabulate.hpp"
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
    std::uint32_t of_class = 0;  ///< among EinsumSpace::classes, once these are made
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

/// The memory that backs a tensor, as a choice of a class.
inline std::int32_t choice_of(int component, bool persistent) {
    return 2 * component + (persistent ? 1 : 0);
}

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

using TileShapes = std::vector<std::int32_t>;  ///< by symbol

/// Of what a row costs, with what the others of a mapping cost.
inline double product(std::span<const double> cost, std::span<const double> completions = {}) {
    double out = 1;
    for (std::size_t q = 0; q < cost.size(); ++q) {
        out *= cost[q] + (completions.empty() ? 0.0 : completions[q]);
    }
    return out;
}

/// An Einsum's part of a mapping.
struct UsedPmapping {
    std::size_t index = 0;  ///< of the template
    TileShapes shapes;
};

/// How much is done in one template.
struct Effort {
    bool first_rows = false;  ///< any few rows
    std::size_t beam = 0;     ///< partial rows that are kept; 0: all
    double most_rows = std::numeric_limits<double>::infinity();  ///< more: it is given up
};

/// Sum of two numbers, exact decimals.
std::string add_decimal(const std::string& a, const std::string& b);

class SharedTiles;

/// How explored Einsums hold the tensors that the one at hand shares: by local tensor; none: they
/// say nothing.
using CompatibleShapes = std::vector<std::optional<mapspace::CompatibilitySet>>;

/// Which rows of a template are looked for.
struct RowsAsked {
    mapspace::IncumbentBound bound{};  ///< but for its quantities, which are the template's costs
    Effort effort{};
    const CompatibleShapes* compatible = nullptr;  ///< null: any
    const SharedTiles* shared_tiles = nullptr;     ///< null: any
    bool extreme_fused_tiles = false;  ///< fused loops have one trip or one for each point
};

/// What an Einsum may cost by a metric that is not looked for.
struct CostLimits {
    model::Formula (*of)(const model::TemplateFormulas&) = nullptr;  ///< null: anything
    std::vector<std::vector<double>> most;  ///< by distinct Einsum and class
};

/// Deterministic for any number of threads. Einsums are told by number `e`, their templates by `i`;
/// those of an Einsum that equals an earlier one are the earlier one's.
class TemplateExplorer {
public:
    /// What one template leaves behind.
    struct Result {
        std::vector<mapspace::PmappingGroup> groups;
        double evaluated = 0;
        std::string space;
    };
    /// Tools of one thread.
    struct Scratch {
        model::FormulaPool pool;
        mapspace::TileShapeExplorer explorer;
        mapspace::TileShapeResult result;
        mapspace::TemplateRows rows;
        std::vector<char> in_groups;  ///< by row: some group has it
        telemetry::Worker* worker = nullptr;
    };

    using Work = std::function<void(std::size_t e, std::size_t i, Scratch& scratch)>;
    struct Job {
        std::size_t space = 0, index = 0;
    };
    /// What was found before is forgotten. Stopped: templates that were being explored are left
    /// out.
    void for_each_template(const base::StopToken& token, const Work& work) {
        for_each_template(token, nullptr, work);
    }
    /// The least by `order` first, where there is one.
    void for_each_template(const base::StopToken& token,
                           const std::function<double(std::size_t, std::size_t)>& order,
                           const Work& work);
    void for_each_job(const std::vector<Job>& jobs, const base::StopToken& token, const Work& work);
    base::StopToken token() const {
        return {c_.options->stop};
    }
    /// A template at hand, what is looked for in it, and the tools of the thread.
    struct Asked {
        std::size_t e = 0, i = 0;
        mapspace::TileShapeProblem& problem;
        Scratch& scratch;
    };
    void run(const Asked& asked, const Effort& effort);
    void count(const mapspace::TileShapeProblem& problem, Scratch& scratch) const;

    /// `spaces` must outlive it.
    TemplateExplorer(const ExploreContext& context, std::vector<EinsumSpace>& spaces);

    const ExploreContext& context() const {
        return c_;
    }
    std::vector<TemplateEntry>& templates(std::size_t e) const {
        return *spaces_[e].templates;
    }
    std::vector<EinsumSpace>& spaces() {
        return spaces_;
    }
    Result& result(std::size_t e, std::size_t i) {
        return results_[e][i];
    }
    /// Rows looked at, of use or not. Thread rule: any.
    std::uint64_t evaluated() const {
        return evaluated_;
    }
    void add_evaluated(std::uint64_t rows) const {
        evaluated_ += rows;
    }
    /// The same, and what the worker says of them.
    void count_rows(const Scratch& scratch, double rows) const;
    model::TemplateFormulas formulas(const TemplateEntry& t) const {
        return c_.model->formulate(*c_.problem, *t.path, t.tmpl);
    }
    /// From now on rows that cost more are not legal.
    void set_cost_limits(CostLimits limits) {
        cost_limits_ = std::move(limits);
    }
    /// From now on a template is explored only if its convex bound leaves anything: where there are
    /// many that take long.
    void bound_first(bool on) {
        bound_first_ = on && c_.switches.tiles.convex;
    }
    void limit_cost(std::size_t e, const TemplateEntry& t, const model::TemplateFormulas& f,
                    mapspace::TileShapeProblem& problem) const;
    mapspace::TileShapeProblem problem_of(std::size_t e, std::size_t i,
                                          const model::TemplateFormulas& f, Scratch& scratch,
                                          const SharedTiles* shared_tiles = nullptr) const;
    /// The least cost of a template, if it is below the level; else nothing, if the search is not
    /// given up.
    std::optional<double> least_below(const Asked& asked, const model::Formula& cost, double level,
                                      const Effort& effort);
    /// Rows as groups, in Scratch::rows and in the template's result. False if there was nothing to
    /// explore.
    bool find_rows(std::size_t e, std::size_t i, const RowsAsked& asked, Scratch& scratch);
    void group_rows(std::size_t e, std::size_t i, const model::TemplateFormulas& f,
                    Scratch& scratch);
    void tabulate_rows(std::size_t e, std::size_t i, const model::TemplateFormulas& f,
                       Scratch& scratch);
    /// Given tile shapes as groups.
    void keep_shapes(std::size_t e, std::size_t i, const model::TemplateFormulas& f,
                     const mapspace::TileShapeProblem& problem, const std::set<TileShapes>& rows,
                     Scratch& scratch);
    /// Groups of a distinct Einsum's templates become its own, and those of all that equal it.
    void gather(std::size_t e);
    /// gather() for all of them.
    void share_groups();
    void clear_results();
    /// The Einsum is a distinct one: it is explored for all that equal it.
    bool explored(std::size_t e) const {
        return spaces_[e].same == e;
    }
    const mapspace::TabulateContext& table(std::size_t e, const TemplateEntry& t) const {
        return tables_[spaces_[e].same][static_cast<std::size_t>(t.path_index)];
    }

    bool stopped() const {
        return c_.options->stop != nullptr && c_.options->stop->load();
    }

private:
    static void allow_extremes(mapspace::TileShapeProblem& problem);
    bool allow(std::size_t e, const TemplateEntry& t, const CompatibleShapes& compatible,
               mapspace::TileShapeProblem& problem) const;

    const ExploreContext& c_;
    std::vector<EinsumSpace>& spaces_;
    std::vector<std::vector<Result>> results_;  ///< by Einsum and template
    std::vector<std::vector<mapspace::TabulateContext>> tables_;
    CostLimits cost_limits_;
    bool bound_first_ = false;
    mutable std::atomic<std::uint64_t> evaluated_ = 0;
};

}  // namespace tessera::ffm
