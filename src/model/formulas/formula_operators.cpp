#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/model/formula_pool.hpp"

// Arithmetic on formulas.
//
// Polynomials: sums merge two sorted term lists, products multiply out. Maxima: sums and
// non-negative factors go into the branches; a maximum that is subtracted, or that would grow past
// kMaxBranches, becomes an opaque atom. A cache of recent results serves the many templates of one
// Einsum, which repeat most of their sub-formulas.

namespace tessera::model {

namespace {

constexpr std::size_t kMaxBranches = 64;

enum Operation : std::uint32_t { op_add = 1, op_subtract, op_multiply, op_divide, op_max, op_min };

std::uint64_t key_of(const Formula& f) {
    return f.node() ? f.node() : std::bit_cast<std::uint64_t>(f.constant_value() + 0.0);
}

}  // namespace

template <class Make>
Formula FormulaPool::cached(std::uint32_t operation, const Formula& a, const Formula& b,
                            Make&& make) {
    const std::uint64_t left = key_of(a);
    const std::uint64_t right = key_of(b);
    // Node numbers and bits of constants share the keys: the tag tells them apart.
    const std::uint32_t tag =
        epoch_ * 64 + operation * 4 + (a.node() ? 1u : 0u) + (b.node() ? 2u : 0u);
    std::uint64_t h = (left * 0x9e3779b97f4a7c15ull) ^ (right * 0xd6e8feb86659fd93ull);
    h = (h ^ (h >> 29) ^ (h >> 47)) + operation * 0x9e5;
    CacheEntry& entry = cache_[h & (cache_.size() - 1)];
    if (entry.operation == tag && entry.left == left && entry.right == right) {
        return entry.result;
    }
    const Formula result = make();
    entry = {left, right, tag, result};
    return result;
}

std::span<const Term> FormulaPool::view(const Formula& f, Term& constant) const {
    if (f.node() != 0) {
        return terms(f);
    }
    constant = {f.constant_value(), 0};
    return f.constant_value() == 0.0 ? std::span<const Term>{} : std::span(&constant, 1);
}

Formula FormulaPool::symbol(int index) {
    Exponents exponents;
    exponents.set(index, 1);
    const Term term{1.0, intern(exponents, 0)};
    return polynomial_sorted({&term, 1});
}

Formula FormulaPool::add_polynomials(const Formula& a, const Formula& b, double sign) {
    Term constant_a, constant_b;
    const std::span<const Term> left = view(a, constant_a);
    const std::span<const Term> right = view(b, constant_b);
    scratch_.clear();
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < left.size() && j < right.size()) {
        if (left[i].monomial == right[j].monomial) {
            const double sum = left[i].coefficient + sign * right[j].coefficient;
            if (sum != 0.0) {
                scratch_.push_back({sum, left[i].monomial});
            }
            ++i;
            ++j;
            continue;
        }
        const StructuralHash& x = monomials_[left[i].monomial].hash;
        const StructuralHash& y = monomials_[right[j].monomial].hash;
        if (x.first != y.first ? x.first < y.first : x.second < y.second) {
            scratch_.push_back(left[i++]);
        } else {
            scratch_.push_back({sign * right[j].coefficient, right[j].monomial});
            ++j;
        }
    }
    scratch_.insert(scratch_.end(), left.begin() + i, left.end());
    for (; j < right.size(); ++j) {
        scratch_.push_back({sign * right[j].coefficient, right[j].monomial});
    }
    return polynomial_sorted(scratch_);
}

void FormulaPool::append_branches(const Formula& f, std::vector<Formula>& to) const {
    if (!is_max(f)) {
        to.push_back(f);
        return;
    }
    const std::span<const Formula> list = branches(f);
    to.insert(to.end(), list.begin(), list.end());
}

/// The formula itself, or a maximum wrapped into an atom.
Formula FormulaPool::without_max(const Formula& f) {
    if (!is_max(f)) {
        return f;
    }
    const std::vector<Formula> list(branches(f).begin(), branches(f).end());
    return as_atom(AtomKind::max, list);
}

/// a + sign * b where at least one is a maximum.
Formula FormulaPool::distribute(const Formula& a, const Formula& b, double sign) {
    std::vector<Formula> left, right, sums;
    append_branches(a, left);
    append_branches(sign < 0 ? without_max(b) : b, right);
    if (left.size() * right.size() > kMaxBranches) {
        right.assign(1, without_max(b));
    }
    for (const Formula& x : left) {
        for (const Formula& y : right) {
            sums.push_back(add_polynomials(x, y, sign));
        }
    }
    return maximum_of(sums);
}

