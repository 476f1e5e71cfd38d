#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What an expression can evaluate to.

namespace tessera::spec {

/// A set of tensors of one Einsum; bit i is SetUniverse::tensors[i].
struct TensorSet {
    std::uint64_t mask = 0;
    bool operator==(const TensorSet&) const = default;
};

/// A set of rank variables of one Einsum; bit v is SetUniverse::rank_variables[v].
struct RankVariableSet {
    std::uint64_t mask = 0;
    bool operator==(const RankVariableSet&) const = default;
};

/// The universe that `~` complements in and the facts behind set attributes. One per Einsum, at
/// most 64 tensors and 64 rank variables.
struct SetUniverse {
    std::vector<std::string> tensors;
    std::vector<std::string> rank_variables;
    std::vector<std::uint64_t>
        rank_variables_of;               ///< per tensor, mask of the variables indexing it
    std::vector<double> bits_per_value;  ///< per tensor; may be empty (not known yet)

    std::uint64_t all_tensors() const;
    std::uint64_t all_rank_variables() const;
};

/// An arithmetic expression over quantities that are not known yet (action counts), in postfix.
/// Leaves are numbered by whoever put them into the symbols.
struct Formula {
    enum class Op : std::uint8_t { constant, leaf, add, sub, mul, div, max, min, ceil, floor };
    struct Step {
        Op op = Op::constant;
        double value = 0;  ///< constant
        int leaf = 0;      ///< leaf
    };
    std::vector<Step> steps;

    static Formula constant(double value);
    static Formula leaf(int index);
};

class Value;
class Object;
using List = std::shared_ptr<const std::vector<Value>>;
using ObjectPtr = std::shared_ptr<const Object>;

/// Numbers are doubles throughout (integers are exact up to 2^53).
class Value {
public:
    using Variant = std::variant<double, bool, std::string, TensorSet, RankVariableSet, List,
                                 ObjectPtr, Formula>;

    Value() : data_(0.0) {}
    Value(double value) : data_(value) {}
    Value(bool value) : data_(value) {}
    Value(const char* value) : data_(std::string(value)) {}
    Value(std::string value) : data_(std::move(value)) {}
    Value(TensorSet value) : data_(value) {}
    Value(RankVariableSet value) : data_(value) {}
    Value(List value) : data_(std::move(value)) {}
    Value(ObjectPtr value) : data_(std::move(value)) {}
    Value(Formula value) : data_(std::move(value)) {}
    static Value list(std::vector<Value> items);
    // Out of line: the variant's code is large, and g++ 12 warns wrongly when it is inlined.
    Value(const Value& other);
    Value(Value&& other) noexcept;
    Value& operator=(const Value& other);
    Value& operator=(Value&& other) noexcept;
    ~Value();

    template <class T>
    bool is() const {
        return std::holds_alternative<T>(data_);
    }
    template <class T>
    const T& as() const {
        return std::get<T>(data_);
    }
    const Variant& data() const {
        return data_;
    }

    /// "a number", "a set of tensors", ... for messages.
    std::string type_name() const;
    /// The value itself for messages; sets are written with the names of `universe` if given.
    std::string text(const SetUniverse* universe = nullptr) const;

private:
    Variant data_;
};

/// Something with attributes: a component, an action, the list of a component's actions.
/// Implementations are immutable.
class Object {
public:
    virtual ~Object() = default;
    virtual std::string type_name() const = 0;
    /// Names that attribute() knows, for messages.
    virtual std::vector<std::string> attributes() const = 0;
    /// The attribute, or nullptr when there is none of that name.
    /// May throw UserError when the attribute is an expression that does not evaluate.
    virtual std::unique_ptr<Value> attribute(std::string_view name) const = 0;
    /// What `for x in object` visits and `object["name"]` or `object[0]` selects from.
    virtual std::vector<Value> elements() const {
        return {};
    }
};

/// "123", "0.1", "inf": the shortest text that reads back as the same number.
std::string number_text(double value);

}  // namespace tessera::spec
