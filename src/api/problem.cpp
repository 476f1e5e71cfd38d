#include "api/inputs.hpp"
#include "spec/reader.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

struct Problem::Data {
    workload::Workload workload;
    arch::Architecture architecture;
    arch::Compat compat;
};

Problem Problem::load(const std::string& architecture, const std::string& workload,
                      const Defines& defines, arch::Compat compat) {
    if (architecture.empty() || workload.empty()) {
        throw UserError(std::string("no ") + (architecture.empty() ? "architecture" : "workload") +
                        " is named; give a file or a name");
    }
    api::Inputs inputs = api::load_inputs({architecture, workload, "", defines});
    return Problem(std::make_shared<const Data>(
        Data{std::move(*inputs.workload), std::move(*inputs.architecture), compat}));
}

Problem Problem::parse(const std::string& architecture_yaml, const std::string& workload_yaml,
                       const Defines& defines, arch::Compat compat) {
    spec::Node architecture = spec::read_text(architecture_yaml, "architecture");
    spec::Node shape = spec::read_text(workload_yaml, "workload");
    std::vector<std::string> declared = spec::declared_variables(architecture);
    for (const std::string& name : spec::declared_variables(shape)) {
        declared.push_back(name);
    }
    spec::check_defines(defines, declared);
    const spec::Document document = spec::expand_document(std::move(shape), defines);
    spec::check_sections(document.root);
    workload::Workload workload = workload::read_workload(document);
    workload.name = "workload";
    return Problem(std::make_shared<const Data>(
        Data{std::move(workload),
             arch::Architecture(std::move(architecture), defines, "architecture"), compat}));
}

const workload::Workload& Problem::workload() const {
    return data_->workload;
}

const arch::Architecture& Problem::architecture() const {
    return data_->architecture;
}

model::Problem Problem::view() const {
    return {&data_->workload, &data_->architecture, data_->compat};
}

}  // namespace tessera
