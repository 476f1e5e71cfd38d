// What files of tests read besides.
#include <boost/test/unit_test.hpp>

#include "engine.hpp"
