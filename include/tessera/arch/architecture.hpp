// The architecture as written: an ordered hierarchy of memory, toll, compute, container and network
// nodes with forks and arrays. Fields stay expressions until a Path is built for an Einsum.
// Immutable after loading; safe to read from any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tessera/arch/convention.hpp"
#include "tessera/arch/path.hpp"

namespace tessera::spec {
class Node;
}  // namespace tessera::spec

namespace tessera::arch {

class Architecture {
public:
    /// Reads the `arch` section (and `variables`). Structure, keys and types are checked here.
    /// `name` counts if the section has none. \throws UserError with file:line:column
    Architecture(spec::Node root, std::map<std::string, std::string> defines,
                 const std::string& name = "");

    const std::string& name() const {
        return name_;
    }
    bool arbitrary_units() const {
        return arbitrary_units_;
    }  ///< `units: arbitrary`
    /// Names of all components (memories, tolls, computes, networks), file order.
    const std::vector<std::string>& component_names() const {
        return component_names_;
    }
    /// Names of all levels that a Path can have: the components and the containers, file order.
    const std::vector<std::string>& level_names() const {
        return level_names_;
    }
    const std::vector<std::string>& compute_names() const {
        return compute_names_;
    }
    /// Whether a memory has `on_overflow: bypass`.
    bool bypasses_on_overflow() const {
        return bypasses_on_overflow_;
    }
    /// Memory capacity in bits by name as evaluated for an Einsum is in the Path.

    /// Flattens the path to `compute` for one Einsum and evaluates every field.
    /// The result's last level tells by `enabled` whether the compute may run the Einsum.
    /// \throws UserError for a field that does not evaluate.
    Path path(const workload::Workload& workload, int einsum, const std::string& compute,
              Compat compat) const;

    /// Evaluates what no Einsum has to be known for. \throws UserError for what path() would refuse
    /// whatever the workload is
    void check_values() const;

    struct Impl;

private:
    std::string name_;
    bool arbitrary_units_ = false, bypasses_on_overflow_ = false;
    std::vector<std::string> component_names_, level_names_, compute_names_;
    std::shared_ptr<const Impl> impl_;
};

/// `name_or_path`: a file, or a name found in arch-specs/.
Architecture load_architecture(const std::string& name_or_path,
                               const std::map<std::string, std::string>& defines);

}  // namespace tessera::arch
