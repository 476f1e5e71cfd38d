#include "switches.hpp"

#include <functional>
#include <utility>

#include "tessera/base/error.hpp"

namespace tessera::ffm {
namespace {

using Choice = std::pair<std::string, std::function<bool&(Switches&)>>;

const std::vector<Choice>& choices() {
    static const std::vector<Choice> all{
        {"guesses", [](Switches& s) -> bool& { return s.guesses; }},
        {"descent", [](Switches& s) -> bool& { return s.descent; }},
        {"improvement", [](Switches& s) -> bool& { return s.improvement; }},
        {"joint-costs", [](Switches& s) -> bool& { return s.joint_costs; }},
        {"best-first", [](Switches& s) -> bool& { return s.best_first; }},
        {"dive", [](Switches& s) -> bool& { return s.dive; }},
        {"exploration-bound", [](Switches& s) -> bool& { return s.exploration_bound; }},
        {"class-floors", [](Switches& s) -> bool& { return s.class_floors; }},
        {"stages", [](Switches& s) -> bool& { return s.stages; }},
        {"meeting", [](Switches& s) -> bool& { return s.meeting; }},
        {"join-bound", [](Switches& s) -> bool& { return s.join_bound; }},
        {"lookahead", [](Switches& s) -> bool& { return s.lookahead; }},
        {"relaxed-join", [](Switches& s) -> bool& { return s.relaxed_join; }},
        {"settled-peaks", [](Switches& s) -> bool& { return s.settled_peaks; }},
        {"partners", [](Switches& s) -> bool& { return s.partners; }},
        {"template-partners", [](Switches& s) -> bool& { return s.template_partners; }},
        {"equal-einsums", [](Switches& s) -> bool& { return s.equal_einsums; }},
        {"partial-pareto", [](Switches& s) -> bool& { return s.tiles.partial_pareto; }},
        {"partial-conditions", [](Switches& s) -> bool& { return s.tiles.partial_conditions; }},
        {"safe-rows", [](Switches& s) -> bool& { return s.tiles.safe_rows; }},
        {"fixed-products", [](Switches& s) -> bool& { return s.tiles.fixed_products; }},
        {"raised-bounds", [](Switches& s) -> bool& { return s.tiles.raised_bounds; }},
        {"corner-signs", [](Switches& s) -> bool& { return s.tiles.corner_signs; }},
        {"limited-first", [](Switches& s) -> bool& { return s.tiles.limited_first; }},
        {"pinned-first", [](Switches& s) -> bool& { return s.tiles.pinned_first; }},
        {"twins", [](Switches& s) -> bool& { return s.tiles.twins; }},
        {"fused-twins", [](Switches& s) -> bool& { return s.tiles.fused_twins; }},
        {"convex-bound", [](Switches& s) -> bool& { return s.tiles.convex; }},
        {"narrowed", [](Switches& s) -> bool& { return s.tiles.narrowed; }},
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
