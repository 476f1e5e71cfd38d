// The contract kits on every built-in component.
#include <boost/test/unit_test.hpp>

#include "tessera/plugin/registry.hpp"
#include "tessera/testing/cost_model.hpp"
#include "tessera/testing/mapper.hpp"
#include "tessera/testing/search_strategy.hpp"

using namespace tessera;

namespace {

/// Takes layers of one family alone, none of the kit's problems; plugins/transfusion/test checks
/// it.
constexpr const char* of_one_family = "tf-paper";

template <class Role, class Kit>
void check_all(const Kit& kit) {
    const auto& entries = plugin::Registry<Role>::instance().entries();
    BOOST_TEST(!entries.empty());
    for (const plugin::Entry<Role>& entry : entries) {
        if (entry.name == of_one_family) {
            continue;
        }
        for (const testing::Check& check : kit(entry.name, testing::Settings{})) {
            for (const std::string& finding : testing::findings_of(check)) {
                BOOST_ERROR(entry.name << ", " << check.name << " (" << check.text
                                       << "): " << finding);
            }
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(cost_models_keep_their_contract) {
    check_all<model::CostModel>(testing::cost_model_checks);
}

BOOST_AUTO_TEST_CASE(search_strategies_keep_their_contract) {
    check_all<search::SearchStrategy>(testing::search_strategy_checks);
}

BOOST_AUTO_TEST_CASE(mappers_keep_their_contract) {
    check_all<mapper::Mapper>(testing::mapper_checks);
}
