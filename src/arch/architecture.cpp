#include "tessera/arch/architecture.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "arch/limited_memory.hpp"
#include "arch/path_builder.hpp"
#include "base/data_path.hpp"
#include "spec/quantities.hpp"
#include "spec/settings.hpp"
#include "spec/warnings.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/define_symbols.hpp"

namespace tessera::arch {

/// A memory of another architecture that may be filled in part only.
struct LimitedMemory {
    Architecture whole;
    std::string name;
    double share = 1;
};

struct Architecture::Impl {
    std::optional<LimitedMemory> limited;           ///< then all else is empty
    std::map<std::string, Architecture> of_einsum;  ///< with the values of `per_einsum`
    spec::Document document;
    spec::Defines defines;
    std::vector<TreeNode> tree;
    bool lists_operations = false;          ///< of some compute
    const spec::Node* variables = nullptr;  ///< `arch.variables`, inside document

    static Architecture limit(const Architecture& given, const std::string& memory, double share) {
        auto impl = std::make_shared<Impl>();
        impl->limited.emplace(given, memory, share);
        Architecture result = given;
        result.impl_ = std::move(impl);
        return result;
    }
};

Architecture with_limited_memory(const Architecture& given, const std::string& memory,
                                 double share) {
    return Architecture::Impl::limit(given, memory, share);
}

namespace {

/// A value of `per_einsum` as it would be given by --set.
spec::Setting setting_of(const spec::Node::Entry& entry) {
    const spec::Setting setting{entry.key, entry.value.text};
    if (!entry.value.is_scalar() || spec::section_of(setting) != "arch") {
        spec::fail(entry.value, {"a value for one Einsum is one value of the architecture",
                                 entry.key + ": " + entry.value.brief(),
                                 "as in arch.GlobalBuffer.size: 1024", ""});
    }
    return setting;
}

/// The file as it is for one Einsum.
spec::Node with_values(spec::Node root, const spec::Node& values) {
    if (!values.is_map()) {
        spec::fail(values, {"the values for one Einsum are a map", values.brief(),
                            "{arch.GlobalBuffer.size: 1024}", ""});
    }
    for (const spec::Node::Entry& entry : values.entries) {
        try {
            spec::apply(root, setting_of(entry));
        } catch (const UserError& error) {
            spec::fail(entry.value, {error.what(), "", "", ""});
        }
    }
    return root;
}

/// Values for single Einsums, taken out of the file.
spec::Node taken_out(spec::Node& root) {
    const spec::Node* const given = root.is_map() ? root.find("per_einsum") : nullptr;
    const spec::Node result = given == nullptr ? spec::Node() : *given;
    if (given != nullptr) {
        root.erase("per_einsum");
    }
    if (!result.is_null() && !result.is_map()) {
        spec::fail(result, {"per_einsum has a map for each Einsum", result.brief(),
                            "{EINSUM: {arch.GlobalBuffer.size: 1024}}", ""});
    }
    return result;
}

}  // namespace

Architecture::Architecture(spec::Node root, std::map<std::string, std::string> defines,
                           const std::string& name) {
    auto impl = std::make_shared<Impl>();
    impl->defines = std::move(defines);
    const spec::Node by_einsum = taken_out(root);
    for (const spec::Node::Entry& entry : by_einsum.entries) {
        impl->of_einsum.emplace(entry.key,
                                Architecture(with_values(root, entry.value), impl->defines, name));
    }
    spec::check_sections(root);
    impl->document = spec::expand_document(std::move(root), impl->defines);
    const spec::Node* section = impl->document.root.find("arch");
    if (section == nullptr || section->is_null()) {
        spec::fail(impl->document.root, {"the file has no architecture", "", "a key 'arch'",
                                         "check that the right file was given"});
    }
    spec::Fields fields(*section, "an architecture");
    impl->variables = fields.optional("variables");
    name_ = fields.text("name", name);
    arbitrary_units_ = fields.choice("units", {"arbitrary", "SI"}, "SI") == "arbitrary";
    fields.ignore("version");
    for (const char* key :
         {"extra_attributes_for_all_component_models", "extra_attributes_for_component_model"}) {
        spec::warn_ignored(fields, key, "component models are not evaluated, give the numbers");
    }
    const spec::Node& nodes = fields.required("nodes");
    fields.finish();
    spec::Symbols symbols = impl->document.variables.child();
    spec::bind_variables(impl->variables, impl->defines, symbols);
    impl->tree = read_tree(nodes, symbols);
    for_each_leaf(impl->tree, [&](const ComponentSpec& component) {
        level_names_.push_back(component.name);
        if (component.kind != LevelKind::container) {
            component_names_.push_back(component.name);
        }
        bypasses_on_overflow_ = bypasses_on_overflow_ || component.bypass_on_overflow;
        if (component.kind == LevelKind::compute) {
            compute_names_.push_back(component.name);
            impl->lists_operations = impl->lists_operations || component.operations.has_value();
        }
    });
    if (compute_names_.empty()) {
        spec::fail(nodes,
                   {"the architecture has no compute", "", "at least one !Compute node", ""});
    }
    for (const auto& [einsum, other] : impl->of_einsum) {
        if (other.component_names_ != component_names_) {
            spec::fail(*by_einsum.find(einsum),
                       {"for this Einsum the architecture has other components", einsum, "", ""});
        }
    }
    impl_ = std::move(impl);
}

Path Architecture::path(const workload::Workload& workload, int einsum, const std::string& compute,
                        Compat compat) const {
    if (impl_->limited) {
        Path path = impl_->limited->whole.path(workload, einsum, compute, compat);
        if (const int at = path.find_level(impl_->limited->name); at >= 0) {
            path.levels[static_cast<std::size_t>(at)].size_bits *= impl_->limited->share;
        }
        return path;
    }
    const auto own = impl_->of_einsum.find(workload.einsums[static_cast<std::size_t>(einsum)].name);
    if (own != impl_->of_einsum.end()) {
        return own->second.path(workload, einsum, compute, compat);
    }
    workload::EinsumView view = workload::view(workload, einsum);
    if (!impl_->lists_operations &&
        workload.einsums[static_cast<std::size_t>(einsum)].equation.gives_operations) {
        view.operations.clear();  // who lists none does not tell them apart
    }
    spec::Symbols symbols = impl_->document.variables.child();
    workload::define_symbols(symbols, workload, view);
    spec::Symbols scope = symbols.child();
    spec::bind_variables(impl_->variables, impl_->defines, scope);
    for_each_leaf(impl_->tree, [&](const ComponentSpec& component) {
        if (symbols.contains(component.name) &&
            !impl_->document.variables.contains(component.name)) {
            spec::fail(
                component.where, component.path,
                {"a component has the name of a tensor, rename or rank variable of Einsum '" +
                     view.name + "'",
                 component.name, "", "rename one of them"});
        }
    });
    return PathBuilder(impl_->tree, view, scope, compat).build(compute);
}

namespace {

/// Runs `evaluation`, unless it asks for a name that a workload may bring.
template <class Evaluation>
void unless_of_workload(const Evaluation& evaluation) {
    try {
        evaluation();
    } catch (const spec::UnknownName&) {
        return;
    }
}

}  // namespace

void Architecture::check_values() const {
    if (impl_->limited) {
        return impl_->limited->whole.check_values();
    }
    spec::Symbols symbols = impl_->document.variables.child();
    spec::bind_variables(impl_->variables, impl_->defines, symbols);
    const ComponentValues values(impl_->tree, symbols);
    for_each_leaf(impl_->tree, [&](const ComponentSpec& component) {
        const spec::Symbols& scope = values.scope(component);
        for (const DimSpec& dim : component.spatial) {
            unless_of_workload([&] { spec::integer_in(dim.fanout, scope, spec::extent()); });
        }
        if (component.kind == LevelKind::container) {
            return;
        }
        values.check_given(component);
        for (const auto& [key, expression] : component.numbers) {
            unless_of_workload([&] { values.number(component, key); });
        }
        unless_of_workload([&] { values.leak_power_w(component); });
        if (component.kind == LevelKind::memory) {
            unless_of_workload([&] { values.bank_bits(component); });
        }
        unless_of_workload([&] { compile_latency(component, values.actions(component), scope); });
    });
    for (const auto& [einsum, other] : impl_->of_einsum) {
        other.check_values();
    }
}

Architecture load_architecture(const std::string& name_or_path,
                               const std::map<std::string, std::string>& defines) {
    const std::filesystem::path path = find_data("arch-specs", name_or_path);
    return Architecture(spec::load_tree(path.string()), defines, path.stem().string());
}

}  // namespace tessera::arch
