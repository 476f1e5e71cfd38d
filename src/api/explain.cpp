#include <algorithm>

#include "api/search.hpp"
#include "mapping/read_file.hpp"
#include "model/overflow.hpp"
#include "spec/reader.hpp"
#include "tessera/session.hpp"
#include "tessera/spec/directives.hpp"

namespace tessera {

std::vector<mapspace::Violation> explain(const Problem& problem, const mapping::Mapping& mapping,
                                         const std::string& model) {
    return api::explain(problem.view(), model::settle_overflow(problem.view(), mapping).mapping,
                        model, *Components{model, "", "", {}}.make_model());
}

mapping::Mapping parse_mapping(const std::string& yaml, const std::string& name) {
    return mapping::mapping_of(spec::read_text(yaml, name), {});
}

}  // namespace tessera

namespace tessera::api {

std::vector<mapspace::Violation> explain(const model::Problem& problem,
                                         const mapping::Mapping& mapping, const std::string& name,
                                         const model::CostModel& model) {
    std::vector<mapspace::Violation> found = mapspace::check(problem, mapping);
    const bool legal = std::none_of(found.begin(), found.end(), [](const auto& violation) {
        return violation.severity != mapspace::Severity::warning;
    });
    if (!legal) {
        return found;
    }
    // The model has the last word: it may lack something that the rules allow.
    try {
        model.evaluate(problem, mapping);
    } catch (const IllegalMapping& error) {
        mapspace::Violation refused;
        refused.code = refused_by_model;
        refused.message = name + ": " + error.what();
        found.push_back(std::move(refused));
    }
    return found;
}

std::vector<mapspace::Violation> outside_mapspace(const model::Problem& problem,
                                                  const mapping::Mapping& mapping,
                                                  const mapspace::MapSpaceOptions& options) {
    const std::vector<mapspace::Violation> legal = mapspace::check(problem, mapping);
    std::vector<mapspace::Violation> found = mapspace::check(problem, mapping, &options);
    std::erase_if(found, [&](const mapspace::Violation& v) {
        return std::any_of(legal.begin(), legal.end(), [&](const mapspace::Violation& other) {
            return other.code == v.code && other.message == v.message &&
                   other.severity == v.severity;
        });
    });
    return found;
}

}  // namespace tessera::api
