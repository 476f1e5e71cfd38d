// Class bounds where a mapping is known: what cannot be part of a better one is not looked at.
//
// With the least costs of all other Einsums as completions (docs/ffm-proofs.md, 2.14) a template
// whose own bounds lead nowhere below the incumbent is dropped, as columns are by reduced costs;
// and of a class only pmappings are looked for that cost no more than the completions allow.
#include <algorithm>
#include <cmath>
#include <limits>

#include "class_bounds.hpp"

namespace tessera::ffm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Mappings this close to the incumbent stay: as good ones are compared by a later metric.
constexpr double cutoff_slack = 1e-6;

using Costs = std::array<double, 2>;

/// What costs may be at most, each with the other one at `least`, so that some completion leads to
/// `value`.
Costs most_of_use(const Completions& completions, std::size_t n, const Costs& least, double value) {
    Costs most{-infinity, -infinity};
    for (std::size_t at = 0; at + n <= completions.size(); at += n) {
        for (std::size_t q = 0; q < n; ++q) {
            const double other = n == 2 ? least[1 - q] + completions[at + 1 - q] : 1.0;
            most[q] = std::max(most[q], other > 0 ? value / other - completions[at + q] : infinity);
        }
    }
    return most;
}

bool is_of_use(const Completions& completions, std::size_t n, const Costs& least, double value) {
    bool out = false;
    for (std::size_t at = 0; at + n <= completions.size() && !out; at += n) {
        double product = 1;
        for (std::size_t q = 0; q < n; ++q) {
            product *= std::max(0.0, least[q] + completions[at + q]);
        }
        out = product <= value;
    }
    return out;
}

}  // namespace

double ClassBounds::least_of_class(std::size_t e, std::size_t k, std::size_t q) const {
    const double most = most_[e][k][q];
    return most < 0 ? infinity : std::min(found_[e][k][q].load(), most);
}

void ClassBounds::relax_so_far() {
    lower_unfinished();
    relax({});
}

/// Templates whose bounds are least, compared with those of their Einsum.
std::function<double(std::size_t, std::size_t)> ClassBounds::order_of_templates() const {
    return [this](std::size_t e, std::size_t i) {
        double out = 1;
        for (std::size_t q = 0; q < static_cast<std::size_t>(c_.n_objectives()); ++q) {
            const double least = spaces_[e].least.empty() ? 0.0 : spaces_[e].least[q];
            out *= least > 0 ? std::max(least, least_[e][i][q]) / least : 1.0;
        }
        return out;
    };
}

void ClassBounds::look_below(double value) {
    looks_below_ = true;
    value *= 1 + cutoff_slack;
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    const std::vector<std::vector<Completions>> completions = relaxation_->completions();
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        if (!x_.explored(e)) {
            continue;
        }
        std::vector<TemplateEntry>& templates = *spaces_[e].templates;
        for (std::size_t k = 0; k < spaces_[e].classes.size(); ++k) {
            const TemplateClass& own = spaces_[e].classes[k];
            bool any = false;
            for (const std::uint32_t i : own.templates) {
                Costs least{};
                for (std::size_t q = 0; q < n; ++q) {
                    least[q] = std::max(own.least[q], least_[e][i][q]);
                }
                templates[i].unmatched |= !is_of_use(completions[e][k], n, least, value);
                any = any || !templates[i].unmatched;
            }
            most_[e][k] = any ? most_of_use(completions[e][k], n, own.least, value) : Costs{-1, -1};
        }
    }
}

}  // namespace tessera::ffm
