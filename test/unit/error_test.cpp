#include "tessera/base/error.hpp"

#include <boost/test/unit_test.hpp>

using namespace tessera;

BOOST_AUTO_TEST_CASE(user_error_puts_the_position_first) {
    const UserError error(Position{"arch.yaml", 12, 5}, "unknown key 'fanuot'");
    BOOST_TEST(std::string(error.what()) == "arch.yaml:12:5: unknown key 'fanuot'");
    BOOST_TEST(error.position()->line == 12);
    BOOST_TEST(std::string(UserError(Position{"arch.yaml"}, "empty").what()) == "arch.yaml: empty");
    BOOST_TEST(std::string(UserError(Position{}, "empty").what()) == "empty");
    BOOST_TEST(!UserError("plain").position().has_value());
}

BOOST_AUTO_TEST_CASE(each_error_has_its_exit_code) {
    BOOST_TEST(UserError("m").exit_code() == 2);
    BOOST_TEST(IllegalMapping("m").exit_code() == 1);
    BOOST_TEST(NoLegalMapping("m").exit_code() == 1);
    BOOST_TEST(PluginError("m").exit_code() == 3);
    BOOST_TEST(Bug("m").exit_code() == 70);
}
