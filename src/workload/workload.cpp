#include "tessera/workload/workload.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/spec/expression.hpp"
#include "workload/define_symbols.hpp"
#include "workload/windows.hpp"

namespace tessera::workload {

namespace {

template <class Item>
int index_of(const std::vector<Item>& items, const std::string& name) {
    const auto found = std::find_if(items.begin(), items.end(),
                                    [&](const Item& item) { return item.name == name; });
    return found == items.end() ? -1 : static_cast<int>(found - items.begin());
}

template <class Item>
int index_of(const std::vector<Item>& items, const std::unordered_map<std::string, int>& index,
             const std::string& name) {
    if (index.size() != items.size()) {
        return index_of(items, name);
    }
    const auto found = index.find(name);
    return found == index.end() ? -1 : found->second;
}

std::uint64_t bit(std::size_t index) {
    return std::uint64_t{1} << index;
}

template <class Test>
TensorMask mask_of(const EinsumView& view, Test test) {
    TensorMask mask = 0;
    for (std::size_t i = 0; i < view.tensors.size(); ++i) {
        mask |= test(view.tensors[i]) ? bit(i) : 0;
    }
    return mask;
}

bool plain(const RankAccess& rank) {
    return rank.terms.size() == 1 && rank.terms[0].coefficient == 1 && rank.constant == 0;
}

/// A variable that is alone in some rank walks along it; one that only takes part in sums leaves
/// halos. In two ranks at once it indexes neither by itself. The order of ranks says nothing.
void relate(LocalTensor& tensor, std::size_t n_variables) {
    tensor.relevancy.assign(n_variables, Relevancy::irrelevant);
    tensor.rank_of_variable.assign(n_variables, -1);
    std::vector<int> occurrences(n_variables, 0);
    for (std::size_t r = 0; r < tensor.ranks.size(); ++r) {
        const RankAccess& rank = tensor.ranks[r];
        for (const AffineTerm& term : rank.terms) {
            const auto v = static_cast<std::size_t>(term.rank_variable);
            if (rank.terms.size() == 1) {
                tensor.relevancy[v] = Relevancy::relevant;
            } else if (tensor.relevancy[v] == Relevancy::irrelevant) {
                tensor.relevancy[v] = Relevancy::partially_relevant;
            }
            const bool alone = ++occurrences[v] == 1 && plain(rank);
            tensor.rank_of_variable[v] = alone ? static_cast<int>(r) : -1;
        }
    }
    for (std::size_t v = 0; v < n_variables; ++v) {
        if (tensor.relevancy[v] == Relevancy::irrelevant) {
            continue;
        }
        (tensor.relevancy[v] == Relevancy::relevant ? tensor.relevant
                                                    : tensor.partially_relevant) |= bit(v);
        (tensor.rank_of_variable[v] >= 0 ? tensor.directly_indexing : tensor.expression_indexing) |=
            bit(v);
    }
}

LocalTensor local_tensor(const Workload& workload, const Einsum& einsum,
                         const TensorAccess& access) {
    const Tensor& tensor = workload.tensors.at(static_cast<std::size_t>(access.tensor));
    LocalTensor local;
    local.name = tensor.name;
    local.tensor = access.tensor;
    local.output = access.output;
    local.persistent = tensor.persistent;
    local.intermediate = tensor.intermediate();
    local.fusable =
        tensor.producers.size() + tensor.consumers.size() + tensor.previous_readers.size() >= 2;
    local.state = access.state;
    local.bits_per_value = tensor.bits_per_value;
    local.size_values = tensor.size_values;
    local.ranks = access.ranks;
    for (RankAccess& rank : local.ranks) {
        for (AffineTerm& term : rank.terms) {
            const auto found = std::find(einsum.rank_variables.begin(), einsum.rank_variables.end(),
                                         term.rank_variable);
            if (found == einsum.rank_variables.end()) {
                throw Bug("a projection of '" + tensor.name + "' uses a foreign rank variable");
            }
            term.rank_variable = static_cast<int>(found - einsum.rank_variables.begin());
        }
    }
    relate(local, einsum.rank_variables.size());
    if (local.state != StateAccess::none) {
        local.state_variable =
            local.ranks[static_cast<std::size_t>(tensor.state_rank)].terms[0].rank_variable;
    }
    return local;
}

}  // namespace

int Workload::find_tensor(const std::string& tensor) const {
    return index_of(tensors, index.tensors, tensor);
}

int Workload::find_einsum(const std::string& einsum) const {
    return index_of(einsums, index.einsums, einsum);
}

int Workload::find_rank_variable(const std::string& variable) const {
    return index_of(rank_variables, index.rank_variables, variable);
}

int EinsumView::find_tensor(const std::string& tensor) const {
    return index_of(tensors, tensor);
}

int EinsumView::find_tensor(int tensor) const {
    const auto found = std::ranges::find(tensors, tensor, &LocalTensor::tensor);
    return found == tensors.end() ? -1 : static_cast<int>(found - tensors.begin());
}

int EinsumView::find_rank_variable(const std::string& variable) const {
    return index_of(rank_variables, variable);
}

TensorMask EinsumView::outputs() const {
    return mask_of(*this, [](const LocalTensor& tensor) { return tensor.output; });
}

TensorMask EinsumView::fusable() const {
    return mask_of(*this, [](const LocalTensor& tensor) { return tensor.fusable; });
}

TensorMask EinsumView::intermediates() const {
    return mask_of(*this, [](const LocalTensor& tensor) { return tensor.intermediate; });
}

RankVariableMask EinsumView::state_variables() const {
    RankVariableMask mask = 0;
    for (const LocalTensor& tensor : tensors) {
        const int v = tensor.state_variable;
        if (v >= 0 && rank_variables[static_cast<std::size_t>(v)].bound > 1) {
            mask |= bit(static_cast<std::size_t>(v));
        }
    }
    return mask;
}

std::vector<int> linked_by_copies(const Workload& workload) {
    std::vector<int> first(workload.tensors.size());
    std::iota(first.begin(), first.end(), 0);
    for (const Einsum& einsum : workload.einsums) {
        for (const TensorAccess& access : einsum.accesses) {
            const int one = first[access.tensor], other = first[einsum.accesses.front().tensor];
            if (einsum.is_copy_operation && one != other) {
                std::ranges::replace(first, std::max(one, other), std::min(one, other));
            }
        }
    }
    return first;
}

double box_values(const LocalTensor& tensor, const std::vector<std::int64_t>& sizes, double start) {
    double values = start;
    for (const RankAccess& rank : tensor.ranks) {
        double extent = 1;
        for (const AffineTerm& term : rank.terms) {
            extent += std::abs(static_cast<double>(term.coefficient)) *
                      static_cast<double>(sizes[term.rank_variable] - 1);
        }
        values *= extent;
    }
    return values;
}

std::vector<std::int64_t> EinsumView::bounds() const {
    std::vector<std::int64_t> out;
    for (const LocalRankVariable& variable : rank_variables) {
        out.push_back(variable.bound);
    }
    return out;
}

EinsumView view_without_windows(const Workload& workload, int index) {
    if (index < 0 || static_cast<std::size_t>(index) >= workload.einsums.size()) {
        throw Bug("there is no Einsum number " + std::to_string(index));
    }
    const Einsum& einsum = workload.einsums[static_cast<std::size_t>(index)];
    EinsumView result;
    result.einsum = index;
    result.name = einsum.name;
    result.is_copy_operation = einsum.is_copy_operation;
    result.n_instances = workload.n_instances * einsum.n_instances;
    result.operations = einsum.operations;
    for (const int variable : einsum.rank_variables) {
        const RankVariable& global = workload.rank_variables.at(static_cast<std::size_t>(variable));
        const bool last = std::find(einsum.only_last.begin(), einsum.only_last.end(), variable) !=
                          einsum.only_last.end();
        result.rank_variables.push_back({global.name, variable, global.bound, true, {}, last});
    }
    for (const TensorAccess& access : einsum.accesses) {
        result.tensors.push_back(local_tensor(workload, einsum, access));
    }
    std::sort(result.tensors.begin(), result.tensors.end(),
              [](const LocalTensor& a, const LocalTensor& b) { return a.name < b.name; });
    for (const LocalTensor& tensor : result.tensors) {
        for (const RankAccess& rank : tensor.ranks) {
            for (const AffineTerm& term : rank.terms) {
                bool& simple =
                    result.rank_variables[static_cast<std::size_t>(term.rank_variable)].simple;
                simple = simple && plain(rank);
            }
        }
    }
    return result;
}

EinsumView view(const Workload& workload, int index) {
    EinsumView result = view_without_windows(workload, index);
    find_windows(workload, result);
    for (LocalTensor& tensor : result.tensors) {
        if (tensor.state_variable >= 0) {
            const auto v = static_cast<std::size_t>(tensor.state_variable);
            tensor.windows.push_back({tensor.state_variable, tensor.rank_of_variable[v], 1,
                                      result.rank_variables[v].bound, 0});
        }
    }
    return result;
}

const std::vector<std::string>& reserved_set_names() {
    static const std::vector<std::string> names = {
        "All",           "Tensors", "Nothing",    "Inputs", "Outputs",
        "Intermediates", "Shared",  "Persistent", "Above",  "Other"};
    return names;
}

namespace {

/// Tensors and rank variables of the other Einsums: empty sets. Not entered one by one, because
/// every Einsum of a cascade has a scope of its own.
class ForeignNames : public spec::NameSource {
public:
    explicit ForeignNames(const Workload& workload) : workload_(workload) {}

