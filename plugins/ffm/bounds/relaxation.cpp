#include "relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/workload/workload.hpp"

namespace tessera::ffm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t max_choices = 20000;
/// How far above the least cost of the whole the mappings that hold the bound down may be.
constexpr double near_bound = 1.02;

}  // namespace

ClassRelaxation::ClassRelaxation(const ExploreContext& context,
                                 const std::vector<EinsumSpace>& spaces,
                                 const mapspace::ScalarisedBound& scalarised)
    : c_(context), spaces_(spaces), scalarised_(scalarised) {
    std::vector<mapspace::ChoiceTable> einsums, jointly;
    for (const EinsumSpace& space : spaces_) {
        mapspace::ChoiceTable table, together;
        for (const int t : space.shared) {
            table.tensors.push_back(
                space.paths.front()->einsum.tensors[static_cast<std::size_t>(t)].tensor);
        }
        together.tensors = table.tensors;
        for (const TemplateClass& c : space.classes) {
            if (std::isfinite(c.least[0])) {
                table.add(c.choices, c.least);
                together.add(c.choices, {c.scalarised, 0.0});
            }
        }
        einsums.push_back(std::move(table));
        jointly.push_back(std::move(together));
    }
    const std::size_t n = c_.problem->workload->tensors.size();
    of_costs_.emplace(std::move(einsums), n, max_choices);
    if (scalarised_.used()) {
        of_scalarised_.emplace(std::move(jointly), n, max_choices);
        if (!of_scalarised_->valid()) {
            of_scalarised_.reset();
        }
    }
}

mapspace::CostFront ClassRelaxation::sum_of_least() const {
    std::array<double, 2> sum{};
    for (const EinsumSpace& s : spaces_) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(c_.n_objectives()); ++k) {
            sum[k] += s.least[k];
        }
    }
    return {sum};
}

mapspace::CostFront ClassRelaxation::bound() const {
    return in_use() ? of_costs_->total() : sum_of_least();
}

double ClassRelaxation::least_value() const {
    double least = infinity;
    const bool scalarised =
        of_scalarised_ && c_.switches.class_bounds && !of_scalarised_->total().empty();
    for (const mapspace::CostPoint& p : bound()) {
        const double value = scalarised
                                 ? scalarised_.least_product(p, of_scalarised_->total().front()[0])
                                 : p[0] * p[1];
        least = std::min(least, c_.n_objectives() == 2 ? value : p[0]);
    }
    return least;
}

std::vector<mapspace::CostFront> ClassRelaxation::rest(std::size_t e) const {
    const EinsumSpace& own = spaces_[e];
    std::vector<mapspace::CostFront> out(own.classes.size());
    if (!in_use()) {
        const mapspace::CostPoint all = sum_of_least().front();
        mapspace::CostPoint others{};
        for (std::size_t q = 0; q < static_cast<std::size_t>(c_.n_objectives()); ++q) {
            others[q] = std::max(0.0, all[q] - own.least[q]);
        }
        std::ranges::fill(out, mapspace::CostFront{others});
        return out;
    }
    const mapspace::ChoiceTable rest = of_costs_->rest(e);
    const auto scalarised = of_scalarised_ ? std::optional(of_scalarised_->rest(e)) : std::nullopt;
    for (std::size_t k = 0; k < own.classes.size(); ++k) {
        const auto it = rest.rows.find(own.classes[k].choices);
        if (it == rest.rows.end()) {
            continue;
        }
        out[k] = it->second;
        if (scalarised) {
            out[k] = scalarised_.cut(out[k], scalarised->rows.at(it->first).front()[0]);
        }
    }
    return out;
}

std::vector<std::vector<Completions>> ClassRelaxation::completions() const {
    const auto n = static_cast<std::ptrdiff_t>(c_.n_objectives());
    std::vector<std::vector<Completions>> out(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        const std::vector<mapspace::CostFront> fronts = rest(e);
        std::vector<Completions>& own = out[spaces_[e].same];
        own.resize(fronts.size());
        for (std::size_t k = 0; k < fronts.size(); ++k) {
            for (const mapspace::CostPoint& p : fronts[k]) {
                own[k].insert(own[k].end(), p.begin(), p.begin() + n);
            }
        }
    }
    return out;
}

ClassRelaxation::BoundingClasses::BoundingClasses(const ClassRelaxation& relaxation, std::size_t e)
    : own_(relaxation), space_(relaxation.spaces_[e]), rest_(relaxation.of_costs_->rest(e)) {
    if (relaxation.of_scalarised_) {
        scalarised_ = relaxation.of_scalarised_->rest(e);
    }
}

bool ClassRelaxation::BoundingClasses::has(std::size_t k, double bound) const {
    const TemplateClass& own = space_.classes[k];
    const auto it = rest_.rows.find(own.choices);
    double together = 0;
    if (scalarised_) {
        const auto other = scalarised_->rows.find(own.choices);
        together =
            other == scalarised_->rows.end() ? infinity : own.scalarised + other->second.front()[0];
    }
    return it != rest_.rows.end() && std::isfinite(together) &&
           std::ranges::any_of(it->second, [&](const mapspace::CostPoint& p) {
               const mapspace::CostPoint sum{own.least[0] + p[0], own.least[1] + p[1]};
               const double value = own_.c_.n_objectives() == 2
                                        ? own_.scalarised_.least_product(sum, together)
                                        : sum[0];
               return value <= bound * near_bound;
           });
}

}  // namespace tessera::ffm
