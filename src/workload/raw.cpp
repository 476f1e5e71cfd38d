#include "workload/raw.hpp"

#include <algorithm>
#include <set>

#include "base/reading_stop.hpp"
#include "spec/quantities.hpp"
#include "spec/warnings.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/define_symbols.hpp"
#include "workload/einsum_text.hpp"

namespace tessera::workload {

namespace {

using spec::Fields;
using spec::Node;

Place place_of(const Node& node) {
    return {node.position, node.path};
}

class RawReader {
public:
    explicit RawReader(const spec::Document& document) : document_(document) {}

    RawWorkload run() {
        const Node* section = document_.root.find("workload");
        if (section == nullptr || section->is_null()) {
            spec::fail(document_.root, {"the file has no workload", "", "a key 'workload'",
                                        "check that the right file was given"});
        }
        Fields fields(*section, "a workload");
        raw_.place = place_of(*section);
        raw_.rank_sizes = fields.optional("rank_sizes");
        raw_.iteration_space_shape = fields.optional("iteration_space_shape");
        raw_.bits_per_value = fields.optional("bits_per_value");
        raw_.persistent_tensors = fields.optional("persistent_tensors");
        raw_.iterative_ranks = fields.optional("iterative_ranks");
        raw_.n_instances = instances(fields);
        raw_.renames = document_.root.find("renames");
        fields.ignore("name");
        fields.ignore("version");
        const Node& einsums = fields.required("einsums");
        fields.finish();
        add_einsums(einsums);
        if (raw_.einsums.empty()) {
            spec::fail(*section->find("einsums"),
                       {"the workload has no Einsums", "", "at least one", ""});
        }
        resolve_states(raw_);
        for (RawEinsum& einsum : raw_.einsums) {
            take_operations(einsum);
        }
        return std::move(raw_);
    }

private:
    double instances(Fields& fields) const {
        return static_cast<double>(
            fields.integer("n_instances", document_.variables, spec::Range::at_least(1), 1));
    }

    /// Lists in the list are flattened.
    void add_einsums(const Node& node) {
        if (!node.is_sequence()) {
            spec::fail(node, {"Einsums are written as a list, not as " + node.describe(), "",
                              "a list", "begin each Einsum with '- '"});
        }
        for (const Node& item : node.items) {
            if (item.is_sequence()) {
                add_einsums(item);
            } else {
                add_einsum(item);
            }
        }
    }

    void add_einsum(const Node& node) {
        base::poll_reading();
        RawEinsum einsum;
        if (node.is_scalar()) {
            einsum.place = place_of(node);
            add_text_accesses(einsum, node);
            einsum.name = einsum.accesses[0].tensor;
        } else {
            einsum = read_fields(node);
        }
        check_einsum(einsum);
        raw_.einsums.push_back(std::move(einsum));
    }

    RawEinsum read_fields(const Node& node) {
        for (const Node::Entry& entry : node.entries) {
            if (entry.key.find('[') != std::string::npos) {
                spec::fail(entry.key_position, node.path,
                           {"an Einsum with a ':' in its text must stand in quotes", entry.key, "",
                            "write e.g. \"Z[m] = A[M: p]\""});
            }
        }
        RawEinsum einsum;
        einsum.place = place_of(node);
        Fields fields(node, "an Einsum");
        const Node* text = fields.optional("einsum");
        if (text != nullptr) {
            if (!text->is_scalar()) {
                spec::fail(*text, {"text is needed here, not " + text->describe(), "",
                                   "e.g. Z[m, n] = A[m, k] * W[k, n]", ""});
            }
            add_text_accesses(einsum, *text);
            einsum.name = fields.text("name", einsum.accesses[0].tensor);
        } else {
            einsum.name = fields.name("name");
        }
        for (const Node* access : fields.list("tensor_accesses")) {
            add_access(einsum, *access, text != nullptr);
        }
        for (const Node* shape : fields.list("iteration_space_shape", true)) {
            if (!shape->is_scalar()) {
                spec::fail(*shape, {"text is needed here, not " + shape->describe(), "",
                                    "e.g. 0 <= m < 128", ""});
            }
            einsum.shapes.push_back({shape->text, place_of(*shape)});
        }
        einsum.rank_sizes = fields.optional("rank_sizes");
        einsum.renames = fields.optional("renames");
        einsum.is_copy_operation = fields.boolean("is_copy_operation", document_.variables, false);
        einsum.n_instances = instances(fields);
        if (const Node* operation = fields.optional("operation")) {
            read_operations(einsum, *operation);
        }
        fields.finish();
        return einsum;
    }

