// Recursive descent over the grammar written in expression.hpp, one function per precedence level.

#include <limits>

#include "spec/ast.hpp"
#include "spec/lexer.hpp"

namespace tessera::spec {

namespace {

constexpr int max_depth = 200;
AstPtr make(Ast::Kind kind, std::string text, std::vector<AstPtr> children) {
    auto ast = std::make_shared<Ast>();
    ast->kind = kind;
    ast->text = std::move(text);
    ast->children = std::move(children);
    return ast;
}

AstPtr make_literal(Value value) {
    auto ast = std::make_shared<Ast>();
    ast->value = std::move(value);
    return ast;
}

class Parser {
public:
    explicit Parser(const std::string& text) : tokens_(tokenize(text)) {}

    AstPtr run() {
        AstPtr result = conditional();
        if (peek().kind != Token::Kind::end) {
            error("unexpected '" + peek().text + "'");
        }
        return result;
    }

private:
    /// Counts nesting so that hostile text cannot exhaust the stack.
    struct Depth {
        explicit Depth(Parser& parser) : depth(parser.depth_) {
            if (++depth > max_depth) {
                parser.error("the expression is nested too deeply");
            }
        }
        ~Depth() {
            --depth;
        }
        Depth(const Depth&) = delete;
        Depth& operator=(const Depth&) = delete;
        int& depth;
    };

    const Token& peek() const {
        return tokens_[at_];
    }

    [[noreturn]] void error(const std::string& message) const {
        throw SyntaxError{message, peek().offset};
    }

    bool is_symbol(std::string_view text) const {
        return peek().kind == Token::Kind::symbol && peek().text == text;
    }

    bool is_word(std::string_view text) const {
        return peek().kind == Token::Kind::name && peek().text == text;
    }

    bool accept(std::string_view text) {
        if (is_symbol(text) || is_word(text)) {
            ++at_;
            return true;
        }
        return false;
    }

    void expect(std::string_view text) {
        if (!accept(text)) {
            const std::string found =
                peek().kind == Token::Kind::end ? "the end" : "'" + peek().text + "'";
            error("expected '" + std::string(text) + "' instead of " + found);
        }
    }

    AstPtr conditional() {
        const Depth depth(*this);
        AstPtr value = logical_or();
        if (!is_word("if")) {
            return value;
        }
        // A chain is one node, however long: values for each Einsum are written so.
        std::vector<AstPtr> children;
        while (accept("if")) {
            children.insert(children.end(), {logical_or(), value});
            expect("else");
            value = logical_or();
        }
        children.push_back(value);
        return make(Ast::Kind::conditional, "", std::move(children));
    }

    AstPtr logical_or() {
        AstPtr left = logical_and();
        while (accept("or")) {
            left = make(Ast::Kind::binary, "or", {left, logical_and()});
        }
        return left;
    }

    AstPtr logical_and() {
        AstPtr left = logical_not();
        while (accept("and")) {
            left = make(Ast::Kind::binary, "and", {left, logical_not()});
        }
        return left;
    }

    AstPtr logical_not() {
        const Depth depth(*this);
        if (accept("not")) {
            return make(Ast::Kind::unary, "not", {logical_not()});
        }
        return comparison();
    }

    AstPtr comparison() {
        AstPtr first = binary(0);
        auto chain = std::make_shared<Ast>();
        chain->kind = Ast::Kind::comparison;
        chain->children = {first};
        for (;;) {
            bool found = false;
            for (const char* op : {"==", "!=", "<=", ">=", "<", ">"}) {
                if (is_symbol(op)) {
                    ++at_;
                    chain->operators.emplace_back(op);
                    chain->children.push_back(binary(0));
                    found = true;
                    break;
                }
            }
            if (!found) {
                return chain->operators.empty() ? first : chain;
            }
        }
    }

