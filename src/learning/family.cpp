// What makes problems a family: facts about Einsums and hardware, as text that is compared.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "learning/opened.hpp"
#include "search/other_space.hpp"
#include "tessera/base/error.hpp"
#include "tessera/learning/surrogate.hpp"
#include "tessera/search/vector.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::learning {

const search::OpenSpace::Data& opened(const search::Space& space) {
    const auto* open = dynamic_cast<const search::OpenSpace*>(&space);
    if (open == nullptr) {
        throw Bug("a surrogate for a space that the host did not open");
    }
    return open->data();
}

namespace {

std::string text_of(const workload::LocalTensor& tensor, const workload::EinsumView& einsum) {
    std::ostringstream out;
    out << (tensor.output ? "writes " : "reads ") << tensor.name << "[";
    for (std::size_t r = 0; r < tensor.ranks.size(); ++r) {
        out << (r > 0 ? ", " : "");
        for (std::size_t i = 0; i < tensor.ranks[r].terms.size(); ++i) {
            const workload::AffineTerm& term = tensor.ranks[r].terms[i];
            out << (i > 0 ? " + " : "");
            if (term.coefficient != 1) {
                out << term.coefficient << " * ";
            }
            out << einsum.rank_variables[static_cast<std::size_t>(term.rank_variable)].name;
        }
    }
    out << "] of " << tensor.bits_per_value << " bits";
    return out.str();
}

std::string text_of(const arch::PathLevel& level) {
    std::ostringstream out;
    out.precision(12);
    out << "level " << level.name;
    if (level.kind == arch::LevelKind::memory) {
        out << " of " << level.size_bits << " bits";
        if (level.bank_bits > 0) {
            out << " in banks of " << level.bank_bits;
        }
    }
    for (const arch::PathAction& action : level.actions) {
        out << ", " << action.name << " " << action.energy_j * level.actions_scale << " J "
            << action.throughput_per_s << "/s";
    }
    for (const arch::PathDim& dim : level.spatial) {
        out << ", " << dim.name << " x " << dim.fanout;
    }
    return out.str();
}

}  // namespace

Family Family::of(const search::Space& space) {
    Family family;
    if (const auto* other = dynamic_cast<const search::VectorSpace*>(&space)) {
        // Nobody trains for it before a search.
        family.facts = {"a mapspace without templates"};
        family.layout = other->numbers();
        std::vector<float> numbers(family.layout.size());
        other->to_numbers(other->any_point(), numbers);
        family.lowest.assign(numbers.begin(),
                             numbers.begin() + static_cast<std::ptrdiff_t>(other->n_bounds()));
        family.highest = family.lowest;
        return family;
    }
    const search::OpenSpace::Data& data = opened(space);
    for (const search::EinsumData& einsum : data.einsums.all()) {
        for (const auto& path : einsum.paths) {
            const std::string name = "Einsum " + path->einsum.name;
            for (const workload::LocalTensor& tensor : path->einsum.tensors) {
                family.facts.push_back(name + " " + text_of(tensor, path->einsum));
            }
            for (const arch::PathLevel& level : path->levels) {
                family.facts.push_back(name + " on " + text_of(level));
            }
        }
    }
    family.layout = search::VectorEncoding(space).layout();
    for (const workload::RankVariable& v : data.problem.workload->rank_variables) {
        family.lowest.push_back(std::log2(static_cast<float>(v.bound)));
    }
    family.highest = family.lowest;
    return family;
}

namespace {

/// The first fact that two families do not share; empty: none.
std::string difference(const std::vector<std::string>& known,
                       const std::vector<std::string>& other) {
    for (std::size_t i = 0; i < std::max(known.size(), other.size()); ++i) {
        const std::string left = i < known.size() ? known[i] : "nothing more";
        const std::string right = i < other.size() ? other[i] : "nothing more";
        if (left != right) {
            return "'" + left + "', and not '" + right + "'";
        }
    }
    return "";
}

}  // namespace

void Family::join(const Family& other) {
    if (const std::string why = difference(facts, other.facts); !why.empty()) {
        throw UserError("the problems are no family: one has " + why);
    }
    search::join_layouts(layout, other.layout);
    for (std::size_t v = 0; v < lowest.size(); ++v) {
        lowest[v] = std::min(lowest[v], other.lowest[v]);
        highest[v] = std::max(highest[v], other.highest[v]);
    }
}

void Family::require(const search::Space& space, const std::string& name) const {
    const Family asked = of(space);
    if (const std::string why = difference(facts, asked.facts); !why.empty()) {
        throw UserError(name + ": this surrogate is of another family: it is trained for " + why +
                        "; train one with tessera train");
    }
    for (std::size_t v = 0; v < asked.lowest.size(); ++v) {
        constexpr float rounding = 1e-4F;
        if (v >= lowest.size() || asked.layout[v] != layout[v]) {
            throw UserError(name + ": this surrogate knows no rank variable '" +
                            asked.layout[v].substr(6) + "'");
        }
        if (asked.lowest[v] < lowest[v] - rounding || asked.highest[v] > highest[v] + rounding) {
            const auto whole = [](float x) { return std::to_string(std::lround(std::exp2(x))); };
            throw UserError(name + ": rank variable '" + asked.layout[v].substr(6) + "' has " +
                            whole(asked.lowest[v]) + " values; this surrogate is trained for " +
                            whole(lowest[v]) + " to " + whole(highest[v]));
        }
    }
}

}  // namespace tessera::learning