Formula FormulaPool::add(const Formula& a, const Formula& b, double sign) {
    if (a.is_constant() && b.is_constant()) {
        return Formula(a.constant_value() + sign * b.constant_value());
    }
    if (b.is_constant() && b.constant_value() == 0.0) {
        return a;
    }
    if (a.is_constant() && a.constant_value() == 0.0 && sign > 0) {
        return b;
    }
    return cached(sign < 0 ? op_subtract : op_add, a, b, [&] {
        return is_max(a) || is_max(b) ? distribute(a, b, sign) : add_polynomials(a, b, sign);
    });
}

Formula FormulaPool::scale(const Formula& a, double factor) {
    if (a.is_constant()) {
        return Formula(a.constant_value() * factor);
    }
    if (factor == 0.0) {
        return Formula(0.0);
    }
    if (factor == 1.0) {
        return a;
    }
    if (is_max(a) && !(factor > 0.0)) {
        return scale(without_max(a), factor);
    }
    if (is_max(a)) {
        std::vector<Formula> list(branches(a).begin(), branches(a).end());
        for (Formula& branch : list) {
            branch = scale(branch, factor);
        }
        return maximum_of(list);
    }
    scratch_.assign(terms(a).begin(), terms(a).end());
    for (Term& term : scratch_) {
        term.coefficient *= factor;
    }
    return polynomial_sorted(scratch_);
}

Formula FormulaPool::multiply_polynomials(const Formula& a, const Formula& b) {
    products_.clear();
    for (const Term& x : terms(a)) {
        for (const Term& y : terms(b)) {
            products_.push_back({x.coefficient * y.coefficient, product(x.monomial, y.monomial)});
        }
    }
    return polynomial(products_);
}

Formula FormulaPool::multiply(const Formula& a, const Formula& b) {
    if (a.is_constant() && b.is_constant()) {
        return Formula(a.constant_value() * b.constant_value());
    }
    // Multiplication commutes bit by bit: one order serves the cache for both.
    if (b.is_constant() || (a.node() != 0 && b.node() < a.node())) {
        if (b.is_constant() && b.constant_value() == 1.0) {
            return a;
        }
        return multiply(b, a);
    }
    if (a.is_constant() && a.constant_value() == 1.0) {
        return b;
    }
    return cached(op_multiply, a, b, [&]() -> Formula {
        if (a.is_constant()) {
            return scale(b, a.constant_value());
        }
        if (!is_max(a) && !is_max(b)) {
            return multiply_polynomials(a, b);
        }
        const Formula& maximum = is_max(a) ? a : b;
        const Formula& factor = is_max(a) ? b : a;
        if (is_max(factor) || !not_negative(factor)) {
            return multiply(without_max(maximum), without_max(factor));
        }
        std::vector<Formula> list(branches(maximum).begin(), branches(maximum).end());
        for (Formula& branch : list) {
            branch = branch.is_constant() ? scale(factor, branch.constant_value())
                                          : multiply_polynomials(branch, factor);
        }
        return maximum_of(list);
    });
}

Formula FormulaPool::divide(const Formula& a, const Formula& b) {
    if (a.is_constant() && b.is_constant()) {
        return Formula(a.constant_value() / b.constant_value());
    }
    if (b.is_constant()) {
        // Dividing each coefficient keeps exact quotients exact, a reciprocal would not.
        if (is_max(a) && b.constant_value() > 0.0) {
            std::vector<Formula> list(branches(a).begin(), branches(a).end());
            for (Formula& branch : list) {
                branch = divide(branch, b);
            }
            return maximum_of(list);
        }
        const Formula plain = without_max(a);
        scratch_.assign(terms(plain).begin(), terms(plain).end());
        for (Term& term : scratch_) {
            term.coefficient /= b.constant_value();
        }
        return polynomial_sorted(scratch_);
    }
    if (a.is_constant() && a.constant_value() == 0.0) {
        return a;
    }
    return cached(op_divide, a, b, [&]() -> Formula {
        Formula divisor = without_max(b);
        if (terms(divisor).size() > 1) {
            divisor = as_atom(AtomKind::sum, {&divisor, 1});
        }
        const Term only = terms(divisor)[0];
        if (is_max(a) && !(only.coefficient > 0.0 && not_negative(divisor))) {
            return divide(without_max(a), divisor);
        }
        const MonomialId inverse = power(only.monomial, -1);
        const auto divide_polynomial = [&](const Formula& f) {
            Term constant;
            const std::span<const Term> list = view(f, constant);
            std::vector<Term> quotient(list.begin(), list.end());
            for (Term& term : quotient) {
                term = {term.coefficient / only.coefficient, product(term.monomial, inverse)};
            }
            return polynomial(quotient);
        };
        if (!is_max(a)) {
            return divide_polynomial(a);
        }
        std::vector<Formula> list(branches(a).begin(), branches(a).end());
        for (Formula& branch : list) {
            branch = divide_polynomial(branch);
        }
        return maximum_of(list);
    });
}

