// Operations from the text of an Einsum.
//
//   sum      : product { (+ | -) product }
//   product  : power { (* | /) power }
//   power    : operand [ (** | ^) power ]
//   operand  : - operand | number | name | input | function(sum, ...) | (sum)
//
// Each operator is an operation at every point. A product that is added to something is a mac. What
// a sum over the reduced variables adds is an operation, too, unless it adds up products: products
// alone say nothing, as every compute does them.

#include <algorithm>
#include <cctype>
#include <map>

#include "tessera/spec/position.hpp"
#include "workload/einsum_text.hpp"

namespace tessera::workload {

namespace {

struct Token {
    enum class Kind { input, number, name, symbol, end };
    Kind kind = Kind::end;
    std::string text;
};

std::string shown(const Token& token) {
    const bool plain = token.kind == Token::Kind::input || token.kind == Token::Kind::end;
    return plain ? token.text : "'" + token.text + "'";
}

bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The end of the number or name that begins at `at`.
std::size_t word_end(const std::string& text, std::size_t at) {
    std::size_t end = at + 1;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]) || text[end] == '.' ||
                                 ((text[end] == '-' || text[end] == '+') && is_digit(text[at]) &&
                                  (text[end - 1] == 'e' || text[end - 1] == 'E')))) {
        ++end;
    }
    return end;
}

void add_tokens(const std::string& text, std::vector<Token>& tokens) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at + 1;
        if (is_letter(text[at]) || is_digit(text[at]) || text[at] == '.') {
            end = word_end(text, at);
            tokens.push_back({is_letter(text[at]) ? Token::Kind::name : Token::Kind::number,
                              text.substr(at, end - at)});
        } else if (text.compare(at, 2, "**") == 0) {
            end = at + 2;
            tokens.push_back({Token::Kind::symbol, "^"});
        } else if (text[at] != ' ') {
            tokens.push_back({Token::Kind::symbol, text.substr(at, 1)});
        }
        at = end;
    }
}

/// Functions by name, beside the kinds of operations themselves.
const std::map<std::string, std::string>& other_names() {
    static const std::map<std::string, std::string> names = {
        {"sum", "add"},     {"relu", "max"},     {"pow", "power"},    {"neg", "negate"},
        {"div", "divide"},  {"mul", "multiply"}, {"sub", "subtract"}, {"inv", "reciprocal"},
        {"maximum", "max"}, {"minimum", "min"}};
    return names;
}

/// "" if unknown.
std::string kind_of(const std::string& function) {
    const auto other = other_names().find(function);
    if (other != other_names().end()) {
        return other->second;
    }
    for (const std::string& kind : operation_kinds()) {
        if (kind == function) {
            return kind;
        }
    }
    return "";
}

std::string nearest_function(const std::string& name) {
    std::vector<std::string> known = operation_kinds();
    for (const auto& [other, kind] : other_names()) {
        known.push_back(other);
    }
    return spec::did_you_mean(name, known);
}

struct Doubt {
    std::string what, remedy;
};

/// A value on the way.
struct Term {
    bool constant = true;  ///< without inputs: done once, not at every point
    bool product = false;
    bool reduced = false;       ///< there is one for many points
    std::string extremum = {};  ///< "max" or "min" of several values
};

class Parser {
public:
    Parser(const Equation& equation, bool reduces) : reduces_(reduces) {
        for (const EquationPart& part : equation.parts) {
            if (part.access >= 0) {
                tokens_.push_back({Token::Kind::input, "an input"});
            } else {
                add_tokens(part.text, tokens_);
            }
        }
        tokens_.push_back({Token::Kind::end, "the end"});
    }

    std::vector<OperationCount> run() {
        const Term whole = sum();
        if (now().kind != Token::Kind::end) {
            throw Doubt{shown(now()) + " is not expected here", ""};
        }
        if (reduces_ && !whole.reduced && says_) {
            count(whole.extremum.empty() ? "add" : whole.extremum, {whole});
        }
        std::vector<OperationCount> result;
        for (const auto& [kind, number] : counts_) {
            if (says_ && number > 0) {
                result.push_back({kind, number});
            }
        }
        return result;
    }

private:
    const Token& now() const {
        return tokens_[at_];
    }

    bool take(const char* symbol) {
        const bool found = now().kind == Token::Kind::symbol && now().text == symbol;
        at_ += found ? 1 : 0;
        return found;
    }

