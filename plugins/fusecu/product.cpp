#include "product.hpp"

#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::fusecu_mapper {

namespace {

/// Traffic of a product fits 62 bits.
constexpr std::int64_t max_words = std::int64_t{1} << 40;

[[noreturn]] void refuse(const workload::EinsumView& einsum, const std::string& why) {
    throw UserError("mapper fusecu maps matrix products only, and Einsum '" + einsum.name + "' " +
                    why + "; choose another mapper (ffm)");
}

/// Every rank is one variable by itself.
void check_ranks(const workload::EinsumView& einsum, const workload::LocalTensor& tensor) {
    for (const workload::RankAccess& rank : tensor.ranks) {
        const bool plain = rank.terms.size() == 1 && rank.terms.front().coefficient == 1 &&
                           rank.constant == 0;
        if (!plain) {
            refuse(einsum, "indexes rank " + rank.rank + " of " + tensor.name +
                               " by more than one rank variable");
        }
    }
    for (const workload::Relevancy relevancy : tensor.relevancy) {
        if (relevancy == workload::Relevancy::partially_relevant) {
            refuse(einsum, "indexes " + tensor.name + " by a sum of rank variables");
        }
    }
}

void add(const workload::LocalRankVariable& variable, int index, Group& group) {
    group.variables.push_back(index);
    group.sizes.push_back(variable.bound);
}

void find_tensors(Product& product) {
    const std::vector<workload::LocalTensor>& tensors = product.einsum.tensors;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        int& place = tensors[t].output ? product.c : product.a < 0 ? product.a : product.b;
        if (place >= 0) {
            refuse(product.einsum, tensors[t].output ? "has several outputs"
                                                     : "has more than two inputs");
        }
        place = static_cast<int>(t);
        check_ranks(product.einsum, tensors[t]);
    }
    if (product.a < 0 || product.c < 0) {
        refuse(product.einsum, "lacks an input or an output");
    }
}

}  // namespace

std::int64_t Group::size() const {
    std::int64_t result = 1;
    for (const std::int64_t size : sizes) {
        result *= size;
    }
    return result;
}

std::int64_t Product::words(std::size_t lacks) const {
    if (tensor(lacks) < 0) {
        return 0;
    }
    return ranks[(lacks + 1) % 3].size() * ranks[(lacks + 2) % 3].size();
}

Product read_product(const workload::Workload& workload, int einsum) {
    Product product;
    product.einsum = workload::view(workload, einsum);
    find_tensors(product);
    double points = 1;
    const std::vector<workload::LocalTensor>& tensors = product.einsum.tensors;
    for (std::size_t v = 0; v < product.einsum.rank_variables.size(); ++v) {
        const workload::LocalRankVariable& variable = product.einsum.rank_variables[v];
        const auto in = [&](int tensor) {
            return tensor >= 0 && (tensors[tensor].relevant >> v & 1U) != 0;
        };
        points *= static_cast<double>(variable.bound);
        if (variable.bound == 1) {
            continue;
        }
        const int index = static_cast<int>(v);
        const bool a = in(product.a), b = in(product.b), c = in(product.c);
        const bool single = product.b < 0;
        if (a && c && (b || single)) {
            add(variable, index, single ? product.ranks[0] : product.batch);
        } else if (a && c) {
            add(variable, index, product.ranks[0]);
        } else if (a && (b || single)) {
            add(variable, index, product.ranks[1]);
        } else if (b && c) {
            add(variable, index, product.ranks[2]);
        } else {
            refuse(product.einsum,
                   "has the rank variable " + variable.name + " in one of three tensors only");
        }
    }
    if (points > static_cast<double>(max_words)) {
        refuse(product.einsum, "has more than 2^40 points");
    }
    return product;
}

}  // namespace tessera::fusecu_mapper
