#pragma once

#include <span>
#include <vector>

#include "tessera/model/formula_pool.hpp"

namespace tessera::model {

/// Proves sum of terms >= 0, knowing for every ordered pair a lower bound of the quotient of two
/// (non-negative) monomials: `ratio_low(positive, negative)`. Every negative term must be covered
/// by shares of positive terms: c+ * m+ >= c+ * low * m-. First fit; `false` means "not proven".
/// A relative 1e-12 is forgiven, so that rounded quotients such as MNK * (1/K) >= MN are seen.
template <class RatioLow>
bool covers_negative_terms(std::span<const Term> terms, RatioLow&& ratio_low,
                           std::vector<double>& shares) {
    shares.clear();
    for (const Term& term : terms) {
        shares.push_back(term.coefficient > 0.0 ? term.coefficient : 0.0);
    }
    for (const Term& negative : terms) {
        double need = negative.coefficient < 0.0 ? -negative.coefficient : 0.0;
        for (std::size_t p = 0; p < terms.size() && need > 0.0; ++p) {
            if (!(shares[p] > 0.0)) {
                continue;
            }
            const double low = ratio_low(terms[p].monomial, negative.monomial);
            if (!(low > 0.0)) {
                continue;
            }
            if (shares[p] * low >= need * (1.0 - 1e-12)) {
                shares[p] = shares[p] * low > need ? shares[p] - need / low : 0.0;
                need = 0.0;
            } else {
                need -= shares[p] * low;
                shares[p] = 0.0;
            }
        }
        if (need > 0.0) {
            return false;
        }
    }
    return true;
}

}  // namespace tessera::model
