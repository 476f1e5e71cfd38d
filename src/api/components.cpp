#include <algorithm>

#include "api/search.hpp"
#include "tessera/session.hpp"

namespace tessera {

namespace {

using Strategies = plugin::Registry<search::SearchStrategy>;

}  // namespace

plugin::KnobSettings Components::knobs_of(const std::string& component) const {
    const auto found = knobs.find(component);
    return found == knobs.end() ? plugin::KnobSettings{} : found->second;
}

plugin::Owned<model::CostModel> Components::make_model() const {
    plugin::register_builtins();
    api::check_model(model);
    // Each role has names of its own; where one name has both, knobs mean the mapper.
    return plugin::Registry<model::CostModel>::instance().create(
        model, model == mapper || model == strategy ? plugin::KnobSettings{} : knobs_of(model));
}

plugin::Owned<mapper::Mapper> Components::make_mapper() const {
    if (!strategy.empty()) {
        // The mapper makes its strategy only after it has begun; wrong knobs are told before.
        plugin::read_knobs(strategy, Strategies::instance().find(strategy)->knobs,
                           knobs_of(strategy));
    }
    return plugin::Registry<mapper::Mapper>::instance().create(mapper, knobs_of(mapper));
}

mapspace::MapSpaceOptions Components::searched(const mapspace::MapSpaceOptions& given) const {
    make_model();
    const auto made = make_mapper();
    return given.partial_tiles() ? given : made->preferred(given);
}

bool Components::overlaps() const {
    return !mapper.empty() && make_mapper()->overlaps();
}

std::vector<std::string> Components::used() const {
    std::vector<std::string> names{model};
    if (!mapper.empty()) {
        names.push_back(mapper);
    }
    if (!strategy.empty()) {
        names.push_back(strategy);
    } else if (mapper == api::strategy_runner) {
        const plugin::KnobSettings runner = knobs_of(mapper);
        const auto named = runner.find("strategy");
        names.push_back(named == runner.end() ? "random" : named->second);
    }
    return names;
}

bool Components::uses(const std::string& name) const {
    const std::vector<std::string> names = used();
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace tessera
