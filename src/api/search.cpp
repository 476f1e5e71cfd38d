#include "api/search.hpp"

#include <algorithm>
#include <cmath>

#include "base/printable.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/loader.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::api {

namespace {

using Mappers = plugin::Registry<mapper::Mapper>;
using Strategies = plugin::Registry<search::SearchStrategy>;

[[noreturn]] void unknown(const std::string& what, const std::string& name,
                          const std::vector<std::string>& names, const std::string& more) {
    const std::string near = spec::did_you_mean(name, names);
    throw UserError("unknown " + what + " '" + base::one_line(name) + "'" +
                    (near.empty() ? "" : "; " + near) + " (there are: " + spec::name_list(names) +
                    ")" + plugin::why_absent(name) + more);
}

template <class Role>
void add_names(std::vector<std::string>& names) {
    for (const plugin::Entry<Role>& entry : plugin::Registry<Role>::instance().entries()) {
        names.push_back(entry.name);
    }
}

}  // namespace

void check_strategy(const std::string& name, const std::string& more) {
    plugin::load_optional(name);
    if (Strategies::instance().find(name) == nullptr) {
        std::vector<std::string> names;
        add_names<search::SearchStrategy>(names);
        unknown("search strategy", name, names, more);
    }
}

void check_model(const std::string& name, const std::string& more) {
    if (plugin::Registry<model::CostModel>::instance().find(name) == nullptr) {
        std::vector<std::string> names;
        add_names<model::CostModel>(names);
        unknown("cost model", name, names, more);
    }
}

const char* metric_name(mapper::Metric metric) noexcept {
    return mapper::facts(metric).name;
}

MapperChoice choose_mapper(const std::string& name, const std::string& more) {
    const std::string prefix = std::string(strategy_runner) + ":";
    if (name.rfind(prefix, 0) == 0) {
        const std::string strategy = name.substr(prefix.size());
        check_strategy(strategy, more);
        return {strategy_runner, strategy};
    }
    plugin::load_optional(name);
    if (Mappers::instance().find(name) != nullptr) {
        return {name, ""};
    }
    if (Strategies::instance().find(name) != nullptr) {
        return {strategy_runner, name};
    }
    if (const std::string now = "transfusion:" + name; Mappers::instance().find(now) != nullptr) {
        throw UserError("mapper '" + name + "' is a baseline of a paper, and is called '" + now +
                        "'; give that name" +
                        (name == "unfused" ? ", or --unfused for the best unfused mapping" : ""));
    }
    std::vector<std::string> names;
    add_names<mapper::Mapper>(names);
    add_names<search::SearchStrategy>(names);
    unknown("mapper", name, names, more);
}

std::string one_text(const std::vector<std::string>& reasons) {
    std::string text;
    for (const std::string& reason : reasons) {
        const std::size_t begin = reason.find_first_not_of(' ');
        if (begin != std::string::npos) {
            text += (text.empty() ? "" : text.back() == ':' ? " " : "; ") + reason.substr(begin);
        }
    }
    return text;
}

std::optional<double> gap(const mapper::Result& result,
                          const std::vector<mapper::Metric>& metrics) {
    if (result.status == mapper::Status::optimal) {
        return 0.0;
    }
    if (metrics.size() != 1 || !result.bound || result.solutions.empty()) {
        return std::nullopt;
    }
    const double best = mapper::metric_value(metrics.front(), result.solutions.front().report);
    const double share = best > 0 ? (best - *result.bound) / best : 0;
    return std::isfinite(share) ? std::optional(std::max(share, 0.0)) : std::nullopt;
}

}  // namespace tessera::api
