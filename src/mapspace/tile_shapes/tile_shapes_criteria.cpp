#include "tile_shapes_criteria.hpp"

#include <algorithm>

namespace tessera::mapspace {

using model::AtomPower;
using model::Exponents;
using model::Formula;
using model::Monomial;
using model::SymbolSet;
using model::Term;

namespace {

/// Byte mask of 8 exponents for 8 bits of a symbol mask.
std::uint64_t widen(std::uint32_t bits) {
    std::uint64_t bytes = 0;
    for (int i = 0; i < 8; ++i) {
        bytes |= (bits >> i & 1u) != 0 ? 0xffull << (8 * i) : 0;
    }
    return bytes;
}

/// The exponents of the symbols in `set`, all others 0.
Exponents restrict_to(const Exponents& exponents, const SymbolSet& set) {
    Exponents result;
    for (int w = 0; w < Exponents::kWords; ++w) {
        if (exponents.words[w] != 0) {
            result.words[w] = exponents.words[w] & widen(set.byte(w));
        }
    }
    return result;
}

}  // namespace

void CriteriaBuilder::start(const SymbolSet& known, const SymbolSet& keys) {
    known_ = known;
    keys_ = keys;
    terms_.clear();
    group_ends_.clear();
    group_purpose_.clear();
    replaced_.clear();
}

void CriteriaBuilder::add_objective(const Formula& f) {
    purpose_ = kObjective;
    add(f, 1);
}

void CriteriaBuilder::add_condition(const Formula& f, int sign, int condition) {
    purpose_ = condition;
    add(f, sign);
}

void CriteriaBuilder::add_equal(const Formula& f) {
    purpose_ = kEqual;
    add(f, 1);
}

void CriteriaBuilder::add(const Formula& f, int sign) {
    if (!known_.meets(pool_.mask(f))) {
        return;
    }
    if (!pool_.is_max(f)) {
        add_polynomial(f, sign);
        return;
    }
    // Branches that are fully known count as one number; every other branch on its own. Equality
    // of a maximum is ensured by equality of its branches.
    const std::vector<Formula> branches(pool_.branches(f).begin(), pool_.branches(f).end());
    Formula complete;
    bool any = false;
    for (const Formula& branch : branches) {
        if (!known_.contains(pool_.mask(branch)) || purpose_ == kEqual) {
            add_polynomial(branch, sign);
        } else {
            complete = any ? model::max(complete, branch) : branch;
            any = true;
        }
    }
    if (!any || complete.is_constant()) {
        return;
    }
    if (pool_.is_max(complete)) {
        const std::vector<Formula> list(pool_.branches(complete).begin(),
                                        pool_.branches(complete).end());
        complete = pool_.as_atom(model::AtomKind::max, list);
    }
    add_polynomial(complete, sign);
}

/// Splits a term into known and unknown factor. False if the term cannot be split and has been
/// dealt with otherwise.
bool CriteriaBuilder::split(const Term& term, int sign, Part& part) {
    const Monomial monomial = pool_.monomial(term.monomial);
    part.unknown = restrict_to(monomial.exponents, monomial.mask - known_);
    part.unknown_atoms = 0;
    part.taken = false;
    part.known = {term.coefficient * sign, term.monomial};
    if (known_.contains(monomial.mask)) {
        return true;
    }
    if (monomial.atoms == 0) {
        part.known.monomial = pool_.intern(restrict_to(monomial.exponents, known_), 0);
        return true;
    }
    const std::vector<AtomPower> powers(pool_.atom_powers(monomial).begin(),
                                        pool_.atom_powers(monomial).end());
    std::vector<AtomPower> known, unknown;
    bool mixed = false;
    for (const AtomPower& p : powers) {
        if (!bounds_.atom_not_negative(p.atom, p.exponent < 0)) {
            keys_ |= monomial.mask & known_;  // sign unknown: nothing can be said
            return false;
        }
        // Of keys and unknown symbols: the same factor for all rows that are compared.
        const SymbolSet mask = pool_.atom(p.atom).mask;
        mixed = mixed || is_mixed(mask);
        (known_.contains(mask) ? known : unknown).push_back(p);
    }
    if (!mixed) {
        part.unknown_atoms = pool_.intern_atoms(unknown);
        part.known.monomial =
            pool_.intern(restrict_to(monomial.exponents, known_), pool_.intern_atoms(known));
        return true;
    }
    // A product of factors that are not negative is ordered if every factor is.
    const Term factor{term.coefficient * sign, pool_.intern(restrict_to(monomial.exponents, known_),
                                                            pool_.intern_atoms(known))};
    terms_.push_back(factor);
    group_ends_.push_back(terms_.size());
    group_purpose_.push_back(purpose_);
    for (const AtomPower& p : powers) {
        if (is_mixed(pool_.atom(p.atom).mask)) {
            const int direction = (factor.coefficient > 0.0) == (p.exponent > 0) ? 1 : -1;
            const model::Atom atom = pool_.atom(p.atom);
            const std::vector<Part> outer_parts = parts_;  // `add` starts a list of its own
            for (std::size_t i = 0; i < atom.arguments.size(); ++i) {
                add(atom.arguments[i], atom.rises_with(i) ? direction : -direction);
            }
            parts_ = outer_parts;
        }
    }
    return false;
}

void CriteriaBuilder::add_polynomial(const Formula& f, int sign) {
    const std::vector<Term> terms(pool_.terms(f).begin(), pool_.terms(f).end());
    parts_.clear();
    for (const Term& term : terms) {
        if (!known_.meets(pool_.monomial(term.monomial).mask)) {
            continue;  // the same for all rows
        }
        Part part;
        if (split(term, sign, part)) {
            parts_.push_back(part);
        }
    }
    if (sum_groups_ && purpose_ == kObjective) {
        for (Part& part : parts_) {
            part.unknown = {};
            part.unknown_atoms = 0;
        }
    }
    const std::size_t first_group = group_ends_.size();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!parts_[i].taken) {
            push_group(i);
        }
    }
    if (purpose_ == kObjective) {
        push_floor(first_group);
    }
}

