#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "tile_shapes_criteria.hpp"

// Fewer and simpler criteria with the same meaning: what keys make constant is stripped, what
// others imply is dropped.

namespace tessera::mapspace {

using model::Exponents;
using model::Formula;
using model::Monomial;
using model::SymbolSet;
using model::Term;

/// One monomial: neither its factor nor a common power changes the order, and a small reciprocal is
/// a large value. The result has coefficient +-1 and its first exponent is positive.
void CriteriaBuilder::reduce_monomial(Term& term) {
    const Monomial monomial = pool_.monomial(term.monomial);
    term.coefficient = term.coefficient > 0.0 ? 1.0 : -1.0;
    if (monomial.atoms != 0) {
        return;
    }
    int common = 0;
    int first = 0;
    for (const int s : monomial.own_symbols()) {
        const int e = monomial.exponents.get(s);
        common = std::gcd(common, std::abs(e));
        first = first != 0 ? first : e;
    }
    const int divisor = first < 0 ? -common : common;
    if (divisor == 1) {
        return;
    }
    Exponents root;
    for (const int s : monomial.own_symbols()) {
        root.set(s, monomial.exponents.get(s) / divisor);
    }
    term.monomial = pool_.intern(root, 0);
    term.coefficient = divisor < 0 ? -term.coefficient : term.coefficient;
}

/// Drops what keys make constant, strips factors of keys, scales single terms to +-1.
Formula CriteriaBuilder::simplify(std::span<const Term> terms) {
    std::vector<Term> kept;
    for (const Term& term : terms) {
        if (!keys_.contains(pool_.monomial(term.monomial).mask)) {
            kept.push_back(term);
        }
    }
    if (kept.empty()) {
        return Formula(0.0);
    }
    const Formula sum = pool_.polynomial(kept);  // structural order, whatever was added first
    if (sum.is_constant()) {
        return Formula(0.0);
    }
    kept.assign(pool_.terms(sum).begin(), pool_.terms(sum).end());
    Exponents inverse;
    const Exponents first = pool_.monomial(kept[0].monomial).exponents;
    for (const int s : first.mask() & keys_) {
        inverse.set(s, -first.get(s));
    }
    std::vector<model::AtomPower> atoms;  // of keys alone
    for (const model::AtomPower& p : pool_.atom_powers(pool_.monomial(kept[0].monomial))) {
        if (keys_.contains(pool_.atom(p.atom).mask)) {
            atoms.push_back({p.atom, static_cast<decltype(p.exponent)>(-p.exponent)});
        }
    }
    std::erase_if(atoms, [this](const model::AtomPower& p) {
        return !bounds_.atom_not_negative(p.atom, true);
    });
    const model::MonomialId strip = pool_.intern(inverse, pool_.intern_atoms(atoms));
    for (Term& term : kept) {
        term.monomial = pool_.product(term.monomial, strip);
    }
    if (kept.size() == 1) {
        reduce_monomial(kept[0]);
    }
    return pool_.polynomial(kept);
}

/// +1: minimising `f` minimises one symbol; -1: maximises it; 0: `f` is something else.
int CriteriaBuilder::unit_direction(const Formula& f, int& symbol) const {
    const std::span<const Term> terms = pool_.terms(f);
    if (terms.size() != 1) {
        return 0;
    }
    const Monomial& monomial = pool_.monomial(terms[0].monomial);
    if (monomial.atoms != 0 || monomial.mask.count() != 1) {
        return 0;
    }
    symbol = monomial.mask.first();
    return (monomial.exponents.get(symbol) > 0) == (terms[0].coefficient > 0.0) ? 1 : -1;
}

/// A symbol that must be both small and large must be equal. True if that made a new key.
bool CriteriaBuilder::merge_equal_directions(std::vector<Formula>& list) {
    SymbolSet small;
    SymbolSet large;
    for (const Formula& f : list) {
        int symbol = 0;
        if (const int direction = unit_direction(f, symbol); direction != 0) {
            (direction > 0 ? small : large) |= SymbolSet::of(symbol);
        }
    }
    keys_ |= small & large;
    return small.meets(large);
}

/// A monomial that must be both small and large must be equal.
void CriteriaBuilder::move_opposites(Criteria& criteria) const {
    std::vector<Formula>& list = criteria.minimise;
    const auto single = [this](const Formula& f) {
        return pool_.terms(f).size() == 1 ? pool_.terms(f)[0] : Term{};
    };
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Term a = single(list[i]);
        for (std::size_t j = i + 1; j < list.size() && a.coefficient != 0.0; ++j) {
            const Term b = single(list[j]);
            if (b.monomial == a.monomial && b.coefficient == -a.coefficient) {
                criteria.equal.push_back(list[i]);
                list.erase(list.begin() + static_cast<std::ptrdiff_t>(j));
                list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
                --i;
                break;
            }
        }
    }
}

