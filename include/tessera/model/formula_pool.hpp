#pragma once

// The store behind Formula: hash-consed monomials, atoms, polynomials and maxima in flat arrays.
// Needed by code that takes formulas apart (compiler, tile-shape explorer); a cost model only
// needs a pool object and a FormulaScope.
//
// Layout, from the inside out:
//   Monomial     a signed byte exponent per symbol and a product of atoms
//   AtomProduct  list of (atom, exponent), sorted by structural hash
//   Term         coefficient * monomial
//   Node         polynomial (sorted terms) or maximum (branches; each a polynomial or a constant)
//   Atom         ceil / min / max / sum / leading over argument formulas, used as a factor of a
//                monomial
// Index 0 of every array is the neutral element (monomial 1, empty product, no node).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/model/formula.hpp"

namespace tessera::model {

using MonomialId = std::uint32_t;
using AtomId = std::uint32_t;

/// Exponents of the symbols, one signed byte each, eight to a word.
struct Exponents {
    static constexpr int kWords = kMaxSymbols / 8;
    std::array<std::uint64_t, kWords> words{};

    int get(int symbol) const {
        return static_cast<std::int8_t>(words[symbol >> 3] >> ((symbol & 7) * 8));
    }
    void set(int symbol, int exponent);
    bool empty() const {
        return *this == Exponents{};
    }
    friend bool operator==(const Exponents& a, const Exponents& b) = default;
    /// Symbols with an exponent other than 0.
    SymbolSet mask() const;
};

/// Two independent structural hashes; the first orders terms and fills the tables.
struct StructuralHash {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    bool operator==(const StructuralHash&) const = default;
};

/// What it is found by comes first: it is in one cache line.
struct Monomial {
    StructuralHash hash;
    std::uint32_t atoms = 0;  ///< index of an atom product, 0 = none
    SymbolSet mask;           ///< symbols it depends on, atoms included
    Exponents exponents;

    /// Those with an exponent other than 0: the ones of atoms are not among them.
    SymbolSet own_symbols() const {
        return atoms == 0 ? mask : exponents.mask();
    }
};

struct Term {
    double coefficient = 0.0;
    MonomialId monomial = 0;
};

enum class AtomKind : std::uint8_t { ceil, min, max, sum, leading };

struct Atom {
    AtomKind kind = AtomKind::sum;
    std::vector<Formula> arguments;
    StructuralHash hash;
    SymbolSet mask;

    /// Whether it never falls when the argument grows; else it never rises.
    bool rises_with(std::size_t argument) const {
        return kind != AtomKind::leading || argument != 1;
    }
};

/// How many of the numbers 0, 1, ... below `count` are below `own` modulo `period`, for 1 <= own <=
/// period: what a spatial instance that has the first `own` of every `period` values has of `count`
/// ones. It is the sum over j >= 0 of count - j * period, cut to 0 ... own. So it never falls when
/// `count` or `own` grow, never rises with `period`, and as the first come first it is at least
/// count * own / period. Where own > period: `count`.
inline double leading(double count, double period, double own) {
    if (own >= period) {
        return count;
    }
    const double iterations = ceil(count / period);
    return iterations <= 1 ? min(count, own)
                           : min(iterations * own, count - (iterations - 1) * (period - own));
}
/// The same of formulas. The arguments are integers.
Formula leading(const Formula& count, const Formula& period, const Formula& own);

struct AtomPower {
    AtomId atom = 0;
    int exponent = 0;
};

/// Not copyable, owned by one thread at a time. Memory grows until `clear`.
class FormulaPool {
public:
    FormulaPool();
    FormulaPool(const FormulaPool&) = delete;
    FormulaPool& operator=(const FormulaPool&) = delete;

    /// Pool of this thread; throws Bug when no FormulaScope is open.
    static FormulaPool& current();

    /// Forgets every formula but keeps the memory. Formulas made before are invalid afterwards.
    void clear();
    std::size_t node_count() const {
        return nodes_.size() - 1;
    }

