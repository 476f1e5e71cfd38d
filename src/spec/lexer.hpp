#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::spec {

struct Token {
    enum class Kind { number, name, string, symbol, end };
    Kind kind = Kind::end;
    std::string text;
    double number = 0;
    std::size_t offset = 0;
};

/// Splits an expression; the last token is `end`. \throws SyntaxError
std::vector<Token> tokenize(const std::string& text);

}  // namespace tessera::spec
