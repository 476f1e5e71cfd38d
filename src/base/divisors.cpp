#include "tessera/base/divisors.hpp"

#include <algorithm>

namespace tessera::base {

std::vector<std::int64_t> divisors(std::int64_t n) {
    std::vector<std::int64_t> found;
    for (std::int64_t i = 1; i * i <= n; ++i) {
        if (n % i == 0) {
            found.push_back(i);
            if (i != n / i) {
                found.push_back(n / i);
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
