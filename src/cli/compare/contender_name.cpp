#include "contender_name.hpp"

#include <sstream>

#include "api/search.hpp"
#include "base/printable.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

[[noreturn]] void refuse(const std::string& text) {
    throw UserError("--mapper: '" + base::one_line(text) +
                    "' is not understood (expected NAME or NAME[KNOB=VALUE;KNOB=VALUE], for "
                    "example mcts[variant=tileseek])");
}

}  // namespace

ContenderName contender_name(const std::string& text) {
    ContenderName result{text, text, {}};
    const std::size_t open = text.find('[');
    if (open == std::string::npos) {
        return result;
    }
    if (open == 0 || text.back() != ']') {
        refuse(text);
    }
    result.mapper = text.substr(0, open);
    const api::MapperChoice choice = api::choose_mapper(result.mapper);
    const std::string component = choice.strategy.empty() ? choice.mapper : choice.strategy;
    std::istringstream knobs(text.substr(open + 1, text.size() - open - 2));
    for (std::string knob; std::getline(knobs, knob, ';');) {
        const std::size_t equals = knob.find('=');
        if (equals == std::string::npos || equals == 0) {
            refuse(text);
        }
        const bool named = knob.find('.') < equals;
        result.knobs.push_back(named ? knob : component + "." + knob);
    }
    if (result.knobs.empty()) {
        refuse(text);
    }
    return result;
}

std::vector<std::string> split_names(const std::string& list) {
    std::vector<std::string> names(1);
    int depth = 0;
    for (const char c : list) {
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c == ',' && depth == 0) {
            names.emplace_back();
        } else {
            names.back() += c;
        }
    }
    return names;
}

}  // namespace tessera::cli