    AstPtr binary(std::size_t level) {
        static const std::vector<std::vector<const char*>> levels = {
            {"|"}, {"^"}, {"&"}, {"+", "-"}, {"*", "//", "/", "%"}};
        if (level == levels.size()) {
            return unary();
        }
        AstPtr left = binary(level + 1);
        for (;;) {
            bool found = false;
            for (const char* op : levels[level]) {
                if (accept(op)) {
                    left = make(Ast::Kind::binary, op, {left, binary(level + 1)});
                    found = true;
                    break;
                }
            }
            if (!found) {
                return left;
            }
        }
    }

    AstPtr unary() {
        const Depth depth(*this);
        for (const char* op : {"-", "+", "~"}) {
            if (accept(op)) {
                return make(Ast::Kind::unary, op, {unary()});
            }
        }
        AstPtr base = postfix();
        if (accept("**")) {
            return make(Ast::Kind::binary, "**", {base, unary()});
        }
        return base;
    }

    AstPtr postfix() {
        AstPtr value = primary();
        for (;;) {
            if (accept(".")) {
                if (peek().kind != Token::Kind::name) {
                    error("expected an attribute name after '.'");
                }
                value = make(Ast::Kind::attribute, tokens_[at_++].text, {value});
            } else if (accept("[")) {
                AstPtr index = conditional();
                expect("]");
                value = make(Ast::Kind::index, "", {value, index});
            } else if (is_symbol("(")) {
                value = call(value);
            } else {
                return value;
            }
        }
    }

    /// A function with arguments, or `x()`, which is x.
    AstPtr call(const AstPtr& callee) {
        expect("(");
        const bool function = callee->kind == Ast::Kind::name && is_function(callee->text);
        std::vector<AstPtr> arguments;
        while (!is_symbol(")")) {
            AstPtr argument = conditional();
            if (accept("for")) {
                argument = generator(argument);
            }
            arguments.push_back(argument);
            if (!accept(",")) {
                break;
            }
        }
        expect(")");
        if (function) {
            return make(Ast::Kind::call, callee->text, std::move(arguments));
        }
        if (!arguments.empty()) {
            error("'" + (callee->text.empty() ? "this" : callee->text) + "' is not a function");
        }
        return callee;
    }

    AstPtr generator(const AstPtr& expression) {
        if (peek().kind != Token::Kind::name) {
            error("expected a name after 'for'");
        }
        const std::string variable = tokens_[at_++].text;
        expect("in");
        std::vector<AstPtr> children = {expression, logical_or()};
        if (accept("if")) {
            children.push_back(logical_or());
        }
        return make(Ast::Kind::generator, variable, std::move(children));
    }

    AstPtr primary() {
        const Token& token = peek();
        if (token.kind == Token::Kind::number) {
            ++at_;
            return make_literal(token.number);
        }
        if (token.kind == Token::Kind::string) {
            ++at_;
            return make_literal(token.text);
        }
        if (token.kind == Token::Kind::name) {
            return name();
        }
        if (accept("(")) {
            AstPtr inner = conditional();
            expect(")");
            return inner;
        }
        if (accept("[")) {
            return list();
        }
        error(token.kind == Token::Kind::end ? "the expression ends too early"
                                             : "unexpected '" + token.text + "'");
    }

    AstPtr list() {
        std::vector<AstPtr> items;
        while (!is_symbol("]")) {
            AstPtr item = conditional();
            if (accept("for")) {
                item = generator(item);
                expect("]");
                return item;
            }
            items.push_back(item);
            if (!accept(",")) {
                break;
            }
        }
        expect("]");
        return make(Ast::Kind::list, "", std::move(items));
    }

    AstPtr name() {
        const std::string& text = peek().text;
        for (const char* word : {"if", "else", "and", "or", "not", "for", "in"}) {
            if (text == word) {
                error("unexpected '" + text + "'");
            }
        }
        ++at_;
        if (text == "True" || text == "true" || text == "False" || text == "false") {
            return make_literal(text == "True" || text == "true");
        }
        if (text == "inf") {
            return make_literal(std::numeric_limits<double>::infinity());
        }
        return make(Ast::Kind::name, text, {});
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

AstPtr parse_expression(const std::string& text) {
    return Parser(text).run();
}

}  // namespace tessera::spec