    // ---- taking apart ----
    bool is_max(const Formula& f) const {
        return f.node() != 0 && nodes_[f.node()].is_max;
    }
    /// Branches of a maximum; a polynomial or constant is not a maximum and has none.
    std::span<const Formula> branches(const Formula& f) const;
    /// Terms of a polynomial, in structural order. Invalid after the next construction.
    std::span<const Term> terms(const Formula& f) const;
    const Monomial& monomial(MonomialId id) const {
        return monomials_[id];
    }
    std::span<const AtomPower> atom_powers(const Monomial& m) const {
        return atom_products_[m.atoms].powers;
    }
    const Atom& atom(AtomId id) const {
        return atoms_[id];
    }
    SymbolSet mask(const Formula& f) const {
        return f.node() != 0 ? nodes_[f.node()].mask : SymbolSet{};
    }
    /// Does not depend on the pool or on the construction order.
    StructuralHash hash(const Formula& f) const;
    static StructuralHash hash_of_constant(double value);

    /// True if proven >= 0 for all positive integer symbols.
    bool not_negative(const Formula& f) const;

    // ---- putting together ----
    MonomialId intern(const Exponents& exponents, std::uint32_t atom_product);
    std::uint32_t intern_atoms(std::span<const AtomPower> powers);
    MonomialId product(MonomialId a, MonomialId b);
    MonomialId power(MonomialId a, int exponent);
    Formula symbol(int index);
    /// Polynomial from terms in any order; equal monomials are added up, zeros dropped.
    Formula polynomial(std::vector<Term>& terms);
    Formula polynomial_sorted(std::span<const Term> terms);
    Formula add(const Formula& a, const Formula& b, double sign);
    Formula multiply(const Formula& a, const Formula& b);
    Formula divide(const Formula& a, const Formula& b);
    Formula scale(const Formula& a, double factor);
    Formula max(const Formula& a, const Formula& b);
    Formula min(const Formula& a, const Formula& b);
    Formula ceil(const Formula& a);
    Formula leading(const Formula& count, const Formula& period, const Formula& own);
    Formula as_atom(AtomKind kind, std::span<const Formula> arguments);

    /// Until the next `clear`, `whole` makes atoms: a product of extents is then one term, and none
    /// of its factors is multiplied out.
    void keep_sums(bool on) {
        keep_sums_ = on;
    }
    /// `f`, as one factor if sums are kept and something is taken away in it (2 p - 1).
    Formula whole(const Formula& f);
    /// The polynomial without factors that are sums.
    Formula multiplied_out(const Formula& f);

private:
    friend class FormulaScope;
    struct Node {
        StructuralHash hash;
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
        SymbolSet mask;
        bool is_max = false;
    };
    struct AtomProduct {
        std::vector<AtomPower> powers;
        StructuralHash hash;
        SymbolSet mask;
    };
    struct CacheEntry {
        std::uint64_t left = ~0ull;
        std::uint64_t right = 0;
        std::uint32_t operation = 0;
        Formula result;
    };

    MonomialId intern_used(const Exponents& exponents, std::uint32_t atom_product);
    Formula add_polynomials(const Formula& a, const Formula& b, double sign);
    Formula multiply_polynomials(const Formula& a, const Formula& b);
    Formula maximum_of(std::vector<Formula>& branches);
    void append_branches(const Formula& f, std::vector<Formula>& to) const;
    Formula without_max(const Formula& f);
    bool surely_integer(const Formula& f) const;
    std::uint32_t find_node(const StructuralHash& hash, bool is_max, std::span<const Term> terms,
                            std::span<const Formula> branches) const;
    void remember_node(std::uint32_t id);
    template <class Make>
    Formula cached(std::uint32_t operation, const Formula& a, const Formula& b, Make&& make);
    Formula distribute(const Formula& a, const Formula& b, double sign);
    std::span<const Term> view(const Formula& f, Term& constant) const;

    std::vector<Monomial> monomials_;
    std::vector<AtomProduct> atom_products_;
    std::unordered_multimap<std::size_t, std::uint32_t> atom_product_of_;  ///< by hash
    std::vector<Atom> atoms_;
    std::vector<Node> nodes_;
    std::vector<Term> terms_;
    std::vector<Formula> branches_;
    // Open addressing, power-of-two sizes, value 0 = free.
    std::vector<std::uint32_t> monomial_table_;
    std::vector<std::uint32_t> node_table_;
    std::vector<CacheEntry> cache_;  // results of recent operations, direct mapped
    std::uint32_t epoch_ = 0;
    std::vector<Term> scratch_, products_;
    bool keep_sums_ = false;
    /// Of Exponents that may differ from 0: most templates have few symbols.
    static constexpr std::size_t fewest_words = 4;
    std::size_t words_ = fewest_words;
};

}  // namespace tessera::model
