#include "workload/select.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"
#include "tessera/spec/position.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::workload {

namespace {

/// Old index to new one, in the order of the old; -1: left out.
class Kept {
public:
    explicit Kept(std::size_t size) : kept_(size, -1) {}

    void keep(int old) {
        kept_[static_cast<std::size_t>(old)] = 0;
    }
    void number() {
        int next = 0;
        for (int& index : kept_) {
            index = index < 0 ? -1 : next++;
        }
    }
    int operator[](int old) const {
        return kept_[static_cast<std::size_t>(old)];
    }
    /// What is kept of the list, renumbered.
    void apply(std::vector<int>& indices) const {
        std::vector<int> result;
        for (const int old : indices) {
            if ((*this)[old] >= 0) {
                result.push_back((*this)[old]);
            }
        }
        indices = std::move(result);
    }
    template <class T>
    std::vector<T> of(const std::vector<T>& all) const {
        std::vector<T> result;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (kept_[i] >= 0) {
                result.push_back(all[i]);
            }
        }
        return result;
    }

private:
    std::vector<int> kept_;
};

Kept chosen(const Workload& workload, const std::vector<std::string>& names) {
    Kept kept(workload.einsums.size());
    for (const std::string& name : names) {
        const int index = workload.find_einsum(name);
        if (index < 0) {
            std::vector<std::string> known;
            for (const Einsum& einsum : workload.einsums) {
                known.push_back(einsum.name);
            }
            const std::string near = spec::did_you_mean(name, known);
            throw UserError(
                "the workload has no Einsum '" + name + "'" +
                (near.empty() ? " (it has " + spec::name_list(known) + ")" : "; " + near));
        }
        kept.keep(index);
    }
    if (names.empty()) {
        throw UserError("no Einsum is named; name one or several, as in conv1,conv2");
    }
    kept.number();
    return kept;
}

}  // namespace

Workload selected(const Workload& workload, const std::vector<std::string>& names) {
    const Kept einsums = chosen(workload, names);
    Kept tensors(workload.tensors.size()), variables(workload.rank_variables.size());
    Workload result;
    result.name = workload.name;
    result.n_instances = workload.n_instances;
    result.index.nothing_overlaps = workload.index.nothing_overlaps;
    result.einsums = einsums.of(workload.einsums);
    for (const Einsum& einsum : result.einsums) {
        for (const TensorAccess& access : einsum.accesses) {
            tensors.keep(access.tensor);
        }
        for (const int variable : einsum.rank_variables) {
            variables.keep(variable);
        }
    }
    tensors.number();
    variables.number();
    result.tensors = tensors.of(workload.tensors);
    result.rank_variables = variables.of(workload.rank_variables);
    for (Tensor& tensor : result.tensors) {
        einsums.apply(tensor.producers);
        einsums.apply(tensor.consumers);
        einsums.apply(tensor.previous_readers);
    }
    for (Einsum& einsum : result.einsums) {
        variables.apply(einsum.rank_variables);
        for (TensorAccess& access : einsum.accesses) {
            access.tensor = tensors[access.tensor];
            for (RankAccess& rank : access.ranks) {
                for (AffineTerm& term : rank.terms) {
                    term.rank_variable = variables[term.rank_variable];
                }
            }
        }
        for (Rename& rename : einsum.renames) {
            tensors.apply(rename.tensors);
            variables.apply(rename.rank_variables);
        }
    }
    return result;
}

}  // namespace tessera::workload
