#include "timeloop/problem.hpp"

namespace tessera::timeloop {

double Problem::computes() const {
    double product = 1;
    for (const Dimension& dimension : dimensions) {
        product *= static_cast<double>(dimension.bound);
    }
    return product;
}

double Problem::tensor_size(int data_space) const {
    double size = 1;
    for (const std::vector<Term>& rank : data_spaces[data_space].ranks) {
        std::int64_t extent = 1;
        for (const Term& term : rank) {
            const std::int64_t steps = dimensions[term.dimension].bound - 1;
            extent += (term.value < 0 ? -term.value : term.value) * steps;
        }
        size *= static_cast<double>(extent);
    }
    return size;
}

}  // namespace tessera::timeloop
