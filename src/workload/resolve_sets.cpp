// Everything in a workload that is written with sets: renames, widths, persistent tensors.

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/reading_stop.hpp"
#include "spec/quantities.hpp"
#include "spec/set_map.hpp"
#include "spec/warnings.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/define_symbols.hpp"
#include "workload/raw.hpp"
#include "workload/windows.hpp"

namespace tessera::workload {

namespace {

using spec::Fields;
using spec::Node;

struct RawRename {
    std::string name;
    spec::Expression source;
    spec::Expression expected_count;
};

/// `renames` of an Einsum or a list below a top-level entry: {name: source} or a list of
/// {name, source, expected_count}.
std::vector<RawRename> read_renames(const Node* node) {
    std::vector<RawRename> result;
    if (node == nullptr || node->is_null()) {
        return result;
    }
    if (node->is_map()) {
        for (const Node::Entry& entry : node->entries) {
            result.push_back({entry.key, spec::set_expression_of(entry.value), {}});
        }
        return result;
    }
    if (!node->is_sequence()) {
        spec::fail(*node, {"renames are a map or a list, not " + node->describe(), "",
                           "NAME: set expression", ""});
    }
    for (const Node& item : node->items) {
        Fields fields(item, "a rename");
        RawRename rename;
        rename.name = fields.name("name");
        rename.source = spec::set_expression_of(fields.required("source"));
        rename.expected_count = fields.set_expression("expected_count");
        fields.finish();
        result.push_back(std::move(rename));
    }
    return result;
}

/// The entries at the top of the file: each is for the Einsum of its name, or for all ("default").
class TopLevelRenames {
public:
    explicit TopLevelRenames(const Node* section) {
        if (section == nullptr || section->is_null()) {
            return;
        }
        Fields fields(*section, "renames");
        for (const Node* entry : fields.list("einsums")) {
            Fields entry_fields(*entry, "renames of an Einsum");
            std::vector<RawRename>& target = by_name_[entry_fields.name("name")];
            for (const char* key : {"tensor_accesses", "rank_variables"}) {
                const std::vector<RawRename> read = read_renames(entry_fields.optional(key));
                target.insert(target.end(), read.begin(), read.end());
            }
            entry_fields.finish();
        }
        fields.finish();
    }

    /// Those of its name, then the default ones.
    std::vector<RawRename> of(const std::string& einsum) const {
        std::vector<RawRename> result = named(einsum);
        if (einsum != everywhere) {
            const std::vector<RawRename> others = named(everywhere);
            result.insert(result.end(), others.begin(), others.end());
        }
        return result;
    }

private:
    static constexpr const char* everywhere = "default";

    std::vector<RawRename> named(const std::string& einsum) const {
        const auto found = by_name_.find(einsum);
        return found == by_name_.end() ? std::vector<RawRename>() : found->second;
    }

    std::unordered_map<std::string, std::vector<RawRename>> by_name_;
};

class RenameResolver {
public:
    RenameResolver(Workload& workload, int einsum, const spec::Symbols& variables)
        : workload_(workload),
          view_(view_without_windows(workload, einsum)),
          symbols_(variables.child()),
          einsum_(workload.einsums[static_cast<std::size_t>(einsum)]) {
        define_symbols(symbols_, workload, view_);
    }

    void run(std::vector<RawRename> own, const std::vector<RawRename>& others) {
        const std::vector<std::string> builtin = spec_names();
        for (const RawRename& rename : own) {
            if (std::find(builtin.begin(), builtin.end(), rename.name) != builtin.end()) {
                rename.source.fail("a rename takes the name '" + rename.name +
                                       "' of a tensor, a rank variable or a set",
                                   "another name");
            }
        }
        for (const RawRename& rename : others) {
            const bool taken =
                std::find(builtin.begin(), builtin.end(), rename.name) != builtin.end() ||
                std::any_of(own.begin(), own.end(),
                            [&](const RawRename& other) { return other.name == rename.name; });
            if (!taken) {
                own.push_back(rename);
            }
        }
        // Sources may use one another, in any order.
        for (const RawRename& rename : own) {
            symbols_.set_lazy(rename.name, rename.source);
        }
        for (const RawRename& rename : own) {
            add(rename);
        }
    }

private:
    /// Names of the Einsum itself; a tensor of another Einsum does not stand in a rename's way.
    std::vector<std::string> spec_names() const {
        std::vector<std::string> names = reserved_set_names();
        for (const LocalTensor& tensor : view_.tensors) {
            names.push_back(tensor.name);
        }
        for (const LocalRankVariable& variable : view_.rank_variables) {
            names.push_back(variable.name);
        }
        return names;
    }