    /// An operation on these values; \returns whether it is done at every point. Products count as
    /// macs where they are added.
    bool count(const std::string& kind, const std::vector<Term>& on, double number = 1) {
        const auto is = [&](bool Term::*what) {
            return std::any_of(on.begin(), on.end(), [&](const Term& t) { return t.*what; });
        };
        if (std::all_of(on.begin(), on.end(), [](const Term& t) { return t.constant; })) {
            return false;
        }
        if (is(&Term::reduced)) {
            throw Doubt{"what is done after a reduction is not done at every point",
                        "make an Einsum of its own of it"};
        }
        says_ = says_ || kind != "multiply";
        const double macs = kind == "add" && is(&Term::product) ? 1 : 0;
        counts_["multiply"] -= macs;
        counts_["mac"] += macs;
        counts_[kind] += number - macs;
        return true;
    }

    Term sum() {
        const Nest nest(*this);
        Term left = product();
        for (;;) {
            const bool plus = take("+");
            if (!plus && !take("-")) {
                return left;
            }
            left = {!count(plus ? "add" : "subtract", {left, product()})};
        }
    }

    Term product() {
        Term left = power();
        for (;;) {
            const bool times = take("*");
            if (!times && !take("/")) {
                return left;
            }
            const bool counts = count(times ? "multiply" : "divide", {left, power()});
            left = {!counts, counts && times};
        }
    }

    Term power() {
        const Term base = operand();
        if (!take("^")) {
            return base;
        }
        const Nest nest(*this);
        return {!count("power", {base, power()})};
    }

    Term operand() {
        const Nest nest(*this);
        if (take("-")) {
            return {!count("negate", {operand()})};
        }
        if (take("(")) {
            const Term inner = sum();
            close();
            return inner;
        }
        const Token token = now();
        ++at_;
        switch (token.kind) {
            case Token::Kind::input:
                return {false};
            case Token::Kind::number:
                return {};
            case Token::Kind::name:
                return take("(") ? function(token.text) : Term{};
            default:
                throw Doubt{"an operand is missing before " + shown(token), ""};
        }
    }

    void close() {
        if (!take(")")) {
            throw Doubt{"')' is missing before " + shown(now()), ""};
        }
    }

    Term function(const std::string& name) {
        std::vector<Term> arguments = {sum()};
        while (take(",")) {
            arguments.push_back(sum());
        }
        close();
        const std::string kind = kind_of(name);
        if (kind.empty()) {
            throw Doubt{"the function '" + name + "' is unknown", nearest_function(name)};
        }
        const bool extremum = (kind == "max" || kind == "min") && name != "relu";
        if (arguments.size() == 1 && (extremum || name == "sum")) {
            return reduction(kind, arguments.front());
        }
        const bool several = extremum || kind == "add" || kind == "multiply";
        const double number =
            several && arguments.size() > 1 ? static_cast<double>(arguments.size() - 1) : 1;
        const bool counts = count(kind, arguments, number);
        says_ = says_ || counts;
        return {!counts, false, false, extremum ? kind : ""};
    }

    /// Over the variables that index no output: of one value nothing is done.
    Term reduction(const std::string& kind, Term value) {
        if (!reduces_ || value.constant) {
            return value;
        }
        const bool products_alone = kind == "add" && value.product && !says_;
        count(kind, {value});
        says_ = says_ && !products_alone;
        value = {false, false, true};
        return value;
    }

    /// Brackets in brackets: a text of a million of them must not end the program.
    class Nest {
    public:
        explicit Nest(Parser& parser) : parser_(parser) {
            if (++parser_.depth_ > 200) {
                throw Doubt{"it is nested too deeply", ""};
            }
        }
        ~Nest() {
            --parser_.depth_;
        }
        Nest(const Nest&) = delete;

    private:
        Parser& parser_;
    };

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int depth_ = 0;
    std::map<std::string, double> counts_;
    bool reduces_ = false;
    bool says_ = false;  ///< anything but products
};

}  // namespace

DerivedOperations derive_operations(const Equation& equation, bool reduces) {
    if (equation.parts.empty()) {
        return {};
    }
    try {
        return {Parser(equation, reduces).run(), "", ""};
    } catch (const Doubt& doubt) {
        return {{}, doubt.what, doubt.remedy};
    }
}

}  // namespace tessera::workload