    std::optional<spec::Value> find(std::string_view name) const override {
        const std::string text(name);
        if (workload_.find_tensor(text) >= 0) {
            return spec::TensorSet{0};
        }
        if (workload_.find_rank_variable(text) >= 0) {
            return spec::RankVariableSet{0};
        }
        return std::nullopt;
    }

    std::vector<std::string> names() const override {
        std::vector<std::string> result;
        for (const Tensor& tensor : workload_.tensors) {
            result.push_back(tensor.name);
        }
        for (const RankVariable& variable : workload_.rank_variables) {
            result.push_back(variable.name);
        }
        return result;
    }

private:
    const Workload& workload_;
};

}  // namespace

void define_symbols(spec::Symbols& symbols, const Workload& workload, const EinsumView& view) {
    auto universe = std::make_shared<spec::SetUniverse>();
    bool all_bits_known = true;
    for (const LocalTensor& tensor : view.tensors) {
        universe->tensors.push_back(tensor.name);
        universe->rank_variables_of.push_back(tensor.relevant | tensor.partially_relevant);
        universe->bits_per_value.push_back(tensor.bits_per_value);
        all_bits_known = all_bits_known && tensor.bits_per_value >= 0;
    }
    if (!all_bits_known) {
        universe->bits_per_value.clear();
    }
    for (const LocalRankVariable& variable : view.rank_variables) {
        universe->rank_variables.push_back(variable.name);
    }
    symbols.set_universe(universe);

    symbols.set_source(std::make_shared<ForeignNames>(workload));
    for (std::size_t v = 0; v < view.rank_variables.size(); ++v) {
        symbols.set(view.rank_variables[v].name, spec::RankVariableSet{bit(v)});
    }
    for (std::size_t t = 0; t < view.tensors.size(); ++t) {
        symbols.set(view.tensors[t].name, spec::TensorSet{bit(t)});
    }
    const TensorMask all = view.all();
    symbols.set("All", spec::TensorSet{all});
    symbols.set("Tensors", spec::TensorSet{all});
    symbols.set("Nothing", spec::TensorSet{0});
    symbols.set("Outputs", spec::TensorSet{view.outputs()});
    symbols.set("Inputs", spec::TensorSet{all & ~view.outputs()});
    symbols.set("Intermediates", spec::TensorSet{view.intermediates()});
    symbols.set("Shared", spec::TensorSet{view.fusable()});
    symbols.set("Persistent", spec::TensorSet{mask_of(view, [](const LocalTensor& tensor) {
                    return tensor.persistent;
                })});
    for (const Rename& rename : workload.einsums[static_cast<std::size_t>(view.einsum)].renames) {
        std::uint64_t mask = 0;
        for (const int tensor : rename.tensors) {
            const int local =
                view.find_tensor(workload.tensors[static_cast<std::size_t>(tensor)].name);
            mask |= local < 0 ? 0 : bit(static_cast<std::size_t>(local));
        }
        for (const int variable : rename.rank_variables) {
            const int local = view.find_rank_variable(
                workload.rank_variables[static_cast<std::size_t>(variable)].name);
            mask |= local < 0 ? 0 : bit(static_cast<std::size_t>(local));
        }
        symbols.set(rename.name, rename.is_rank_variables ? spec::Value(spec::RankVariableSet{mask})
                                                          : spec::Value(spec::TensorSet{mask}));
    }
}

spec::Symbols einsum_symbols(const Workload& workload, const EinsumView& view) {
    spec::Symbols symbols;
    define_symbols(symbols, workload, view);
    return symbols;
}

}  // namespace tessera::workload
