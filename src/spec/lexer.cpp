#include "spec/lexer.hpp"

#include <cctype>
#include <charconv>

#include "spec/ast.hpp"

namespace tessera::spec {

namespace {

// Chains of operators make left-deep trees without nesting; this bounds their depth.
constexpr std::size_t max_tokens = 10'000;

bool name_start(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

bool digit(char c) {
    return c >= '0' && c <= '9';
}

class Lexer {
public:
    explicit Lexer(const std::string& text) : text_(text) {}

    std::vector<Token> run() {
        std::vector<Token> tokens;
        for (;;) {
            while (at_ < text_.size() &&
                   std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
                ++at_;
            }
            if (tokens.size() > max_tokens) {
                throw SyntaxError{"the expression is too long", at_};
            }
            tokens.push_back(next());
            if (tokens.back().kind == Token::Kind::end) {
                return tokens;
            }
        }
    }

private:
    Token next() {
        Token token;
        token.offset = at_;
        if (at_ == text_.size()) {
            return token;
        }
        const char c = text_[at_];
        if (digit(c) || (c == '.' && at_ + 1 < text_.size() && digit(text_[at_ + 1]))) {
            read_number(token);
        } else if (name_start(c)) {
            token.kind = Token::Kind::name;
            while (at_ < text_.size() && (name_start(text_[at_]) || digit(text_[at_]))) {
                token.text += text_[at_++];
            }
        } else if (c == '"' || c == '\'') {
            read_string(token, c);
        } else {
            read_symbol(token);
        }
        return token;
    }

    void read_number(Token& token) {
        token.kind = Token::Kind::number;
        const char* begin = text_.data() + at_;
        const char* end = text_.data() + text_.size();
        const auto [stop, error] = std::from_chars(begin, end, token.number);
        if (error == std::errc::result_out_of_range) {
            throw SyntaxError{"a number is too large or too small", at_};
        }
        token.text.assign(begin, stop);
        at_ += static_cast<std::size_t>(stop - begin);
        if (at_ < text_.size() && (name_start(text_[at_]) || digit(text_[at_]))) {
            throw SyntaxError{"a number runs into a name", token.offset};
        }
    }

    void read_string(Token& token, char quote) {
        token.kind = Token::Kind::string;
        for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
            token.text += text_[at_];
        }
        if (at_ == text_.size()) {
            throw SyntaxError{"a quote is not closed", token.offset};
        }
        ++at_;
    }

    void read_symbol(Token& token) {
        token.kind = Token::Kind::symbol;
        static const char* const doubled[] = {"**", "//", "==", "!=", "<=", ">="};
        for (const char* symbol : doubled) {
            if (text_.compare(at_, 2, symbol) == 0) {
                token.text = symbol;
                at_ += 2;
                return;
            }
        }
        static const std::string single = "+-*/%<>|&^~()[],.";
        if (single.find(text_[at_]) == std::string::npos) {
            throw SyntaxError{std::string("'") + text_[at_] + "' has no meaning here", at_};
        }
        token.text = text_[at_++];
    }

    const std::string& text_;
    std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokenize(const std::string& text) {
    return Lexer(text).run();
}

}  // namespace tessera::spec
