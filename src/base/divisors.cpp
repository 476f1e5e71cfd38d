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

}  // namespace tessera::base