    /// `operation: exp`, or `operation: {mac: 6, add: 1}`.
    void read_operations(RawEinsum& einsum, const Node& node) const {
        const auto add = [&](const std::string& kind, double count, const Node& where) {
            const std::vector<std::string>& known = operation_kinds();
            if (std::find(known.begin(), known.end(), kind) == known.end()) {
                spec::fail(where, {"unknown operation", kind, spec::name_list(known, known.size()),
                                   spec::did_you_mean(kind, known)});
            }
            einsum.operations.push_back({kind, count});
        };
        if (einsum.is_copy_operation) {
            spec::fail(node, {"a copy operation does nothing at its points", "", "",
                              "remove operation or is_copy_operation"});
        }
        if (node.is_scalar()) {
            add(node.text, 1, node);
            return;
        }
        if (!node.is_map()) {
            spec::fail(node, {"an operation is a name or a map, not " + node.describe(), "",
                              "e.g. exp, or {mac: 6, add: 1}", ""});
        }
        Fields counts(node, "an operation");
        for (const Node::Entry& entry : node.entries) {
            add(entry.key, counts.number(entry.key, document_.variables, spec::positive_quantity()),
                entry.value);
        }
    }

    /// What an Einsum without `operation` does is said by its text.
    static void take_operations(RawEinsum& einsum) {
        if (einsum.is_copy_operation || !einsum.operations.empty()) {
            return;
        }
        std::set<std::string> kept, read;
        for (const RawAccess& access : einsum.accesses) {
            for (const RawRank& rank : access.ranks) {
                for (const auto& [variable, coefficient] : rank.affine.terms) {
                    (access.output ? kept : read).insert(variable);
                }
            }
        }
        kept.insert(einsum.only_last.begin(), einsum.only_last.end());
        const bool reduces = !std::includes(kept.begin(), kept.end(), read.begin(), read.end());
        DerivedOperations derived = derive_operations(einsum.equation, reduces);
        einsum.equation.gives_operations = !derived.operations.empty();
        einsum.operations = std::move(derived.operations);
        if (!derived.doubt.empty()) {
            spec::warn(einsum.place.position, einsum.place.path,
                       {"the text of Einsum '" + einsum.name +
                            "' says no operation, it is one action 'compute': " + derived.doubt,
                        "", "operators + - * / ** and functions such as max, exp, sum",
                        derived.remedy + (derived.remedy.empty() ? "" : " or ") +
                            "say it by 'operation'"});
        }
    }

    void add_text_accesses(RawEinsum& einsum, const Node& node) {
        const bool states = raw_.iterative_ranks != nullptr;
        EinsumText split = split_einsum_text(node.text, place_of(node), states);
        if (!split.left_over.empty()) {
            spec::warn(node.position, node.path,
                       {"what stands beside the output has no effect", split.left_over,
                        "OUTPUT[...] = ...", "remove it"});
        }
        einsum.equation = std::move(split.equation);
        for (const AccessText& text : split.accesses) {
            RawAccess access;
            access.tensor = text.tensor;
            access.output = text.output;
            access.place = place_of(node);
            for (const RankText& rank : text.ranks) {
                add_rank(access, rank.rank, rank.expression, access.place);
            }
            einsum.accesses.push_back(std::move(access));
        }
    }

    /// With `extend` the access is already known from the Einsum's text; only options are added.
    void add_access(RawEinsum& einsum, const Node& node, bool extend) {
        Fields fields(node, "a tensor access");
        RawAccess fresh;
        fresh.tensor = fields.name("name");
        fresh.place = place_of(node);
        const auto same = [&](const RawAccess& access) { return access.tensor == fresh.tensor; };
        auto found = std::find_if(einsum.accesses.begin(), einsum.accesses.end(), same);
        if (found != einsum.accesses.end() && !extend && raw_.iterative_ranks != nullptr) {
            found = einsum.accesses.end();  // two states of one tensor; checked later
        }
        if (found != einsum.accesses.end() && !extend) {
            spec::fail(*node.find("name"), {"the Einsum accesses this tensor twice", fresh.tensor,
                                            "every tensor once", "remove one of the accesses"});
        }
        if (found == einsum.accesses.end() && extend && !fields.has("projection")) {
            spec::fail(*node.find("name"), {"the Einsum's text does not name this tensor",
                                            fresh.tensor, "", "add its projection"});
        }
        if (found == einsum.accesses.end()) {
            einsum.accesses.push_back(std::move(fresh));
            found = einsum.accesses.end() - 1;
            read_projection(*found, fields.required("projection"));
        }
        const spec::Symbols& variables = document_.variables;
        found->output = fields.boolean("output", variables, found->output);
        found->persistent = fields.boolean("persistent", variables, found->persistent);
        if (fields.optional("bits_per_value") != nullptr) {
            found->bits_per_value = fields.number("bits_per_value", variables, spec::quantity());
        }
        warn_of_scale(fields);
        fields.finish();
    }

