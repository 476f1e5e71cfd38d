#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/tree.hpp"

namespace tessera::arch {

/// Numbers of one action with the component's scales applied.
struct ActionValues {
    std::string name;
    double energy_j = 0;
    double throughput_per_s = 0;
    double latency_s = 0;
    double bits_per_action = 1;
    const ActionSpec* spec = nullptr;  ///< null: a Dummy that does not list the action
};

/// Evaluates the fields of the components of one tree for one Einsum. Fields may refer to
/// variables, to sets of the Einsum, to other components (`GlobalBuffer.size`) and to fields of
/// their own component by name.
class ComponentValues {
public:
    /// `symbols` holds everything but the components. Keeps references to the tree.
    ComponentValues(const std::vector<TreeNode>& tree, const spec::Symbols& symbols);
    ~ComponentValues();
    ComponentValues(const ComponentValues&) = delete;
    ComponentValues& operator=(const ComponentValues&) = delete;

    /// The symbols a field of the component sees.
    const spec::Symbols& scope(const ComponentSpec& component) const;
    /// A numeric field, its default if absent. \throws UserError
    double number(const ComponentSpec& component, const std::string& key) const;
    double throughput_scale(const ComponentSpec& component) const;
    /// Whether every number without a default is given. \throws UserError
    void check_given(const ComponentSpec& component) const;
    /// All actions of the kind, in the order of action_names(). \throws UserError
    std::vector<ActionValues> actions(const ComponentSpec& component) const;
    /// Of a memory: bits of one of its banks, whole ones, so that sums of banks are exact; 0: it has
    /// none. \throws UserError
    double bank_bits(const ComponentSpec& component) const;
    /// Leak of one instance with its scales.
    double leak_power_w(const ComponentSpec& component) const;

    /// The components as symbols with values only: nothing in them refers back to this object.
    /// Attributes that do not evaluate for this Einsum are left out.
    void add_frozen(spec::Symbols& symbols) const;

private:
    class Live;

    std::vector<const ComponentSpec*> components_;
    spec::Symbols base_;
    std::map<std::string, spec::Symbols> scopes_;
    /// Fields evaluated so far; one that is still running when asked for again is a cycle.
    struct Memo {
        bool running = false;
        std::optional<double> value;
    };
    mutable std::map<const spec::Expression*, Memo> memo_;
};

/// Makes `action` of a compute one point of an Einsum with these operations. Returns an operation
/// that the compute does not have, else "". \throws UserError
std::string charge_operations(const ComponentValues& values, const ComponentSpec& component,
                              const std::vector<workload::OperationCount>& operations,
                              ActionValues& action);

/// An object whose attributes are values.
class ValueObject final : public spec::Object {
public:
    ValueObject(std::string type, std::vector<std::pair<std::string, spec::Value>> attributes)
        : type_(std::move(type)), attributes_(std::move(attributes)) {}
    std::string type_name() const override {
        return type_;
    }
    std::vector<std::string> attributes() const override;
    std::unique_ptr<spec::Value> attribute(std::string_view name) const override;

private:
    std::string type_;
    std::vector<std::pair<std::string, spec::Value>> attributes_;
};

/// `total_latency` (or the default of the kind) as a program over the counts of `actions`.
/// \throws UserError
LatencyProgram compile_latency(const ComponentSpec& component,
                               const std::vector<ActionValues>& actions,
                               const spec::Symbols& scope);

}  // namespace tessera::arch
