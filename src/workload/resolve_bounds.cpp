// From rank sizes and iteration spaces to the bound of every rank variable and the size of every
// tensor. Bounds are those of the bounding box, so at the edge of a convolution points outside the
// input tensor are counted, as in the reference.

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/reading_stop.hpp"
#include "spec/quantities.hpp"
#include "spec/warnings.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/iteration_space.hpp"
#include "workload/raw.hpp"

namespace tessera::workload {

namespace {

using spec::Node;

/// Sizes of ranks by name; entries may refer to one another.
class RankSizes {
public:
    /// `outer`: the sizes of the workload around those of an Einsum.
    RankSizes(const Node* section, const spec::Symbols& variables, const RankSizes* outer = nullptr)
        : outer_(outer), symbols_(variables) {
        if (section == nullptr) {
            return;
        }
        if (!section->is_map()) {
            spec::fail(*section, {"rank sizes are written as a map, not as " + section->describe(),
                                  "", "RANK: size", ""});
        }
        symbols_ = symbols_.child();
        for (const Node::Entry& entry : section->entries) {
            add(entry);
        }
    }

    /// The size, or 0 if none is given.
    std::int64_t size(const std::string& rank) const {
        const spec::Expression* const expression = find(rank);
        return expression == nullptr
                   ? 0
                   : spec::integer_in(*expression, symbols_, spec::Range::at_least(1));
    }

    std::vector<std::string> names() const {
        std::set<std::string> result;
        for (const RankSizes* sizes = this; sizes != nullptr; sizes = sizes->outer_) {
            for (const auto& [name, expression] : sizes->expressions_) {
                result.insert(name);
            }
        }
        return {result.begin(), result.end()};
    }

    const spec::Symbols& symbols() const {
        return symbols_;
    }

private:
    void add(const Node::Entry& entry) {
        if (!is_rank_name(entry.key)) {
            spec::fail(entry.key_position, entry.value.path,
                       {"the name of a rank begins with an upper-case letter", entry.key, "",
                        "write '" + upper_case(entry.key) + "'"});
        }
        if (entry.value.is_null()) {
            spec::fail(entry.value, {"the size of the rank is missing", "", "an integer >= 1", ""});
        }
        const spec::Expression expression = spec::Expression::parse(entry.value);
        expressions_[entry.key] = expression;
        symbols_.set_lazy(entry.key, expression);
    }

    const spec::Expression* find(const std::string& rank) const {
        for (const RankSizes* sizes = this; sizes != nullptr; sizes = sizes->outer_) {
            const auto found = sizes->expressions_.find(rank);
            if (found != sizes->expressions_.end()) {
                return &found->second;
            }
        }
        return nullptr;
    }

    const RankSizes* const outer_;
    spec::Symbols symbols_;
    std::map<std::string, spec::Expression> expressions_;
};

/// The iteration space of the workload by rank variable: each Einsum asks for its own.
class SharedShapes {
public:
    explicit SharedShapes(const Node* section) : section_(section) {
        if (section == nullptr) {
            return;
        }
        if (!section->is_map()) {
            spec::fail(*section,
                       {"iteration spaces are written as a map, not as " + section->describe(), "",
                        "m: 0 <= m < 128", ""});
        }
        for (std::size_t i = 0; i < section->entries.size(); ++i) {
            entries_[section->entries[i].key].push_back(i);
        }
    }

    /// Those of the variables, in the order of the file.
    std::vector<const Node::Entry*> of(const std::vector<std::string>& variables) const {
        std::vector<std::size_t> numbers;
        for (const std::string& variable : variables) {
            const auto found = entries_.find(variable);
            if (found != entries_.end()) {
                numbers.insert(numbers.end(), found->second.begin(), found->second.end());
            }
        }
        std::sort(numbers.begin(), numbers.end());
        std::vector<const Node::Entry*> result;
        for (const std::size_t number : numbers) {
            result.push_back(&section_->entries[number]);
        }
        return result;
    }

