#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;
using plugin::Knob;

namespace {

const std::vector<Knob> knobs = {
    Knob::integer("beam", 16, 1, 4096, "rows", "rows kept"),
    Knob::number("cooling", 0.95, 0.5, 1, "", "factor per step"),
    Knob::flag("restart", true, "start over when stuck"),
    Knob::choice("order", "file", {"file", "all"}, "order of Einsums"),
};

std::string refusal(const plugin::KnobSettings& given) {
    try {
        plugin::read_knobs("mine", knobs, given);
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(knobs_have_their_defaults) {
    const plugin::KnobValues values = plugin::read_knobs("mine", knobs, {});
    BOOST_TEST(values.integer("beam") == 16);
    BOOST_TEST(values.number("cooling") == 0.95);
    BOOST_TEST(values.flag("restart"));
    BOOST_TEST(values.text("order") == "file");
}

BOOST_AUTO_TEST_CASE(knobs_are_read_from_text) {
    const plugin::KnobValues values = plugin::read_knobs(
        "mine", knobs,
        {{"beam", "4096"}, {"cooling", "5e-1"}, {"restart", "no"}, {"order", "all"}});
    BOOST_TEST(values.integer("beam") == 4096);
    BOOST_TEST(values.number("cooling") == 0.5);
    BOOST_TEST(!values.flag("restart"));
    BOOST_TEST(values.text("order") == "all");
}

BOOST_AUTO_TEST_CASE(wrong_values_name_the_knob_and_its_range) {
    const std::string beam = "knob mine.beam: ";
    const std::string range = " is not understood (expected whole number from 1 to 4096 rows)";
    for (const char* value : {"0", "4097", "12x", "1.5", "", "99999999999999999999"}) {
        BOOST_TEST(refusal({{"beam", value}}) == beam + "'" + value + "'" + range);
    }
    BOOST_TEST(refusal({{"cooling", "nan"}}) ==
               "knob mine.cooling: 'nan' is not understood (expected number from 0.5 to 1)");
    BOOST_TEST(refusal({{"restart", "maybe"}}) ==
               "knob mine.restart: 'maybe' is not understood (expected yes or no)");
    BOOST_TEST(refusal({{"order", "any"}}) ==
               "knob mine.order: 'any' is not understood (expected one of file, all)");
    BOOST_TEST(refusal({{"baem", "1"}}) == "'mine' has no knob 'baem'; did you mean 'beam'?");
}

BOOST_AUTO_TEST_CASE(knobs_make_a_schema) {
    const auto schema = nlohmann::json::parse(plugin::knob_schema("mine", knobs));
    BOOST_TEST(schema["properties"]["beam"]["minimum"] == 1);
    BOOST_TEST(schema["properties"]["beam"]["maximum"] == 4096);
    BOOST_TEST(schema["properties"]["beam"]["default"] == 16);
    BOOST_TEST(schema["properties"]["beam"]["x-unit"] == "rows");
    BOOST_TEST(schema["properties"]["cooling"]["type"] == "number");
    BOOST_TEST(schema["properties"]["restart"]["default"] == true);
    BOOST_TEST(schema["properties"]["order"]["enum"].size() == 2u);
    BOOST_TEST(schema["additionalProperties"] == false);
}
