#include "api/inputs.hpp"
#include "base/data_path.hpp"
#include "spec/reader.hpp"
#include "spec/warnings.hpp"
#include "tessera/library.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/select.hpp"

namespace tessera {

struct Problem::Data {
    explicit Data(api::Inputs&& inputs)
        : workload(std::move(inputs.workload.value())),
          architecture(std::move(inputs.architecture.value())),
          warnings(std::move(inputs.warnings)) {}

    workload::Workload workload;
    arch::Architecture architecture;
    std::vector<std::string> warnings;
};

namespace {

/// What is given besides architecture and workload.
api::InputNames with(const Problem::Defines& defines, arch::Compat compat) {
    api::InputNames names{"", "", "", defines};
    names.customary_renames = arch::Convention::of(compat).customary_renames;
    return names;
}

}  // namespace

Problem Problem::load(const std::string& architecture, const std::string& workload,
                      const Defines& defines, arch::Compat compat) {
    if (architecture.empty() || workload.empty()) {
        throw UserError(std::string("no ") + (architecture.empty() ? "architecture" : "workload") +
                        " is named; give a file or a name");
    }
    api::InputNames names = with(defines, compat);
    names.architecture = architecture;
    names.workload = workload;
    return Problem(std::make_shared<const Data>(api::load_inputs(names)), compat);
}

Problem Problem::parse(const std::string& architecture_yaml, const std::string& workload_yaml,
                       const Defines& defines, arch::Compat compat) {
    const spec::HeardWarnings heard;
    std::vector<api::ReadInput> read;
    read.push_back(
        {{"architecture", "architecture"}, spec::read_text(architecture_yaml, "architecture")});
    read.push_back({{"workload", "workload"}, spec::read_text(workload_yaml, "workload")});
    api::Inputs inputs = api::made_inputs(std::move(read), with(defines, compat));
    inputs.warnings = heard.lines();
    return Problem(std::make_shared<const Data>(std::move(inputs)), compat);
}

const workload::Workload& Problem::workload() const {
    return data_->workload;
}

const arch::Architecture& Problem::architecture() const {
    return data_->architecture;
}

model::Problem Problem::view() const {
    return {&data_->workload, &data_->architecture, compat_};
}

const std::vector<std::string>& Problem::warnings() const {
    return data_->warnings;
}

Problem Problem::only(const std::vector<std::string>& einsums) const {
    auto data = std::make_shared<Data>(*data_);
    data->workload = workload::selected(data_->workload, einsums);
    return Problem(std::move(data), compat_);
}

std::vector<std::string> architecture_names() {
    return list_data("arch-specs");
}

std::vector<std::string> workload_names() {
    return list_data("problem-shapes");
}

}  // namespace tessera