    void check() const {
        if (section_ == nullptr) {
            return;
        }
        for (const Node::Entry& entry : section_->entries) {
            if (!entry.value.is_scalar()) {
                spec::fail(entry.value, {"text is needed here, not " + entry.value.describe(), "",
                                         "e.g. 0 <= m < 128", ""});
            }
        }
    }

private:
    const Node* const section_;
    std::unordered_map<std::string, std::vector<std::size_t>> entries_;
};

void add_shapes(IterationSpace& space, const SharedShapes& shared, const RawEinsum& einsum) {
    for (const Node::Entry* const entry : shared.of(einsum.rank_variables())) {
        space.add_text(entry->value.text, {entry->value.position, entry->value.path});
    }
    for (const RawShape& shape : einsum.shapes) {
        space.add_text(shape.text, shape.place);
    }
}

[[noreturn]] void fail_unbounded(const RawEinsum& einsum, const std::string& variable,
                                 const RankSizes& sizes) {
    std::vector<std::string> ranks;
    Place place = einsum.place;
    for (const RawAccess& access : einsum.accesses) {
        for (const RawRank& rank : access.ranks) {
            if (rank.affine.terms.count(variable) != 0 &&
                std::find(ranks.begin(), ranks.end(), rank.rank) == ranks.end()) {
                place = ranks.empty() ? rank.place : place;
                ranks.push_back(rank.rank);
            }
        }
    }
    std::string remedy = "add the size of rank " + ranks.front() + " to rank_sizes";
    const std::string hint =
        sizes.size(ranks.front()) == 0 ? spec::did_you_mean(ranks.front(), sizes.names()) : "";
    remedy += hint.empty() ? "" : " (" + hint + ")";
    spec::fail(place.position, place.path,
               {"the bound of rank variable '" + variable + "' of Einsum '" + einsum.name +
                    "' is not limited by any rank size or iteration space",
                "", "a size for one of the ranks " + spec::name_list(ranks), remedy});
}

[[noreturn]] void fail_large(const RawEinsum& einsum, const std::string& variable, double values,
                             const Constraint* limit) {
    const Place& place = limit != nullptr ? limit->place : einsum.place;
    spec::fail(
        place.position, place.path,
        {"rank variable '" + variable + "' of Einsum '" + einsum.name + "' runs over " +
             spec::number_text(values) + " values",
         limit != nullptr ? limit->text : "", "at most " + std::to_string(spec::largest_extent),
         "write it as two, e.g. M: 1024 * m1 + m0"});
}

/// Counts are multiples of this, and costs multiples of counts.
void check_points(const RawWorkload& raw, const RawEinsum& einsum,
                  const std::map<std::string, std::int64_t>& bounds) {
    double points = raw.n_instances * einsum.n_instances;
    for (const auto& [name, bound] : bounds) {
        points *= static_cast<double>(bound);
    }
    if (points > spec::most_points) {
        spec::fail(einsum.place.position, einsum.place.path,
                   {"Einsum '" + einsum.name + "' has too many points with all its instances",
                    spec::number_text(points), "at most 2^63",
                    "map a part of it: what is repeated costs as often as much"});
    }
}

std::map<std::string, std::int64_t> bounds_of(const RawWorkload& raw, const RawEinsum& einsum,
                                              const RankSizes& sizes, const SharedShapes& shared) {
    IterationSpace space(sizes.symbols());
    for (const RawAccess& access : einsum.accesses) {
        for (const RawRank& rank : access.ranks) {
            if (const std::int64_t size = sizes.size(rank.rank)) {
                space.add_rank(rank.affine, size, rank.place);
            }
        }
    }
    add_shapes(space, shared, einsum);
    const std::vector<std::string> names = einsum.rank_variables();
    const std::vector<IterationSpace::Bounds> box = space.box(names);
    std::map<std::string, std::int64_t> result;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!box[i].lowest || !box[i].highest) {
            fail_unbounded(einsum, names[i], sizes);
        }
        const std::int64_t values = *box[i].highest - *box[i].lowest + 1;
        if (values > spec::largest_extent) {
            fail_large(einsum, names[i], static_cast<double>(values), box[i].limit);
        }
        result[names[i]] = values;
    }
    check_points(raw, einsum, result);
    return result;
}

