#include "io/equation.hpp"

#include <cctype>
#include <cstdint>
#include <map>

#include "tessera/workload/workload.hpp"

namespace tessera::io {

namespace {

std::string upper(std::string text) {
    for (char& c : text) {
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
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

/// Which state of a running state an access means.
enum class Side : std::uint8_t { written, read };

/// An iterative rank has its variable alone.
std::string state_expression(const workload::TensorAccess& access, Side side,
                             const std::string& variable) {
    using State = workload::StateAccess;
    const bool older =
        access.state == State::previous || (access.state == State::update && side == Side::read);
    return older ? variable : access.state == State::last ? "last" : variable + " + 1";
}

std::string access_text(const workload::Workload& workload, const workload::TensorAccess& access,
                        Side side) {
    const workload::Tensor& tensor = workload.tensors[static_cast<std::size_t>(access.tensor)];
    std::string text = tensor.name + "[";
    for (std::size_t r = 0; r < access.ranks.size(); ++r) {
        const workload::RankAccess& rank = access.ranks[r];
        std::string inside = expression(workload, rank);
        if (access.state != workload::StateAccess::none &&
            static_cast<int>(r) == tensor.state_rank) {
            inside = state_expression(access, side, inside);
        }
        text += r == 0 ? "" : ", ";
        text += (inside != "last" && upper(inside) == rank.rank ? "" : rank.rank + ": ") + inside;
    }
    return text + "]";
}

/// What stands between the inputs of an Einsum without text: the operator of its only operation,
/// a comma where that has none, `*` where nothing is said.
std::string operator_of(const workload::Einsum& einsum) {
    static const std::map<std::string, std::string> operators = {{"add", " + "},
                                                                 {"subtract", " - "},
                                                                 {"multiply", " * "},
                                                                 {"mac", " * "},
                                                                 {"divide", " / "}};
    if (einsum.operations.empty()) {
        return " * ";
    }
    const auto found = operators.find(einsum.operations.front().kind);
    return einsum.operations.size() == 1 && found != operators.end() ? found->second : ", ";
}

/// `name(access)` stands for an input.
template <class Name>
std::string inputs_text(const workload::Einsum& einsum, const Name& name) {
    std::string text;
    for (const workload::TensorAccess& access : einsum.accesses) {
        if (!access.output || access.state == workload::StateAccess::update) {
            text += (text.empty() ? "" : operator_of(einsum)) + name(access);
        }
    }
    const bool function = operator_of(einsum) == ", " && einsum.operations.size() == 1;
    return function ? einsum.operations.front().kind + "(" + text + ")" : text;
}

template <class Name>
std::string right_side(const workload::Einsum& einsum, const Name& name) {
    if (einsum.equation.parts.empty()) {
        return inputs_text(einsum, name);
    }
    std::string text;
    for (const workload::EquationPart& part : einsum.equation.parts) {
        text += part.access < 0 ? part.text
                                : name(einsum.accesses[static_cast<std::size_t>(part.access)]);
    }
    return text;
}

}  // namespace

std::string equation(const workload::Workload& workload, int einsum) {
    const workload::Einsum& one = workload.einsums[static_cast<std::size_t>(einsum)];
    std::string left;
    for (const workload::TensorAccess& access : one.accesses) {
        if (access.output) {
            left += (left.empty() ? "" : ", ") + access_text(workload, access, Side::written);
        }
    }
    const auto name = [&](const workload::TensorAccess& access) {
        return access_text(workload, access, Side::read);
    };
    return left + " = " + right_side(one, name) + (one.is_copy_operation ? " (copy)" : "");
}

std::string equation_form(const workload::Workload& workload, int einsum) {
    return right_side(workload.einsums[static_cast<std::size_t>(einsum)],
                      [](const workload::TensorAccess&) { return std::string("[]"); });
}

}  // namespace tessera::io
