#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/spec/value.hpp"

// One language for numbers, conditions and sets. From loose to tight:
//
//   A if C else B | or | and | not | == != < <= > >= (chained) | '|' | ^ | & | + - | * / // %
//   | unary - + ~ | ** | call, .attribute, [index]
//
// Names: inf, True/true, False/false and whatever the Symbols hold. Functions: abs ceil float floor
// len log log2 max min round sqrt sum; max, min and sum also take `expression for x in list [if
// condition]`. On sets | & - ^ ~ are the set operators; a set is true if it is not empty; x() is x.

namespace tessera::spec {

class Node;
class Symbols;
struct Ast;

/// A name that no scope defines. Callers that treat such a name otherwise catch this class.
class UnknownName : public UserError {
public:
    UnknownName(const Position& position, const std::string& message, std::string name)
        : UserError(position, message), name_(std::move(name)) {}
    const std::string& name() const {
        return name_;
    }

private:
    std::string name_;
};

/// A parsed expression that remembers where it was written. Cheap to copy; immutable.
class Expression {
public:
    Expression() = default;
    /// Parses a scalar. Quoted text is the literal string; a list becomes a list expression.
    /// \throws UserError for anything else and for a syntax error.
    static Expression parse(const Node& node);
    /// Parses text; quotes play no role. For fields that hold sets, whose text may be quoted.
    static Expression parse_text(const std::string& text, const Position& position,
                                 const std::string& path = "");
    static Expression constant(Value value, const Position& position = {},
                               const std::string& path = "");

    bool empty() const {
        return ast_ == nullptr;
    }
    const std::string& text() const;
    const Position& position() const;
    const std::string& path() const;
    /// Free names in order of appearance, each once; function names and generator variables left
    /// out.
    std::vector<std::string> names() const;

    /// \throws UnknownName, UserError (wrong types, division by zero, no number as result).
    Value evaluate(const Symbols& symbols) const;

    // The same, with the type demanded of the result.
    double number(const Symbols& symbols) const;
    std::int64_t integer(const Symbols& symbols) const;
    /// True/False, a number (not zero) or a set (not empty).
    bool truth(const Symbols& symbols) const;
    std::uint64_t tensors(const Symbols& symbols) const;
    std::uint64_t rank_variables(const Symbols& symbols) const;

    /// Throws UserError at this expression, naming its text.
    [[noreturn]] void fail(const std::string& what, const std::string& expected = "",
                           const std::string& remedy = "") const;

private:
    struct Source;
    std::shared_ptr<const Source> source_;
    std::shared_ptr<const Ast> ast_;
};

/// Names that are too many to enter one by one. Calls are pure.
class NameSource {
public:
    virtual ~NameSource() = default;
    virtual std::optional<Value> find(std::string_view name) const = 0;
    virtual std::vector<std::string> names() const = 0;
};

/// Names and their values, in nested scopes. A value type: a copy does not see later changes of the
/// original. Reading is thread safe once resolve_all() was called (before, reading evaluates).
class Symbols {
public:
    Symbols();

    /// An empty scope inside this one. Names set there hide those here.
    Symbols child() const;

    void set(const std::string& name, Value value);
    /// Evaluated in the scope of definition when first asked for; a cycle is an error that names
    /// it.
    void set_lazy(const std::string& name, Expression expression);
    void set_universe(std::shared_ptr<const SetUniverse> universe);
    /// Asked for the names that this scope does not hold itself, before the scopes around it.
    void set_source(std::shared_ptr<const NameSource> source);

    /// The value, or nothing if no scope defines the name.
    std::optional<Value> find(std::string_view name) const;
    bool contains(std::string_view name) const;
    /// All visible names, sorted.
    std::vector<std::string> names() const;
    /// The universe of the innermost scope that has one, or nullptr.
    const SetUniverse* universe() const;
    /// Evaluates every lazy entry visible here. One that fails keeps its error, which find()
    /// throws.
    void resolve_all() const;

private:
    struct Scope;
    explicit Symbols(std::shared_ptr<Scope> scope);
    Scope& own();
    static Value resolve(const std::shared_ptr<Scope>& scope, const std::string& name);

    std::shared_ptr<Scope> scope_;
};

}  // namespace tessera::spec