/// Number of values of the box that the access covers when all variables run over their bounds.
double image_size(const RawAccess& access, const std::map<std::string, std::int64_t>& bounds,
                  const RankSizes& sizes) {
    double values = 1;
    for (const RawRank& rank : access.ranks) {
        if (rank.rank == access.state_rank) {
            continue;  // one state at a time
        }
        double extent = 1;
        for (const auto& [variable, coefficient] : rank.affine.terms) {
            extent += static_cast<double>(std::abs(coefficient)) *
                      static_cast<double>(bounds.at(variable) - 1);
        }
        const std::int64_t size = sizes.size(rank.rank);
        values *= size > 0 ? std::min(extent, static_cast<double>(size)) : extent;
    }
    return values;
}

/// Entries of `section` for what no Einsum has, nor another entry uses.
void warn_of_strangers(const Node* section, const std::string& what,
                       const std::vector<std::string>& known) {
    if (section == nullptr) {
        return;
    }
    std::set<std::string> used(known.begin(), known.end());
    for (const Node::Entry& entry : section->entries) {
        if (what == "rank") {
            const std::vector<std::string> names = spec::Expression::parse(entry.value).names();
            used.insert(names.begin(), names.end());
        }
    }
    for (const Node::Entry& entry : section->entries) {
        if (used.count(entry.key) == 0) {
            spec::warn(entry.key_position, section->path,
                       {"no Einsum has this " + what + ", the entry has no effect", entry.key, "",
                        spec::did_you_mean(entry.key, known)});
        }
    }
}

/// Of all Einsums, or of one.
std::vector<std::string> ranks_of(const std::vector<RawEinsum>& einsums) {
    std::set<std::string> names;
    for (const RawEinsum& einsum : einsums) {
        for (const RawAccess& access : einsum.accesses) {
            for (const RawRank& rank : access.ranks) {
                names.insert(rank.rank);
            }
        }
    }
    return {names.begin(), names.end()};
}

void warn_of_strangers(const Workload& workload, const RawWorkload& raw) {
    warn_of_strangers(raw.rank_sizes, "rank", ranks_of(raw.einsums));
    std::vector<std::string> variables;
    for (const RankVariable& variable : workload.rank_variables) {
        variables.push_back(variable.name);
    }
    warn_of_strangers(raw.iteration_space_shape, "rank variable", variables);
    for (const RawEinsum& einsum : raw.einsums) {
        if (einsum.rank_sizes != nullptr) {
            warn_of_strangers(einsum.rank_sizes, "rank", ranks_of({einsum}));
        }
    }
}

}  // namespace

void resolve_bounds(Workload& workload, const RawWorkload& raw, const spec::Symbols& variables) {
    const SharedShapes shared(raw.iteration_space_shape);
    warn_of_strangers(workload, raw);
    const RankSizes common(raw.rank_sizes, variables);
    shared.check();
    std::map<std::string, std::string> first_einsum;
    for (const RawEinsum& einsum : raw.einsums) {
        base::poll_reading();
        const RankSizes sizes(einsum.rank_sizes, common.symbols(), &common);
        const auto bounds = bounds_of(raw, einsum, sizes, shared);
        for (const auto& [name, bound] : bounds) {
            RankVariable& variable = workload.rank_variables.at(
                static_cast<std::size_t>(workload.find_rank_variable(name)));
            const auto [first, fresh] = first_einsum.try_emplace(name, einsum.name);
            if (!fresh && variable.bound != bound) {
                spec::fail(
                    einsum.place.position, einsum.place.path,
                    {"rank variable '" + name + "' runs over " + std::to_string(bound) +
                         " values in Einsum '" + einsum.name + "' but over " +
                         std::to_string(variable.bound) + " in Einsum '" + first->second + "'",
                     "", "one bound for a rank variable",
                     "make the sizes agree or use another rank variable"});
            }
            variable.bound = bound;
        }
        for (const RawAccess& access : einsum.accesses) {
            Tensor& tensor =
                workload.tensors.at(static_cast<std::size_t>(workload.find_tensor(access.tensor)));
            if (access.output || tensor.size_values == 0) {
                tensor.size_values = image_size(access, bounds, sizes);
            }
        }
    }
}

}  // namespace tessera::workload
