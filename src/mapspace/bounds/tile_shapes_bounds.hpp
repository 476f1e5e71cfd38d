#pragma once

// Signs, extremes and optimistic completions of formulas whose symbols form chains.
//
// Within a chain bound >= s_k >= ... >= s_0 >= 1 a monomial is a product of ratios r_l =
// s_l / s_(l-1) >= 1 whose product is at most the bound. The exponent of r_l is the sum of the
// exponents of s_l and everything outside it, so the least value of the monomial is
//     bound ^ min(0, smallest such sum),
// attained, and the largest one likewise. This is what proves outer / inner - 1 >= 0.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/formula_pool.hpp"

namespace tessera::mapspace {

class ChainBounds {
public:
    /// `vertices`: signs may be proven at the ends of the symbols' ranges
    /// (tile_shapes_vertices.cpp).
    ChainBounds(model::FormulaPool& pool, std::span<const TileShapeSymbol> symbols,
                bool vertices = true);

    /// Formula over the `known` symbols that is never above (below) `f`, whatever legal values the
    /// other symbols take. Equal to `f` if it depends on known symbols only.
    model::Formula never_above(const model::Formula& f, const model::SymbolSet& known);
    model::Formula never_below(const model::Formula& f, const model::SymbolSet& known);

    struct PlainSum {
        std::vector<model::Term> terms;  ///< positive, no atoms
        double constant = 0;             ///< of any sign
        bool choice = false;             ///< several terms could pay for a negative one
    };
    /// Which term pays for a negative one: the one that is surely the largest multiple of it, or
    /// the one that is the smallest multiple, of what it surely is, in the middle of the space.
    enum class CompensatingTerm : std::uint8_t { surest, closest };
    /// A sum that is nowhere above the polynomial on legal rows. None if that takes signs that are
    /// unknown.
    std::optional<PlainSum> plain_below(const model::Formula& f,
                                        CompensatingTerm compensating_term);

    /// True if the atom cannot be negative (positive: cannot be zero either).
    bool atom_not_negative(model::AtomId atom, bool positive);

    model::FormulaPool& pool() {
        return pool_;
    }

private:
    enum class Side : std::uint8_t { low, high };
    static Side opposite(Side side) {
        return side == Side::low ? Side::high : Side::low;
    }

    model::Formula bound(const model::Formula& f, const model::SymbolSet& known, Side side);
    model::Formula bound_polynomial(const model::Formula& f, const model::SymbolSet& known,
                                    Side side);
    bool surely_positive(const model::Formula& f);
    bool prove_not_negative(model::AtomId atom, bool positive);
    void eliminate_rising(std::vector<model::Term>& terms);
    bool eliminate_rising(std::vector<model::Term>& terms, std::span<const int> part, int of,
                          int symbol);
    bool pay_negative_terms(std::vector<model::Term>& terms,
                            CompensatingTerm compensating_term) const;
    void drop_ceilings(std::vector<model::Term>& terms, const model::SymbolSet& known);
    bool at_least_one(const model::Monomial& over, const model::Monomial& under) const;
    bool bound_atoms(std::vector<model::Term>& terms, const model::SymbolSet& known, Side side);
    model::Formula bound_atom(model::AtomId atom, const model::SymbolSet& known, Side side);
    void eliminate(std::vector<model::Term>& terms, int symbol, int outer, int inner, Side side);
    int direction(std::span<const model::Term> terms, int symbol);
    void eliminate_from(std::vector<model::Term>& terms, int symbol, int rise, int outer, int inner,
                        Side side);
    bool never_negative(std::span<const model::Term> terms);
    bool never_negative(std::span<const model::Term> terms, int depth, int& sums);
    int vertex_symbol(std::span<const model::Term> terms) const;
    void substitute(std::span<const model::Term> terms, int symbol, int neighbour, double end,
                    std::vector<model::Term>& to) const;
    void find_parts(std::span<const model::Term> terms, std::vector<int>& part) const;
    int distance(model::MonomialId a, model::MonomialId b) const;
    double middle_ratio(model::MonomialId over, model::MonomialId under) const;
    double ratio_low(model::MonomialId over, model::MonomialId under) const;
    void merge(std::vector<model::Term>& terms) const;

    model::FormulaPool& pool_;
    std::span<const TileShapeSymbol> symbols_;
    std::vector<int> outside_in_;  // chain by chain, outermost symbol first
    std::vector<double> shares_;
    std::vector<model::Term> slope_;
    std::vector<model::Term> spare_;
    /// What atom_not_negative() has found, by atom: not negative, and positive.
    std::array<std::vector<std::optional<bool>>, 2> proven_;
    bool vertices_ = true;
};

/// Whether the term is positive and without atoms.
inline bool is_plain(const model::FormulaPool& pool, const model::Term& term) {
    return term.coefficient > 0.0 && pool.monomial(term.monomial).atoms == 0;
}

/// Whether the atom, which is 1 or more, is nowhere below some positive monomial without atoms:
/// what a ceiling rounds up, the average of a `leading`.
bool is_smooth(const model::FormulaPool& pool, model::AtomId atom);
/// That monomial. \pre is_smooth(). May add monomials to the pool.
model::Term smooth_below(model::FormulaPool& pool, model::AtomId atom);

/// Terms of a sum of plain ones; empty if the formula is something else.
std::span<const model::Term> plain_terms(const model::FormulaPool& pool, const model::Formula& f);

inline double integer_power(double base, int exponent) {
    double result = 1.0;
    for (int e = 0; e < exponent; ++e) {
        result *= base;
    }
    return result;
}

/// A formula that is nowhere above `f` on rows that meet the constraints, and in general closer to
/// `f` once symbols are unknown: a branch c * m of a maximum is multiplied by g / limit <= 1 for
/// conditions g <= limit where that removes symbols: work / (fan-out in use) becomes work /
/// fan-out.
model::Formula surrogate_of_limits(model::FormulaPool& pool, const model::Formula& f,
                                   std::span<const TileShapeConstraint> constraints);

}  // namespace tessera::mapspace
