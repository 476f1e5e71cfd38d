// Every row that can be part of a mapping better than the incumbents. Needs the class bounds.
//   all at once  many Einsums, or a beam search: bounded by the class bounds of the others
//   one by one   one distinct Einsum after the other: those explored bound the rest
//                (sequential.hpp) and say which fused tile shapes can be joined
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bounds/class_bounds.hpp"
#include "explorer.hpp"
#include "kept_rows.hpp"

namespace tessera::ffm {

/// What a mapping must be able to beat to be of use.
struct Incumbents {
    bool product = false;                     ///< compare products of the objectives (EDP)
    std::vector<std::vector<double>> points;  ///< objective vectors of known mappings
};

class SequentialBound;

/// Deterministic for any number of threads.
class RowSearch {
public:
    /// Both must outlive it.
    RowSearch(TemplateExplorer& explorer, const ClassBounds& bounds);

    /// A beam search, not exact: classes that cannot be part of a mapping of the cost `near` are
    /// left out, and rows that add more than `own_excess` of their Einsum's least cost to the least
    /// of the whole.
    struct Near {
        Incumbents incumbents;
        double own_excess = 0;
    };
    /// Groups with every row that can be part of a mapping better than (or equal to) the
    /// incumbents. False, and no groups: given up with more than `most_rows` looked at, of all
    /// templates together (0: never); what is finished is kept for the next time.
    /// \throws base::Stopped
    bool find(const Incumbents& incumbents, std::uint64_t most_rows, const Near* near = nullptr);
    /// Groups with rows of partial mappings that a beam of `width` keeps in every template, below
    /// the incumbents: not all of them. \throws base::Stopped
    void find_some(const Incumbents& incumbents, std::size_t width);

    /// Whether a mapping that costs at most `cost`, by the only objective, can have this template
    /// of a distinct Einsum: false if the last find() has shown that none can.
    bool may_have(std::size_t e, std::size_t i, double cost) const {
        return !(cost < complete_below_) || has_rows_[e][i] != 0;
    }

    /// Keeps what find() finds in each template, for a run that goes on from there, and takes what
    /// an earlier run has kept. `save` is called, on any thread, when kept() should be saved.
    /// \throws UserError if it was another problem
    /// The class bounds have changed.
    void forget_completions() {
        completions_.clear();
    }
    void keep(std::vector<SavedSearch> known, std::function<void()> save);
    /// What find() has found so far; its last search is that of the last call.
    KeptRows& kept() {
        return kept_;
    }

private:
    using Scratch = TemplateExplorer::Scratch;
    /// What is known of the other Einsums when a template is explored.
    struct Others {
        const std::vector<Completions>& completions;  ///< by class
        const CompatibleShapes* compatible = nullptr;
        const SharedTiles* shared_tiles = nullptr;
    };
    using Explore =
        std::function<void(std::size_t e, std::size_t i, const Others& others, Scratch& scratch)>;
    /// What limits the rows of a search, beside the costs of the other Einsums.
    struct RowLimits {
        mapspace::IncumbentBound rows, classes;  ///< what is to be beaten
        mapspace::CostFront whole;  ///< a beam search: least costs of whole mappings; else empty
        double own_excess = 0;
    };

    void find_completions();
    bool in_sequence() const;
    void for_each_at_once(const Explore& explore);
    /// Until `enough` says so.
    void for_each_in_sequence(const Explore& explore, const std::function<bool()>& enough);
    void explore_einsum(std::size_t e, const Others& others, const Explore& explore);
    std::vector<Completions> completions_at(const SequentialBound& sequence, std::size_t e) const;
    CompatibleShapes compatible_at(const SequentialBound& sequence, std::size_t e) const;
    std::optional<mapspace::IncumbentBound> bound_rows(std::size_t e, std::size_t i,
                                                       const std::vector<Completions>& completions,
                                                       const RowLimits& limits) const;
    void forget_templates();
    void note_rows(std::size_t e, std::size_t i);
    bool take_kept(std::size_t e, std::size_t i, Scratch& scratch);
    void keep_rows(std::size_t e, std::size_t i, const Scratch& scratch);

    TemplateExplorer& x_;
    const ClassBounds& bounds_;
    const ExploreContext& c_;
    std::vector<EinsumSpace>& spaces_;
    KeptRows kept_;
    std::function<void()> save_;  ///< empty: nothing is kept
    double complete_below_ = 0;   ///< every mapping below has rows that the last find() found
    std::vector<std::vector<char>> has_rows_;  ///< by distinct Einsum and template: in the last one
    /// By Einsum and class. Classes without any cannot be part of a mapping that is of use.
    std::vector<std::vector<Completions>> completions_;
};

}  // namespace tessera::ffm
