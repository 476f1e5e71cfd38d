#include <boost/test/unit_test.hpp>

#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;

namespace {

// Registries of their own, so that nothing of the program shows.
using Mappers = plugin::Registry<mapper::Mapper>;

struct Nothing : mapper::Mapper {
    std::string name() const override {
        return "nothing";
    }
    mapper::Result map(const model::Problem&, const model::CostModel&,
                       const mapper::Options&) override {
        return {};
    }
};

plugin::Entry<mapper::Mapper> entry(const std::string& name) {
    return {name, "does nothing", "", {}, "", "", [](const plugin::KnobValues&) {
                return plugin::Owned<mapper::Mapper>(new Nothing,
                                                     [](mapper::Mapper* made) { delete made; });
            }};
}

}  // namespace

BOOST_AUTO_TEST_CASE(entries_are_sorted_and_created_by_name) {
    Mappers registry;
    registry.add(entry("second"));
    registry.add(entry("first"));
    BOOST_TEST(registry.entries().at(0).name == "first");
    BOOST_TEST(registry.entries().at(1).name == "second");
    BOOST_TEST(registry.create("second")->name() == "nothing");
}

BOOST_AUTO_TEST_CASE(a_name_is_taken_once) {
    Mappers registry;
    registry.add(entry("first"));
    BOOST_CHECK_THROW(registry.add(entry("first")), Bug);
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_answered_with_the_nearest) {
    Mappers registry;
    registry.add(entry("first"));
    registry.add(entry("other"));
    BOOST_CHECK_EXCEPTION(registry.create("frist"), UserError, [](const UserError& error) {
        const std::string text = error.what();
        return text.find("did you mean 'first'?") != std::string::npos &&
               text.find("first other") != std::string::npos;
    });
}
