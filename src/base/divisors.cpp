#include "tessera/base/divisors.hpp"

#include <algorithm>

namespace tessera::base {

std::vector<std::int64_t> divisors(std::int64_t n) {
    if (n < 1) {
        return {};
    }
    std::vector<std::int64_t> found{1};
    for (const std::int64_t prime : prime_factors(n)) {
        const std::size_t without = found.size();
        std::int64_t power = 1;
        for (std::int64_t rest = n; rest % prime == 0; rest /= prime) {
            power *= prime;
            for (std::size_t i = 0; i < without; ++i) {
                found.push_back(found[i] * power);
            }
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<std::int64_t> prime_factors(std::int64_t n) {
    std::vector<std::int64_t> found;
    for (std::int64_t p = 2; p * p <= n; ++p) {
        if (n % p == 0) {
            found.push_back(p);
        }
        while (n % p == 0) {
            n /= p;
        }
    }
    if (n > 1) {
        found.push_back(n);
    }
    return found;
}

}  // namespace tessera::base