    void add(const RawRename& raw) {
        const spec::Value value = raw.source.evaluate(symbols_);
        Rename rename;
        rename.name = raw.name;
        std::uint64_t mask = 0;
        if (value.is<spec::RankVariableSet>()) {
            rename.is_rank_variables = true;
            mask = value.as<spec::RankVariableSet>().mask;
        } else if (value.is<spec::TensorSet>()) {
            mask = value.as<spec::TensorSet>().mask;
        } else {
            raw.source.fail("this is " + value.type_name(), "a set of tensors or rank variables");
        }
        for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1) {
            const auto local = static_cast<std::size_t>(std::countr_zero(rest));
            if (rename.is_rank_variables) {
                rename.rank_variables.push_back(view_.rank_variables[local].rank_variable);
            } else {
                rename.tensors.push_back(view_.tensors[local].tensor);
            }
        }
        check_count(raw, value, mask);
        einsum_.renames.push_back(std::move(rename));
    }

    void check_count(const RawRename& raw, const spec::Value& value, std::uint64_t mask) const {
        if (raw.expected_count.empty()) {
            return;
        }
        const std::int64_t expected =
            spec::integer_in(raw.expected_count, symbols_, spec::Range::at_least(0));
        if (std::popcount(mask) != expected) {
            raw.source.fail("rename '" + raw.name + "' of Einsum '" + einsum_.name +
                                "' stands for " + std::to_string(std::popcount(mask)) + " of " +
                                value.text(symbols_.universe()),
                            std::to_string(expected) + " by its expected_count",
                            "give the Einsum its own renames");
        }
    }

    Workload& workload_;
    EinsumView view_;
    spec::Symbols symbols_;
    Einsum& einsum_;
};

/// What a message says of a value: what the tensor is or has, where, the value and the one before.
struct Said {
    std::string what;
    const Place& place;
    std::string value, before;
};

/// A value per tensor that every Einsum must agree on.
template <class T>
void agree(std::vector<std::pair<bool, T>>& known, const EinsumView& view, std::size_t local,
           const T& value, const Said& said) {
    const auto tensor = static_cast<std::size_t>(view.tensors[local].tensor);
    if (known[tensor].first && known[tensor].second != value) {
        spec::fail(said.place.position, said.place.path,
                   {"tensor '" + view.tensors[local].name + "' " + said.what + " in Einsum '" +
                        view.name + "' otherwise than in an Einsum before it: " + said.value +
                        " against " + said.before,
                    "", "the same everywhere", "make the Einsums agree"});
    }
    known[tensor] = {true, value};
}

const RawAccess& access_of(const RawEinsum& einsum, const std::string& tensor) {
    return *std::find_if(einsum.accesses.begin(), einsum.accesses.end(),
                         [&](const RawAccess& access) { return access.tensor == tensor; });
}

void resolve_bits(Workload& workload, const RawWorkload& raw, const spec::Symbols& variables) {
    const spec::SetMap defaults =
        raw.bits_per_value == nullptr ? spec::SetMap() : spec::SetMap(*raw.bits_per_value);
    std::vector<std::pair<bool, double>> known(workload.tensors.size());
    for (std::size_t e = 0; e < raw.einsums.size(); ++e) {
        base::poll_reading();
        const EinsumView einsum = view_without_windows(workload, static_cast<int>(e));
        spec::Symbols symbols = variables.child();
        define_symbols(symbols, workload, einsum);
        const auto assigned = defaults.assign(symbols);
        for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
            const RawAccess& access = access_of(raw.einsums[e], einsum.tensors[t].name);
            if (!access.bits_per_value && !assigned[t]) {
                spec::fail(access.place.position, access.place.path,
                           {"no width is given for tensor '" + access.tensor + "' in Einsum '" +
                                einsum.name + "'",
                            "", "bits_per_value of the workload or of the access",
                            "add e.g. bits_per_value: {All: 8}"});
            }
            const double bits = access.bits_per_value
                                    ? *access.bits_per_value
                                    : spec::number_in(*assigned[t], symbols, spec::quantity());
            const auto tensor = static_cast<std::size_t>(einsum.tensors[t].tensor);
            agree(known, einsum, t, bits,
                  {"has a width", access.place, spec::number_text(bits),
                   spec::number_text(known[tensor].second)});
        }
    }
    for (std::size_t t = 0; t < known.size(); ++t) {
        workload.tensors[t].bits_per_value = known[t].second;
    }
}