Formula FormulaPool::max(const Formula& a, const Formula& b) {
    if (a == b) {
        return a;
    }
    return cached(op_max, a, b, [&]() -> Formula {
        if (!is_max(a) && !is_max(b)) {
            const Formula difference = add_polynomials(a, b, -1.0);
            if (not_negative(difference)) {
                return a;
            }
            if (not_negative(scale(difference, -1.0))) {
                return b;
            }
        }
        std::vector<Formula> list;
        append_branches(a, list);
        append_branches(b, list);
        // At most one constant survives.
        double constant = -HUGE_VAL;
        std::erase_if(list, [&](const Formula& f) {
            constant = f.is_constant() ? std::max(constant, f.constant_value()) : constant;
            return f.is_constant();
        });
        const bool hidden = constant <= 0.0 && std::ranges::any_of(list, [this](const Formula& f) {
                                return not_negative(f);
                            });
        if (constant != -HUGE_VAL && !hidden) {
            list.push_back(Formula(constant));
        }
        return list.size() > kMaxBranches ? as_atom(AtomKind::max, list) : maximum_of(list);
    });
}

Formula FormulaPool::min(const Formula& a, const Formula& b) {
    if (a == b) {
        return a;
    }
    return cached(op_min, a, b, [&]() -> Formula {
        if (!is_max(a) && !is_max(b)) {
            const Formula difference = add_polynomials(a, b, -1.0);
            if (not_negative(difference)) {
                return b;
            }
            if (not_negative(scale(difference, -1.0))) {
                return a;
            }
        }
        const Formula arguments[] = {a, b};
        return as_atom(AtomKind::min, arguments);
    });
}

Formula FormulaPool::ceil(const Formula& a) {
    if (a.is_constant()) {
        return Formula(model::ceil(a.constant_value()));
    }
    if (is_max(a)) {
        std::vector<Formula> list(branches(a).begin(), branches(a).end());
        for (Formula& branch : list) {
            branch = ceil(branch);
        }
        return maximum_of(list);
    }
    return surely_integer(a) ? a : as_atom(AtomKind::ceil, {&a, 1});
}

Formula FormulaPool::leading(const Formula& count, const Formula& period, const Formula& own) {
    if (own == period) {
        return count;
    }
    if (count == period) {
        return own;
    }
    if (own == Formula(1.0)) {
        return model::ceil(count / period);
    }
    const Formula arguments[] = {count, period, own};
    return as_atom(AtomKind::leading, arguments);
}

bool FormulaPool::surely_integer(const Formula& f) const {
    if (f.is_constant()) {
        return f.constant_value() == std::floor(f.constant_value());
    }
    if (is_max(f)) {
        return std::ranges::all_of(branches(f),
                                   [this](const Formula& b) { return surely_integer(b); });
    }
    for (const Term& term : terms(f)) {
        const Monomial& m = monomials_[term.monomial];
        for (const int s : m.own_symbols()) {
            if (m.exponents.get(s) < 0) {
                return false;
            }
        }
        for (const AtomPower& power : atom_powers(m)) {
            const Atom& atom = atoms_[power.atom];
            if (power.exponent < 0 ||
                (atom.kind != AtomKind::ceil && atom.kind != AtomKind::leading &&
                 !std::ranges::all_of(atom.arguments,
                                      [this](const Formula& g) { return surely_integer(g); }))) {
                return false;
            }
        }
        if (term.coefficient != std::floor(term.coefficient)) {
            return false;
        }
    }
    return true;
}

}  // namespace tessera::model
