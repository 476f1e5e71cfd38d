// What files of commands and reports read besides.
#include <nlohmann/json.hpp>

#include "engine.hpp"
