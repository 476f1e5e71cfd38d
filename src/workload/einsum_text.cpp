#include "workload/einsum_text.hpp"

#include <algorithm>
#include <cctype>

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

    std::vector<AccessText> run() const {
        const std::size_t equals = text_.find('=');
        if (equals == std::string::npos || text_.find('=', equals + 1) != std::string::npos) {
            error("an Einsum needs exactly one '='");
        }
        std::vector<AccessText> outputs = accesses(0, equals);
        std::vector<AccessText> inputs = accesses(equals + 1, text_.size());
        if (outputs.size() != 1) {
            error("exactly one tensor stands left of the '='");
        }
        if (inputs.empty()) {
            error("no tensor stands right of the '='");
        }
        outputs[0].output = true;
        for (AccessText& input : inputs) {
            add_input(outputs, std::move(input));
        }
        return outputs;
    }

private:
    [[noreturn]] void error(const std::string& what) const {
        spec::fail(place_.position, place_.path,
                   {what, text_, "e.g. Z[m, n] = A[m, k] * W[k, n]", ""});
    }

    /// A tensor that is multiplied by itself is read once.
    void add_input(std::vector<AccessText>& found, AccessText input) const {
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
            return;
        }
        found.push_back(std::move(input));
    }

    std::vector<AccessText> accesses(std::size_t begin, std::size_t end) const {
        std::vector<AccessText> result;
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
            at = close;
        }
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

std::vector<AccessText> split_einsum_text(const std::string& text, const Place& place,
                                          bool several_states) {
    return Splitter(text, place, several_states).run();
}

}  // namespace tessera::workload
