#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "spec/ast.hpp"
#include "tessera/spec/expression.hpp"

namespace tessera::workload {

/// An integer combination of rank variables (by name) plus a constant.
struct Affine {
    std::map<std::string, std::int64_t> terms;  ///< no zero coefficients
    std::int64_t constant = 0;
};

/// Where an expression stands, for messages.
struct Place {
    Position position;
    std::string path;
};

/// Rank variables begin with a lower-case letter; all other names are variables of the spec and
/// must be integers. \throws UserError if the tree is not affine.
Affine affine_of(const spec::Ast& ast, const spec::Symbols& variables, const Place& place,
                 const std::string& text);

Affine parse_affine(const std::string& text, const spec::Symbols& variables, const Place& place);

bool is_identifier(const std::string& text);
bool is_rank_variable_name(const std::string& text);  ///< identifier beginning in lower case
bool is_rank_name(const std::string& text);           ///< identifier beginning in upper case
std::string upper_case(std::string text);

}  // namespace tessera::workload
