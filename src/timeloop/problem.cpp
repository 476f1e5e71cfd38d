#include "timeloop/problem.hpp"

namespace tessera::timeloop {

int Problem::find_dimension(const std::string& dimension) const {
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
        if (dimensions[d].name == dimension) {
            return static_cast<int>(d);
        }
    }
    return -1;
}

int Problem::find_data_space(const std::string& space) const {
    for (std::size_t s = 0; s < data_spaces.size(); ++s) {
        if (data_spaces[s].name == space) {
            return static_cast<int>(s);
        }
    }
    return -1;
}

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
