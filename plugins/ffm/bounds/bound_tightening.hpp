// Class bounds of partial tiles, where the least cost of a template can take longer than there is
// time. What the root relaxation of its formulas says is tightened in steps, as far as a number of
// rows reaches; a class bound is the least root bound of a class. Only templates that hold the
// bound down are tightened any further.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "class_bounds.hpp"

namespace tessera::ffm {

class BoundTightening {
public:
    /// What is known when it begins.
    struct Start {
        const std::vector<KnownClassBounds>& classes;  ///< as for ClassBounds::start_from()
        const std::vector<double>& costs;              ///< of a known mapping; empty: none is
    };
    /// Needs the root bounds; after ClassBounds::find(). `save`: as for that.
    BoundTightening(TemplateExplorer& explorer, ClassBounds& bounds, const Start& start,
                    std::function<void()> save);

    /// Tightens the class bounds that the bound rests on, of the objectives or of what they cost
    /// jointly (docs/ffm-proofs.md, 2.24). A template that takes more rows than `most_rows` keeps
    /// its root bound. If it is stopped, ClassBounds::bound() holds all the same.
    void tighten(bool scalarised, double most_rows);
    /// Whether joint costs are known.
    bool scalarised() const {
        return scalarised_.used();
    }

private:
    using Asked = TemplateExplorer::Asked;
    using Scratch = TemplateExplorer::Scratch;
    /// By how much root bounds of a template hold the bound down: levels to tighten them to, per
    /// objective and for the scalarised cost; 0: not.
    using Levels = std::array<double, 3>;
    using Which = std::pair<std::size_t, std::size_t>;  ///< Einsum and template

    void find_scalarised_root_bounds();
    void restore();
    void note(std::size_t e, std::size_t i);
    std::map<Which, Levels> to_tighten(bool scalarised, double most_rows) const;
    double level_of(const Which& which, std::size_t k, std::size_t q) const;
    void tighten_template(const Which& which, const Levels& levels, double most_rows,
                          Scratch& scratch);
    std::optional<double> find_scalarised_below(const Asked& asked,
                                                const std::vector<model::Formula>& cost,
                                                double level, const Effort& effort);
    std::array<double, 2> scalarised_completions(std::size_t e, std::size_t i) const;
    double cap(std::size_t e, std::size_t k, std::size_t q) const;
    void set_class_bounds();

    TemplateExplorer& x_;
    ClassBounds& bounds_;
    const ExploreContext& c_;
    std::vector<EinsumSpace>& spaces_;
    std::function<void()> save_;
    std::vector<KnownClassBounds> caps_;  ///< by Einsum: class bounds are not tightened above these
    mapspace::ScalarisedBound scalarised_;
    std::vector<std::vector<double>> root_bound_scalarised_;  ///< by Einsum and template
    /// By Einsum and template: rows that were not enough to tighten the root bounds.
    std::vector<std::vector<std::array<double, 3>>> in_vain_;
};

}  // namespace tessera::ffm
