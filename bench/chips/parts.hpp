// What an architecture file is put together from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "random.hpp"

namespace bench::chips {

/// What the chip is made for: the size of all else follows.
struct Scale {
    bool server = false;
    int bits = 8;  ///< of a value
    double clock_hz = 1e9;
    bool leaks = false;
    bool vector_unit = false;
};

/// Three significant digits, with an exponent of engineers: "30e-12", "1.25e9".
std::string number(double value);

/// Energy of an action, with its throughput (actions per second; 0: unlimited).
std::string action(const std::string& name, double energy_j, double per_s);

using Lines = std::vector<std::string>;

/// "- !KIND" with these lines below.
std::string node(const std::string& kind, const Lines& lines);

/// On-chip memories, energy by the square root of the size.
struct Buffer {
    std::string name;
    double bytes = 0;
    int bits_per_action = 1;
    double bits_per_s = 0;  ///< 0: unlimited
    std::string tensors;    ///< "{keep: All}"
    Lines more = {};
};

std::string memory(const Buffer& buffer, const Scale& scale, Random& random);

/// Processing elements and all that is inside of them.
struct Array {
    std::string style, yaml;
    int rows = 1, columns = 1;
};

Array draw_array(Random& random, const Scale& scale);

}  // namespace bench::chips
