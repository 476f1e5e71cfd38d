#include "layer.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::transfusion {

Layer::Layer(const model::Problem& problem) : problem_(problem) {
    keys_and_values_ = {"BK", "BV"};
    one_pass_ = workload().find_einsum("RM") >= 0;
    attention_ = one_pass_ ? std::vector<std::string>{"QK",  "LM",  "RM", "SLN",  "SLD", "SLNV",
                                                      "PRM", "SPD", "RD", "SPNV", "RNV", "AV"}
                           : std::vector<std::string>{"QK", "MX", "SN", "SD", "SM", "AV"};
    norm_ = {"IAV", "SAV", "MAV", "DAV", "QAV", "SQAV", "MQAV", "SR", "NR"};
    feed_forward_ = {"FFN1", "AR", "FFN2"};
    all_ = keys_and_values_;
    all_.push_back("Q");
    for (const auto* phase : {&attention_, &norm_, &feed_forward_}) {
        all_.insert(all_.end(), phase->begin(), phase->end());
    }
    known_ = all_.size() == workload().einsums.size() &&
             std::all_of(all_.begin(), all_.end(), [&](const std::string& name) {
                 return workload().find_einsum(name) >= 0;
             });
    if (!known_) {
        all_.clear();
        for (const workload::Einsum& einsum : workload().einsums) {
            all_.push_back(einsum.name);
        }
    }
    std::map<std::string, std::pair<int, double>> extent;  // dimensions, instances
    for (const std::string& name : all_) {
        const int einsum = workload().find_einsum(name);
        std::string refusals;
        for (const std::string& compute : problem.architecture->compute_names()) {
            auto path = std::make_unique<arch::Path>(
                problem.architecture->path(workload(), einsum, compute, problem.compat));
            int dims = 0;
            for (const arch::PathLevel& level : path->levels) {
                dims += static_cast<int>(level.spatial.size());
            }
            extent[compute] = {dims, path->compute().cumulative_fanout};
            if (!path->compute().enabled) {
                refusals += (refusals.empty() ? "" : ", ") + path->refusal();
                continue;
            }
            buffer_level(*path);
            places_[name].push_back({compute, false, std::move(path)});
        }
        if (places_[name].empty()) {
            throw UserError("Einsum " + name + ": no compute may run it: " + refusals);
        }
    }
    units_ = problem.architecture->compute_names();
    std::stable_sort(units_.begin(), units_.end(),
                     [&](const auto& a, const auto& b) { return extent[a] > extent[b]; });
    for (auto& [name, places] : places_) {
        for (Place& place : places) {
            place.array_2d = place.compute == units_[0];
        }
        std::stable_sort(places.begin(), places.end(),
                         [&](const Place& a, const Place& b) { return a.array_2d && !b.array_2d; });
    }
}

const std::vector<Place>& Layer::places(const std::string& einsum) const {
    return places_.at(einsum);
}

const Place& Layer::place(const std::string& einsum, const std::string& unit) const {
    const std::vector<Place>& all = places(einsum);
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Place& place) { return place.compute == unit; });
    return found == all.end() ? all.front() : *found;
}

std::int64_t Layer::bound(const std::string& variable) const {
    const int v = workload().find_rank_variable(variable);
    if (v < 0) {
        throw UserError(
            "the Einsums are those of problem-shapes/transfusion-*, but there is no rank "
            "variable '" +
            variable + "'");
    }
    return workload().rank_variables[static_cast<std::size_t>(v)].bound;
}

}  // namespace tessera::transfusion
