// The first few random problems of every kind.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "oracle/oracle_instance.hpp"
#include "support/paths.hpp"

namespace tessera::oracle {

/// Seeds by kind of instance.
inline std::map<std::string, std::vector<std::uint64_t>> few_seeds(std::size_t each) {
    std::map<std::string, std::vector<std::uint64_t>> seeds;
    std::ifstream in(test::test_folder() + "/oracle/seeds.txt");
    std::string kind;
    for (std::uint64_t seed; in >> kind >> seed;) {
        if (seeds[kind].size() < each) {
            seeds[kind].push_back(seed);
        }
    }
    return seeds;
}

template <class Test>
void for_each_instance(std::size_t each, const Test& test) {
    for (const auto& [kind, seeds] : few_seeds(each)) {
        for (const std::uint64_t seed : seeds) {
            const Instance drawn = random_instance(seed);
            const LoadedInstance instance(drawn.yaml);
            BOOST_TEST_CONTEXT(kind << " " << seed) {
                test(instance.problem, drawn.options);
            }
        }
    }
}

}  // namespace tessera::oracle
