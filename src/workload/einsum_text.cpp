#include "workload/einsum_text.hpp"

#include <algorithm>
#include <cctype>

#include "tessera/spec/node.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::workload {

namespace {

bool name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

std::string trim(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\n");
    return first == std::string::npos
               ? ""
               : text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

class Splitter {
public:
    Splitter(const std::string& text, const Place& place, bool several_states)
        : text_(text), place_(place), several_states_(several_states) {}

    EinsumText run() const {
        const std::size_t equals = text_.find('=');
        if (equals == std::string::npos || text_.find('=', equals + 1) != std::string::npos) {
            error("an Einsum needs exactly one '='");
        }
        EinsumText result;
        std::vector<std::string> beside, between;
        result.accesses = accesses(0, equals, beside);
        std::vector<AccessText> inputs = accesses(equals + 1, text_.size(), between);
        if (result.accesses.size() != 1) {
            error("exactly one tensor stands left of the '='");
        }
        if (inputs.empty()) {
            error("no tensor stands right of the '='");
        }
        result.left_over = trim(beside[0] + beside[1]);
        result.accesses[0].output = true;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            add_text(result.equation, between[i]);
            const int access = add_input(result.accesses, std::move(inputs[i]));
            result.equation.parts.push_back({"", access});
        }
        add_text(result.equation, between.back());
        tidy(result.equation);
        return result;
    }

private:
    [[noreturn]] void error(const std::string& what) const {
        spec::fail(place_.position, place_.path,
                   {what, text_, "e.g. Z[m, n] = A[m, k] * W[k, n]", ""});
    }

    /// Line ends and tabs of a folded text are blanks.
    static void add_text(Equation& equation, const std::string& text) {
        EquationPart part;
        for (const char c : text) {
            const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
            if (!blank || part.text.empty() || part.text.back() != ' ') {
                part.text += blank ? ' ' : c;
            }
        }
        if (!part.text.empty()) {
            equation.parts.push_back(std::move(part));
        }
    }

    /// Without blanks at its ends.
    static void tidy(Equation& equation) {
        std::vector<EquationPart>& parts = equation.parts;
        std::string& first = parts.front().text;
        std::string& last = parts.back().text;
        first.erase(0, first.find(' ') == 0 ? 1 : 0);
        if (!last.empty() && last.back() == ' ') {
            last.pop_back();
        }
        std::erase_if(
            parts, [](const EquationPart& part) { return part.access < 0 && part.text.empty(); });
    }

    /// A tensor that is multiplied by itself is read once. \returns its index
    int add_input(std::vector<AccessText>& found, AccessText input) const {
        for (const AccessText& other : found) {
            if (other.tensor != input.tensor) {
                continue;
            }
            const bool same =
                !other.output && other.ranks.size() == input.ranks.size() &&
                std::is_permutation(other.ranks.begin(), other.ranks.end(), input.ranks.begin(),
                                    [](const auto& a, const auto& b) {
                                        return a.rank == b.rank && a.expression == b.expression;
                                    });
            if (!same && several_states_) {
                continue;
            }
            if (!same) {
                error("tensor '" + input.tensor + "' occurs twice with different roles or indices");
            }
            return static_cast<int>(&other - found.data());
        }
        found.push_back(std::move(input));
        return static_cast<int>(found.size()) - 1;
    }

    /// `between`: the text before each of them, and that after the last.
    std::vector<AccessText> accesses(std::size_t begin, std::size_t end,
                                     std::vector<std::string>& between) const {
        std::vector<AccessText> result;
        std::size_t last = begin;
        for (std::size_t at = begin; at < end; ++at) {
            if (text_[at] != '[') {
                continue;
            }
            std::size_t name_end = at;
            while (name_end > begin && text_[name_end - 1] == ' ') {
                --name_end;
            }
            std::size_t name_begin = name_end;
            while (name_begin > begin && name_char(text_[name_begin - 1])) {
                --name_begin;
            }
            const std::size_t close = text_.find(']', at);
            if (close == std::string::npos || close >= end) {
                error("a '[' is not closed");
            }
            AccessText access;
            access.tensor = text_.substr(name_begin, name_end - name_begin);
            if (!is_identifier(access.tensor)) {
                error("a '[' needs the name of a tensor before it");
            }
            access.ranks = ranks(text_.substr(at + 1, close - at - 1));
            result.push_back(std::move(access));
            between.push_back(text_.substr(last, name_begin - last));
            at = close;
            last = close + 1;
        }
        between.push_back(text_.substr(last, end - last));
        return result;
    }

    std::vector<RankText> ranks(const std::string& inside) const {
        std::vector<RankText> result;
        if (trim(inside).empty()) {
            return result;
        }
        std::size_t begin = 0;
        while (begin <= inside.size()) {
            const std::size_t end = std::min(inside.find(',', begin), inside.size());
            const std::string item = inside.substr(begin, end - begin);
            const std::size_t colon = item.find(':');
            RankText rank;
            if (colon != std::string::npos) {
                rank = {trim(item.substr(0, colon)), trim(item.substr(colon + 1))};
            } else {
                rank.expression = trim(item);
                if (!is_rank_variable_name(rank.expression)) {
                    error("'" + rank.expression +
                          "' is no rank variable (lower case); an "
                          "expression needs its rank, as in P: p + r");
                }
                rank.rank = upper_case(rank.expression);
            }
            result.push_back(std::move(rank));
            begin = end + 1;
        }
        return result;
    }

    const std::string& text_;
    const Place& place_;
    bool several_states_ = false;
};

}  // namespace

EinsumText split_einsum_text(const std::string& text, const Place& place, bool several_states) {
    return Splitter(text, place, several_states).run();
}

}  // namespace tessera::workload