void resolve_persistent(Workload& workload, const RawWorkload& raw,
                        const spec::Symbols& variables) {
    const spec::Expression expression = raw.persistent_tensors == nullptr
                                            ? spec::Expression()
                                            : spec::set_expression_of(*raw.persistent_tensors);
    std::vector<std::pair<bool, bool>> known(workload.tensors.size());
    for (std::size_t e = 0; e < raw.einsums.size(); ++e) {
        base::poll_reading();
        const EinsumView einsum = view_without_windows(workload, static_cast<int>(e));
        spec::Symbols symbols = variables.child();
        define_symbols(symbols, workload, einsum);
        const TensorMask set = expression.empty() ? 0 : expression.tensors(symbols);
        for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
            const RawAccess& access = access_of(raw.einsums[e], einsum.tensors[t].name);
            const bool persistent = access.persistent || ((set >> t) & 1U) != 0;
            const auto tensor = static_cast<std::size_t>(einsum.tensors[t].tensor);
            const auto text = [](bool value) { return value ? "persistent" : "not persistent"; };
            agree(known, einsum, t, persistent,
                  {"is marked", access.place, text(persistent), text(known[tensor].second)});
        }
    }
    for (std::size_t t = 0; t < known.size(); ++t) {
        workload.tensors[t].persistent = known[t].second;
    }
}

/// Top-level entries for Einsums that are not there.
void warn_of_strangers(const Workload& workload, const Node* section) {
    const Node* const entries = section == nullptr ? nullptr : section->find("einsums");
    if (entries == nullptr) {
        return;
    }
    for (const Node& entry : entries->items) {
        const Node* const name = entry.find("name");
        if (name != nullptr && name->text != "default" && workload.find_einsum(name->text) < 0) {
            std::vector<std::string> known = {"default"};
            for (const Einsum& einsum : workload.einsums) {
                known.push_back(einsum.name);
            }
            spec::warn(
                name->position, name->path,
                {"no Einsum has this name, the renames have no effect", name->text,
                 "default, or the name of an Einsum", spec::did_you_mean(name->text, known)});
        }
    }
}

}  // namespace

void resolve_renames(Workload& workload, const RawWorkload& raw, const spec::Symbols& variables) {
    warn_of_strangers(workload, raw.renames);
    const TopLevelRenames others(raw.renames);
    for (std::size_t e = 0; e < raw.einsums.size(); ++e) {
        base::poll_reading();
        const RawEinsum& einsum = raw.einsums[e];
        RenameResolver(workload, static_cast<int>(e), variables)
            .run(read_renames(einsum.renames), others.of(einsum.name));
    }
}

void resolve_tensors(Workload& workload, const RawWorkload& raw, const spec::Symbols& variables) {
    resolve_bits(workload, raw, variables);
    resolve_persistent(workload, raw, variables);
}

}  // namespace tessera::workload
