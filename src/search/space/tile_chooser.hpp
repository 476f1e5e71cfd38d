// Chooses the tile shapes of one template one after the other, in TemplateData::order: those of
// fused loops from the outside in, so that the loops shared with other Einsums can be met; then the
// others from the inside out, so that what no longer fits is seen at once. What is not chosen yet
// is as small as it can be, and every limit that can only get worse from there is looked at.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "mapspace/tile_shapes_candidates.hpp"
#include "search/space_data.hpp"

namespace tessera::search {

/// Scratch of one template in one thread.
class TileChooser {
public:
    TileChooser(const TemplateData& t, mapspace::DivisorCache& divisors,
                model::FormulaWorkspace& workspace);

    /// Starts over: the fused loops in `running` run more than once; `trips`: how often, by fused
    /// loop, 0: free.
    void start(std::uint32_t running, const std::vector<std::int64_t>& trips);

    /// Tile shapes that the k-th symbol in order may take when those before it are chosen. Of the
    /// limits only those are looked at that are a product with or a quotient by its tile shape.
    void candidates(std::size_t k, std::vector<double>& out);

    /// Chooses; false if some limit can no longer be met.
    bool choose(std::size_t k, double value);
    /// After choose() said no: no larger value would do either, or no smaller one.
    bool too_large() const {
        return too_large_;
    }
    bool too_small() const {
        return too_small_;
    }

    /// All tile shapes, chosen at random: each symbol's uniform among those that do not contradict
    /// what was chosen before; where nothing is left, the symbol before is chosen anew. `steps`
    /// counts down; false when it is used up, or when there are none. `target`, one per symbol:
    /// not at random, but what is nearest to it first (by ratio); 0: at random.
    /// The first `from` symbols stay as they were chosen.
    bool draw(Rng& rng, std::uint64_t& steps, const std::vector<double>* target = nullptr,
              std::size_t from = 0);

    /// As draw() towards a target, all of it above 0, where nothing stands in the way: each symbol
    /// takes what is nearest. False if some limit is not met then.
    bool take_nearest(const std::vector<double>& target);

    /// The symbols of one rank variable.
    struct Chain {
        std::vector<int> symbols;  ///< from the outside in
        std::int64_t bound = 1;
        std::span<const std::int64_t> primes;  ///< that divide it, ascending
        bool divisors = true;                  ///< of the bound: each of the symbols
    };
    const Chain& chain(int symbol) const {
        return chains_[chain_of_[symbol]];
    }

    /// What the tile shape of one symbol may be, given all others; ascending.
    void between(int symbol, const std::int64_t* tiles, std::vector<double>& out);

    /// Keeps the choices of the first k symbols.
    void rewind(std::size_t k);

    /// The fused loops run as often as `start` demanded, and the limits on the number of loops
    /// hold.
    bool complete() const;

    std::size_t size() const {
        return t_.order.size();
    }
    const std::vector<double>& values() const {
        return values_;
    }

private:
    double outer_of(const FusedLoop& loop) const;
    void fused_candidates(int fused, std::vector<double>& out);

    /// An unknown tile shape at its largest: that of the symbol `to`, or `bound` if that is -1; and
    /// at most that of `least`, if that is not -1.
    struct Raise {
        int symbol = 0, to = -1, least = -1;
        double bound = 0;
    };
    /// A limit that a choice may break: what it is where that is least, and most, likely. Without
    /// anything unknown both are the same.
    struct Check {
        const Limit* limit = nullptr;
        bool upper = false, lower = false;  ///< neither: an equation
        /// Where the output is above the limit (below it): larger values, smaller ones, break it
        /// too.
        struct Broken {
            bool by_larger = false, by_smaller = false;
        } above, below;
        std::vector<Raise> lowest, highest;
    };
    /// What a choice does. The order of choices is fixed, and so is what is known before each.
    struct Step {
        std::vector<int> raised;  ///< unknown symbols around it: at least as large
        std::vector<Check> checks;
        std::vector<std::size_t> linear;  ///< of the checks: output = a * s or a / s, a is known
        model::SymbolSet known;           ///< before it
    };
    void link(mapspace::DivisorCache& divisors);
    void plan();
    Check check_of(const Limit& limit, int symbol, const model::SymbolSet& known,
                   const std::vector<int>& raised) const;
    Raise raise(const Limit& limit, int symbol, const model::SymbolSet& known, bool lowest) const;
    const Check::Broken* broken_by(const Check& check);
    void narrow(const Step& step, int symbol, std::vector<double>& candidates) const;
    double corner(const Check& check, const std::vector<Raise>& raises);
    void set(const Step& step, int symbol, double value);

    const TemplateData& t_;
    model::FormulaWorkspace& workspace_;
    std::vector<mapspace::CandidateCursor> cursors_;  // per symbol
    model::SymbolSet all_;
    std::vector<Chain> chains_;
    std::vector<std::size_t> chain_of_;  // per symbol
    std::vector<Step> steps_;            // by place in the order
    std::vector<double> values_, corner_, outputs_;
    std::vector<double> before_;  // values_ as they were before each choice
    std::size_t chosen_ = 0;
    std::vector<std::vector<double>> left_;  // draw(): what each symbol may still take
    std::uint32_t running_ = 0;
    bool too_large_ = false, too_small_ = false;
    std::vector<std::int64_t> trips_;
};

}  // namespace tessera::search
