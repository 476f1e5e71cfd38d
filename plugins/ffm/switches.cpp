#include "switches.hpp"

#include <functional>
#include <utility>

#include "tessera/base/error.hpp"

namespace tessera::ffm {
namespace {

using Choice = std::pair<std::string, std::function<bool&(Switches&)>>;

const std::vector<Choice>& choices() {
    static const std::vector<Choice> all{
        {"cutoffs", [](Switches& s) -> bool& { return s.cutoffs; }},
        {"local-search", [](Switches& s) -> bool& { return s.local_search; }},
        {"improvement", [](Switches& s) -> bool& { return s.improvement; }},
        {"scalarised-bounds", [](Switches& s) -> bool& { return s.scalarised_bounds; }},
        {"best-first", [](Switches& s) -> bool& { return s.best_first; }},
        {"template-fixing", [](Switches& s) -> bool& { return s.drop_templates; }},
        {"templates-by-need", [](Switches& s) -> bool& { return s.templates_by_need; }},
        {"all-templates", [](Switches& s) -> bool& { return s.all_templates; }},
        {"early-search", [](Switches& s) -> bool& { return s.early_search; }},
        {"parts", [](Switches& s) -> bool& { return s.parts; }},
        {"restricted-mapspaces", [](Switches& s) -> bool& { return s.restricted_mapspaces; }},
        {"beam-search", [](Switches& s) -> bool& { return s.beam_search; }},
        {"exploration-bound", [](Switches& s) -> bool& { return s.exploration_bound; }},
        {"class-bounds", [](Switches& s) -> bool& { return s.class_bounds; }},
        {"exact-class-bounds", [](Switches& s) -> bool& { return s.exact_class_bounds; }},
        {"sequential", [](Switches& s) -> bool& { return s.sequential; }},
        {"shape-semijoin", [](Switches& s) -> bool& { return s.shape_semijoin; }},
        {"join-bound", [](Switches& s) -> bool& { return s.join_bound; }},
        {"lookahead", [](Switches& s) -> bool& { return s.lookahead; }},
        {"completion-bounds", [](Switches& s) -> bool& { return s.completion_bounds; }},
        {"redundant-capacity", [](Switches& s) -> bool& { return s.redundant_capacity; }},
        {"row-semijoin", [](Switches& s) -> bool& { return s.row_semijoin; }},
        {"template-semijoin", [](Switches& s) -> bool& { return s.template_semijoin; }},
        {"equal-einsums", [](Switches& s) -> bool& { return s.equal_einsums; }},
        {"partial-pareto", [](Switches& s) -> bool& { return s.tiles.partial_pareto; }},
        {"partial-conditions", [](Switches& s) -> bool& { return s.tiles.partial_conditions; }},
        {"safe-rows", [](Switches& s) -> bool& { return s.tiles.safe_rows; }},
        {"fixed-products", [](Switches& s) -> bool& { return s.tiles.fixed_products; }},
        {"surrogate-bounds", [](Switches& s) -> bool& { return s.tiles.surrogate_bounds; }},
        {"vertex-bounds", [](Switches& s) -> bool& { return s.tiles.vertex_bounds; }},
        {"limited-first", [](Switches& s) -> bool& { return s.tiles.limited_first; }},
        {"fixed-first", [](Switches& s) -> bool& { return s.tiles.fixed_first; }},
        {"symmetries", [](Switches& s) -> bool& { return s.tiles.symmetries; }},
        {"fused-symmetries", [](Switches& s) -> bool& { return s.tiles.fused_symmetries; }},
        {"convex-bound", [](Switches& s) -> bool& { return s.tiles.convex; }},
        {"domain-propagation", [](Switches& s) -> bool& { return s.tiles.domain_propagation; }},
    };
    return all;
}

}  // namespace

Switches switches_without(const std::vector<std::string>& names) {
    Switches out;
    for (const std::string& name : names) {
        bool known = false;
        for (const auto& [own, field] : choices()) {
            if (own == name) {
                field(out) = false;
                known = true;
            }
        }
        if (!known) {
            throw UserError("mapper 'ffm' has no idea '" + name + "' to switch off");
        }
    }
    return out;
}

const std::vector<std::string>& switch_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> out;
        for (const auto& choice : choices()) {
            out.push_back(choice.first);
        }
        return out;
    }();
    return names;
}

}  // namespace tessera::ffm
