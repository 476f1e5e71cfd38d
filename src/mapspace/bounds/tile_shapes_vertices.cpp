#include <algorithm>
#include <array>
#include <limits>

#include "model/formula_sign.hpp"
#include "tile_shapes_bounds.hpp"

// Signs of sums that no term-by-term comparison proves, such as the halo of a convolution:
//   1/s + 1/q - 1/(q s) - (1/r)(1/s + 1/q - 1/(q s)) >= 0.
// In a symbol x that occurs with two exponents only, the sum is (after division by a power of x)
// linear in a power of x, which lies between the powers of its neighbours in the chain: the sum is
// least at one of the two. So it is enough to prove both sums with x replaced by a neighbour, and
// so on until terms cover each other.

namespace tessera::mapspace {
namespace {

using model::Exponents;
using model::Term;

/// Sums that one proof may look at.
constexpr int kMaxSums = 96;
constexpr int kMaxDepth = 10;
constexpr std::size_t kMaxTerms = 48;

}  // namespace

/// A symbol with exactly two different exponents; -1 if there is none. Those of negative terms
/// first: only they can decide anything.
int ChainBounds::vertex_symbol(std::span<const Term> terms) const {
    model::SymbolSet all;
    for (const Term& t : terms) {
        all |= pool_.monomial(t.monomial).own_symbols();
    }
    int best = -1;
    int most = 0;
    for (const int s : all) {
        int first = 0;
        int second = 0;
        bool two = false;
        bool more = false;
        int count = 0;
        for (std::size_t i = 0; i < terms.size(); ++i) {
            const int e = pool_.monomial(terms[i].monomial).exponents.get(s);
            first = i == 0 ? e : first;
            if (e != first && !two) {
                second = e;
                two = true;
            }
            more = more || (e != first && e != second);
            count += terms[i].coefficient < 0.0 && e != 0 ? 1 : 0;
        }
        if (two && !more && count > most) {
            best = s;
            most = count;
        }
    }
    return best;
}

/// The terms with the symbol replaced by a neighbour (-1: `end`).
void ChainBounds::substitute(std::span<const Term> terms, int symbol, int neighbour, double end,
                             std::vector<Term>& to) const {
    to.clear();
    for (Term term : terms) {
        Exponents exponents = pool_.monomial(term.monomial).exponents;
        if (const int e = exponents.get(symbol); e != 0) {
            exponents.set(symbol, 0);
            if (neighbour >= 0) {
                exponents.set(neighbour, exponents.get(neighbour) + e);
            } else {
                const double power = integer_power(end, std::abs(e));
                term.coefficient *= e < 0 ? 1.0 / power : power;
            }
            term.monomial = pool_.intern(exponents, pool_.monomial(term.monomial).atoms);
        }
        to.push_back(term);
    }
    merge(to);
}

bool ChainBounds::never_negative(std::span<const Term> terms, int depth, int& sums) {
    const auto low = [this](model::MonomialId p, model::MonomialId n) { return ratio_low(p, n); };
    if (model::covers_negative_terms(terms, low, shares_)) {
        return true;
    }
    if (depth >= kMaxDepth || --sums < 0) {
        return false;
    }
    const int s = vertex_symbol(terms);
    if (s < 0) {
        return false;
    }
    model::SymbolSet occur;
    for (const Term& t : terms) {
        occur |= pool_.monomial(t.monomial).own_symbols();
    }
    const auto bound = static_cast<double>(symbols_[s].bound);
    std::vector<Term> vertex;
    for (const bool outward : {true, false}) {
        int neighbour = s;  // the next one that occurs: fewer symbols with every step
        do {
            neighbour = outward ? symbols_[neighbour].outer : symbols_[neighbour].inner;
        } while (neighbour >= 0 && !occur.has(neighbour));
        substitute(terms, s, neighbour, outward ? bound : 1.0, vertex);
        if (!never_negative(vertex, depth + 1, sums)) {
            return false;
        }
    }
    return true;
}

/// never_negative, if there is something that it could prove.
bool ChainBounds::never_negative(std::span<const Term> terms) {
    if (!vertices_ || terms.size() > kMaxTerms) {
        return false;
    }
    int sums = kMaxSums;
    return never_negative(terms, 0, sums);
}

/// Numbers the parts of a sum that belong together: a negative term and the positive ones next to
/// it, which keep it from making the sum negative. Positive terms next to none are parts of their
/// own.
void ChainBounds::find_parts(std::span<const Term> terms, std::vector<int>& part) const {
    part.resize(terms.size());
    for (std::size_t i = 0; i < terms.size(); ++i) {
        part[i] = static_cast<int>(i);
    }
    for (std::size_t n = 0; n < terms.size(); ++n) {
        if (terms[n].coefficient >= 0.0) {
            continue;
        }
        int nearest = std::numeric_limits<int>::max();
        std::vector<std::size_t> near;
        for (std::size_t p = 0; p < terms.size(); ++p) {
            if (terms[p].coefficient <= 0.0 ||
                !(ratio_low(terms[p].monomial, terms[n].monomial) > 0.0)) {
                continue;
            }
            const int d = distance(terms[p].monomial, terms[n].monomial);
            if (d < nearest) {
                near.clear();
                nearest = d;
            }
            if (d == nearest) {
                near.push_back(p);
            }
        }
        for (const std::size_t p : near) {
            const int from = part[p];
            const int to = part[n];
            std::replace(part.begin(), part.end(), from, to);
        }
    }
}

int ChainBounds::distance(model::MonomialId a, model::MonomialId b) const {
    const model::Monomial& x = pool_.monomial(a);
    const model::Monomial& y = pool_.monomial(b);
    int sum = 0;
    for (const int s : x.own_symbols() | y.own_symbols()) {
        sum += std::abs(x.exponents.get(s) - y.exponents.get(s));
    }
    return sum;
}

}  // namespace tessera::mapspace
