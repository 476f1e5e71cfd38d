#include "tessera/arch/architecture.hpp"

#include <algorithm>
#include <filesystem>

#include "arch/path_builder.hpp"
#include "base/data_path.hpp"
#include "spec/warnings.hpp"
#include "tessera/spec/directives.hpp"
#include "workload/define_symbols.hpp"

namespace tessera::arch {

struct Architecture::Impl {
    spec::Document document;
    spec::Defines defines;
    std::vector<TreeNode> tree;
    bool lists_operations = false;          ///< of some compute
    const spec::Node* variables = nullptr;  ///< `arch.variables`, inside document
};

Architecture::Architecture(spec::Node root, std::map<std::string, std::string> defines,
                           const std::string& name) {
    auto impl = std::make_shared<Impl>();
    impl->defines = std::move(defines);
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
    impl_ = std::move(impl);
}

Path Architecture::path(const workload::Workload& workload, int einsum, const std::string& compute,
                        Compat compat) const {
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

Architecture load_architecture(const std::string& name_or_path,
                               const std::map<std::string, std::string>& defines) {
    const std::filesystem::path path = find_data("arch-specs", name_or_path);
    return Architecture(spec::load_tree(path.string()), defines, path.stem().string());
}

}  // namespace tessera::arch