bool CriteriaBuilder::same_up_to_factor(const Formula& a, const Formula& b) const {
    const std::span<const Term> x = pool_.terms(a);
    const std::span<const Term> y = pool_.terms(b);
    if (x.size() != y.size()) {
        return false;
    }
    const double factor = x[0].coefficient / y[0].coefficient;
    for (std::size_t i = 0; i < x.size(); ++i) {
        // Equal within rounding: the two criteria then differ by rounding only.
        if (x[i].monomial != y[i].monomial || !(factor > 0.0) ||
            std::abs(x[i].coefficient - factor * y[i].coefficient) >
                1e-14 * std::abs(x[i].coefficient)) {
            return false;
        }
    }
    return true;
}

/// Drops sums of terms each of which single-symbol criteria already order, and products of two
/// other criteria.
void CriteriaBuilder::remove_implied(Criteria& criteria) const {
    std::vector<Formula>& list = criteria.minimise;
    SymbolSet small;
    SymbolSet large;
    for (const Formula& f : list) {
        int symbol = 0;
        if (const int direction = unit_direction(f, symbol); direction != 0) {
            (direction > 0 ? small : large) |= SymbolSet::of(symbol);
        }
    }
    const auto ordered = [&](const Term& term) {
        const Monomial& m = pool_.monomial(term.monomial);
        if (m.atoms != 0) {
            return false;
        }
        for (const int s : m.mask) {
            const bool wants_small = (m.exponents.get(s) > 0) == (term.coefficient > 0.0);
            if (!(wants_small ? small : large).has(s)) {
                return false;
            }
        }
        return true;
    };
    std::erase_if(list, [&](const Formula& f) {
        int symbol = 0;
        return unit_direction(f, symbol) == 0 && std::ranges::all_of(pool_.terms(f), ordered);
    });
    std::erase_if(criteria.minimise_unless_safe, [&](const Criteria::OfCondition& c) {
        return std::ranges::all_of(pool_.terms(c.formula), ordered);
    });
}

bool CriteriaBuilder::contains(const std::vector<Formula>& list, const Formula& f) const {
    return std::any_of(list.begin(), list.end(), [&](const Formula& other) {
        return other == f || same_up_to_factor(other, f);
    });
}

Criteria CriteriaBuilder::finish() {
    Criteria result;
    // New keys allow further stripping: repeat until no key is added.
    for (bool again = true; again;) {
        result.minimise.clear();
        result.minimise_unless_safe.clear();
        result.equal.clear();
        std::size_t begin = 0;
        for (std::size_t g = 0; g < group_ends_.size(); ++g) {
            const Formula f = simplify(std::span(terms_).subspan(begin, group_ends_[g] - begin));
            begin = group_ends_[g];
            if (f.is_constant() ||
                std::find(replaced_.begin(), replaced_.end(), g) != replaced_.end()) {
                continue;
            }
            if (group_purpose_[g] >= 0) {
                result.minimise_unless_safe.push_back({f, group_purpose_[g]});
                continue;
            }
            std::vector<Formula>& list =
                group_purpose_[g] == kEqual ? result.equal : result.minimise;
            if (!contains(list, f)) {
                list.push_back(f);
            }
        }
        again = merge_equal_directions(result.minimise);
    }
    move_opposites(result);
    std::erase_if(result.minimise_unless_safe, [&](const Criteria::OfCondition& c) {
        return contains(result.minimise, c.formula) || contains(result.equal, c.formula);
    });
    remove_implied(result);
    result.keys = keys_;
    return result;
}

}  // namespace tessera::mapspace