    /// Of no effect in the reference either.
    void warn_of_scale(Fields& fields) const {
        const char* const key = "backing_storage_size_scale";
        if (!fields.has(key) || fields.number(key, document_.variables, {}) != 1) {
            spec::warn_ignored(fields, key, "a memory holds what the tiles say");
        }
    }

    void read_projection(RawAccess& access, const Node& node) {
        if (node.is_sequence()) {
            for (const Node& item : node.items) {
                if (!item.is_scalar() || !is_rank_variable_name(item.text)) {
                    spec::fail(item, {"a list of rank variables cannot hold this", item.brief(),
                                      "a lower-case name",
                                      "write the projection as a map, e.g. {P: p + r}"});
                }
                add_rank(access, upper_case(item.text), item.text, place_of(item));
            }
            return;
        }
        if (!node.is_map()) {
            spec::fail(node, {"a projection is a list or a map, not " + node.describe(), "",
                              "[m, k] or {P: p + r}", ""});
        }
        for (const Node::Entry& entry : node.entries) {
            if (!entry.value.is_scalar()) {
                spec::fail(entry.value, {"an expression of rank variables is needed here, not " +
                                             entry.value.describe(),
                                         "", "e.g. 2*p + r", ""});
            }
            if (!is_rank_name(entry.key)) {
                spec::fail(entry.key_position, entry.value.path,
                           {"the name of a rank begins with an upper-case letter", entry.key, "",
                            "write '" + upper_case(entry.key) + "'"});
            }
            add_rank(access, entry.key, entry.value.text, place_of(entry.value));
        }
    }

    void add_rank(RawAccess& access, const std::string& rank, const std::string& expression,
                  const Place& place) const {
        for (const RawRank& other : access.ranks) {
            if (other.rank == rank) {
                spec::fail(place.position, place.path,
                           {"tensor '" + access.tensor + "' has this rank twice", rank,
                            "every rank once", "give the ranks names, e.g. {M: a, N: b}"});
            }
        }
        access.ranks.push_back({rank, parse_affine(expression, document_.variables, place), place});
    }

    void check_name(const std::string& what, const std::string& name, const Place& place) const {
        const auto& reserved = reserved_set_names();
        const bool taken = std::find(reserved.begin(), reserved.end(), name) != reserved.end();
        if (!is_identifier(name) || taken) {
            spec::fail(place.position, place.path,
                       {what + (taken ? " has the name of a set" : " has no usable name"), name,
                        "a letter followed by letters, digits and _", "rename it"});
        }
    }

    void check_einsum(const RawEinsum& einsum) {
        const auto complain = [&](const std::string& what, const std::string& remedy) {
            spec::fail(einsum.place.position, einsum.place.path, {what, einsum.name, "", remedy});
        };
        check_name("an Einsum", einsum.name, einsum.place);
        if (einsum.name == "Total" || !names_.insert(einsum.name).second) {
            complain(einsum.name == "Total" ? "an Einsum cannot have this name"
                                            : "two Einsums have this name",
                     "rename one");
        }
        std::size_t outputs = 0;
        for (const RawAccess& access : einsum.accesses) {
            check_name("a tensor", access.tensor, access.place);
            outputs += access.output ? 1 : 0;
        }
        if (outputs == 0) {
            complain("the Einsum has no output", "mark a tensor access with 'output: True'");
        }
        if (outputs == einsum.accesses.size()) {
            complain("the Einsum has no input", "add the tensors it reads");
        }
        if (einsum.is_copy_operation && einsum.accesses.size() - outputs != 1) {
            complain("a copy operation has exactly one input", "remove is_copy_operation");
        }
        if (einsum.accesses.size() > 64 || einsum.rank_variables().size() > 64) {
            complain("an Einsum can have at most 64 tensors and 64 rank variables", "split it");
        }
    }

    const spec::Document& document_;
    RawWorkload raw_;
    std::set<std::string> names_;
};

}  // namespace

std::vector<std::string> RawEinsum::rank_variables() const {
    std::set<std::string> names;
    for (const RawAccess& access : accesses) {
        for (const RawRank& rank : access.ranks) {
            for (const auto& [variable, coefficient] : rank.affine.terms) {
                names.insert(variable);
            }
        }
    }
    return {names.begin(), names.end()};
}

RawWorkload read_raw(const spec::Document& document) {
    return RawReader(document).run();
}

}  // namespace tessera::workload