/// Adds the least values of the groups with unknowns to the group without. Groups stand in the
/// order of their first part.
void CriteriaBuilder::push_floor(std::size_t first_group) {
    const std::size_t n_groups = group_ends_.size() - first_group;
    std::size_t constant_group = n_groups;
    std::vector<std::size_t> first_part;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        std::size_t earlier = 0;
        while (!(parts_[earlier].unknown == parts_[i].unknown &&
                 parts_[earlier].unknown_atoms == parts_[i].unknown_atoms)) {
            ++earlier;
        }
        if (earlier == i) {
            if (parts_[i].unknown.empty() && parts_[i].unknown_atoms == 0) {
                constant_group = first_part.size();
            }
            first_part.push_back(i);
        }
    }
    if (constant_group == n_groups || n_groups < 2) {
        return;
    }
    std::vector<Term> floor;
    for (std::size_t g = 0; g < n_groups; ++g) {
        const std::size_t begin = first_group + g == 0 ? 0 : group_ends_[first_group + g - 1];
        const std::span<const Term> group =
            std::span(terms_).subspan(begin, group_ends_[first_group + g] - begin);
        const Part& part = parts_[first_part[g]];
        Term low{1.0, 0};
        if (g != constant_group) {
            const Term monomial{1.0, pool_.intern(part.unknown, part.unknown_atoms)};
            const Formula least =
                bounds_.never_above(pool_.polynomial_sorted({&monomial, 1}), keys_ & known_);
            if (pool_.is_max(least) || (!least.is_constant() && pool_.terms(least).size() != 1) ||
                (least.is_constant() && !(least.constant_value() >= 0.0))) {
                continue;
            }
            low = least.is_constant() ? Term{least.constant_value(), 0} : pool_.terms(least)[0];
        }
        for (const Term& term : group) {
            floor.push_back(
                {term.coefficient * low.coefficient, pool_.product(term.monomial, low.monomial)});
        }
    }
    terms_.insert(terms_.end(), floor.begin(), floor.end());
    group_ends_.push_back(terms_.size());
    group_purpose_.push_back(purpose_);
    // The plain constant group is implied by nothing any more: it must go.
    replaced_.push_back(first_group + constant_group);
}

void CriteriaBuilder::push_group(std::size_t first) {
    for (std::size_t j = first; j < parts_.size(); ++j) {
        Part& part = parts_[j];
        if (!part.taken && part.unknown == parts_[first].unknown &&
            part.unknown_atoms == parts_[first].unknown_atoms) {
            part.taken = true;
            terms_.push_back(part.known);
        }
    }
    group_ends_.push_back(terms_.size());
    group_purpose_.push_back(purpose_);
}

}  // namespace tessera::mapspace
