// One architecture and one workload as files, and the problems that other values of them make.
#pragma once

#include <string>
#include <vector>

#include "api/inputs.hpp"
#include "spec/settings.hpp"

namespace tessera::api {

/// What is set from outside: variables, and values of the files.
struct Choice {
    spec::Defines defines;
    std::vector<spec::Setting> settings;
};

/// Reads the files once; immutable after that.
class ProblemFamily {
public:
    /// \throws UserError
    ProblemFamily(const std::string& architecture, const std::string& workload);

    /// \throws UserError for a variable that neither file declares, and for a path of no value.
    void check(const Choice& choice) const;
    /// \throws UserError as load_inputs() does
    Inputs with(const Choice& choice) const;
    /// Equal for two choices that make the same problem: the same files after `when`, `repeat` and
    /// settings, and the same values of all variables that are still named in them. Different
    /// otherwise, and in doubt. \throws UserError as with()
    std::string identity(const Choice& choice) const;

    const std::string& workload_name() const {
        return workload_name_;
    }
    /// Named files, without what they include.
    const std::vector<Input>& files() const {
        return files_;
    }

private:
    spec::Node tree(const std::string& section, const Choice& choice) const;

    spec::Node architecture_, workload_;
    std::string architecture_name_, workload_name_;
    std::vector<Input> files_;
};

}  // namespace tessera::api
