#include "fuzz/hostile.hpp"

#include <algorithm>

namespace tessera::fuzz {

namespace {

const std::vector<std::string> numbers = {"0",
                                          "-1",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "0.5",
                                          "1e-9",
                                          "-0.0",
                                          "1e308",
                                          "-1e308",
                                          "1e309",
                                          "1e-320",
                                          "4.9e-324",
                                          "inf",
                                          "-inf",
                                          "nan",
                                          ".inf",
                                          ".nan",
                                          "2147483647",
                                          "2147483648",
                                          "4294967296",
                                          "9007199254740993",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "-9223372036854775808",
                                          "18446744073709551616",
                                          "1e18",
                                          "1e19",
                                          "1e30",
                                          "0x7f",
                                          "0777",
                                          "1_000",
                                          "1e",
                                          "+5",
                                          "1.2.3",
                                          "99999999999999999999999999999999999999"};

const std::vector<std::string> texts = {"",
                                        " ",
                                        "~",
                                        "null",
                                        "True",
                                        "no",
                                        "All",
                                        "Nothing",
                                        "*",
                                        "&",
                                        "-",
                                        ":",
                                        "#",
                                        "%s%n%d",
                                        "{x}",
                                        "{",
                                        "}{",
                                        "{1/0}",
                                        "$(touch x)",
                                        "../../etc/passwd",
                                        "/dev/null",
                                        ".",
                                        "..",
                                        "a b",
                                        "a,b",
                                        "a/b",
                                        "a\\b",
                                        "'",
                                        "\"",
                                        "\x1b[31mred\x1b[0m",
                                        "bell\x07",
                                        "line\nline",
                                        "carriage\rreturn",
                                        "tab\t",
                                        "\x7f",
                                        "\xff\xfe",
                                        "\xc0\xaf",
                                        "\xed\xa0\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xe2\x80\xae",
                                        "\xc2\x9b",
                                        "\xef\xbb\xbf",
                                        "\xe2\x80\xa8",
                                        "\xf0\x9f\x98\x80",
                                        "<script>",
                                        "]]>",
                                        "!!binary"};

const std::vector<std::string> binary = {"+", "-",  "*",  "/",  "//", "%",  "**",  "|",  "&",   "^",
                                         "<", "<=", "==", "!=", ">",  ">=", "and", "or", " in "};
const std::vector<std::string> functions = {"min",   "max", "ceil", "floor", "sqrt",  "log2", "exp",
                                            "round", "abs", "len",  "sum",   "float", "int",  "log",
                                            "log10", "any", "all",  "str",   "none",  "range"};

std::string repeated(const std::string& text, std::size_t count) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i) {
        result += text;
    }
    return result;
}

}  // namespace

std::string hostile_number(Random& random) {
    return one_in(random, 4) ? std::to_string(random() >> below(random, 64))
                             : pick(random, numbers);
}

std::string hostile_text(Random& random) {
    const std::size_t kind = below(random, 12);
    if (kind == 0) {
        return repeated("x", std::size_t{1} << below(random, 18));
    }
    if (kind == 1) {
        return pick(random, texts) + pick(random, texts);
    }
    return pick(random, texts);
}

std::string expression(Random& random, const std::vector<std::string>& names, int depth) {
    const auto inner = [&] { return expression(random, names, depth - 1); };
    const std::size_t kind = depth <= 0 ? below(random, 4) : below(random, 16);
    switch (kind) {
        case 0:
            return std::to_string(below(random, 100));
        case 1:
            return hostile_number(random);
        case 2:
        case 3:
            return names.empty() ? "All" : pick(random, names);
        case 4:
            return "'" + hostile_text(random) + "'";
        case 5:
        case 6:
        case 7:
            return inner() + " " + pick(random, binary) + " " + inner();
        case 8:
            return "(" + inner() + ")";
        case 9:
            return pick(random, functions) + "(" + inner() + ", " + inner() + ")";
        case 10:
            return pick(random, functions) + "(" + inner() + ")";
        case 11:
            return inner() + " if " + inner() + " else " + inner();
        case 12:
            return (one_in(random, 2) ? "~" : "not ") + inner();
        case 13:
            return "[" + inner() + " for x in " + inner() + "]";
        case 14:
            return inner() + "[" + inner() + "]";
        default:
            return inner() + "." + (names.empty() ? "tensors" : pick(random, names));
    }
}

std::string bomb(Random& random) {
    const std::size_t depth = std::size_t{16} << below(random, 12);
    const std::size_t length = std::size_t{64} << below(random, 11);
    std::string text;
    switch (below(random, 11)) {
        case 0:
            return repeated("[", depth) + repeated("]", depth);
        case 1:
            return repeated("{a: ", depth) + "1" + repeated("}", depth);
        case 2:
            return repeated("(", depth) + "1" + repeated(")", depth);
        case 3:
            return repeated("- ", depth) + "1";
        case 4:
            return "[1" + repeated(", 1", length) + "]";
        case 5:
            for (std::size_t i = 0; i < length; ++i) {
                text += (i > 0 ? ", k" : "k") + std::to_string(i) + ": 1";
            }
            return "{" + text + "}";
        case 6:  // 2^n values by aliases
            text = "[&b0 [1, 1]";
            for (std::size_t i = 1; i < 8 + below(random, 40); ++i) {
                const std::string before = "*b" + std::to_string(i - 1);
                text += ", &b" + std::to_string(i) + " [" + before + ", " + before + "]";
            }
            return text + "]";
        case 7:  // every anchor keeps what is below it
            for (std::size_t i = 0; i < std::min<std::size_t>(depth, 400); ++i) {
                text += "[&c" + std::to_string(i) + " ";
            }
            return text + "[1" + repeated(", 1", length) + "]" +
                   repeated("]", std::min<std::size_t>(depth, 400));
        case 8:  // every value below has the key in its path
            return "{" + repeated("k", length) + ": [1" + repeated(", 1", length) + "]}";
        case 9:  // names that stand for names
            for (std::size_t i = 0; i < depth; ++i) {
                text += "V" + std::to_string(i) + ": V" + std::to_string(i + 1) + " + V" +
                        std::to_string(i + 1) + ", ";
            }
            return "{" + text + "V" + std::to_string(depth) + ": " +
                   (one_in(random, 2) ? "1" : "\"'x'\"") + "}";
        default:
            return "1" + repeated(pick(random, binary) + "1", length);
    }
}

}  // namespace tessera::fuzz
