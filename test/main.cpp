// The one entry point that every test executable shares.
#define BOOST_TEST_MODULE tessera
#include <boost/test/unit_test.hpp>
