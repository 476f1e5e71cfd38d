#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/spec/value.hpp"

namespace tessera::spec {

/// A node of the syntax tree. `text` is the name or operator, `children` the operands.
struct Ast {
    enum class Kind {
        literal,      ///< value
        name,         ///< text
        unary,        ///< text: - + ~ not
        binary,       ///< text: + - * / // % ** | & ^ and or
        comparison,   ///< operators between children (chained)
        conditional,  ///< children: condition and value, again and again, the last value
        call,         ///< text: function; children: arguments
        generator,    ///< text: variable; children: expression, list, optionally condition
        attribute,    ///< text: attribute of children[0]
        index,        ///< children: object, index
        list,         ///< children: items
    };

    Kind kind = Kind::literal;
    std::string text;
    Value value;
    std::vector<std::string> operators;
    std::vector<std::shared_ptr<const Ast>> children;
};

using AstPtr = std::shared_ptr<const Ast>;

/// What the parser could not read: a message and the byte where.
struct SyntaxError {
    std::string message;
    std::size_t offset;
};

/// \throws SyntaxError
AstPtr parse_expression(const std::string& text);

/// True for names that can be called with arguments.
bool is_function(const std::string& name);

/// What evaluation could not do; Expression turns it into a UserError with a position.
struct EvaluationError {
    std::string message;
    std::string remedy;
    std::string unknown_name;  ///< not empty: the name that no scope defines
};

class Symbols;
/// \throws EvaluationError
Value evaluate_ast(const Ast& ast, const Symbols& symbols);

/// Binary arithmetic on numbers and formulas. \throws EvaluationError
Value arithmetic(const std::string& op, const Value& a, const Value& b);
/// Calls one of the functions of the language. \throws EvaluationError
Value call_function(const std::string& name, const std::vector<Value>& arguments);
bool truth_of(const Value& value);

}  // namespace tessera::spec
