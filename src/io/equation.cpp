#include "io/equation.hpp"

#include <cctype>

namespace tessera::io {

namespace {

std::string lower(std::string text) {
    for (char& c : text) {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return text;
}

std::string expression(const workload::Workload& workload, const workload::RankAccess& rank) {
    std::string text;
    for (const workload::AffineTerm& term : rank.terms) {
        const std::int64_t factor = term.coefficient;
        const std::string& name =
            workload.rank_variables[static_cast<std::size_t>(term.rank_variable)].name;
        const std::string sign =
            factor < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
        const std::int64_t size = factor < 0 ? -factor : factor;
        text += sign + (size == 1 ? "" : std::to_string(size) + "*") + name;
    }
    if (rank.constant != 0 || text.empty()) {
        const std::string sign =
            rank.constant < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
        text += sign + std::to_string(rank.constant < 0 ? -rank.constant : rank.constant);
    }
    return text;
}

std::string access_text(const workload::Workload& workload, const workload::TensorAccess& access) {
    std::string text = workload.tensors[static_cast<std::size_t>(access.tensor)].name + "[";
    for (const workload::RankAccess& rank : access.ranks) {
        const std::string inside = expression(workload, rank);
        text += &rank == &access.ranks.front() ? "" : ", ";
        text += (inside == lower(rank.rank) ? "" : rank.rank + ": ") + inside;
    }
    return text + "]";
}

}  // namespace

std::string equation(const workload::Workload& workload, int einsum) {
    const workload::Einsum& one = workload.einsums[static_cast<std::size_t>(einsum)];
    std::string left, right;
    for (const workload::TensorAccess& access : one.accesses) {
        std::string& side = access.output ? left : right;
        side += (side.empty() ? "" : access.output ? ", " : " * ") + access_text(workload, access);
    }
    return left + " = " + right + (one.is_copy_operation ? " (copy)" : "");
}

}  // namespace tessera::io
