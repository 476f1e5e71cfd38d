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
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"

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

/// What a mapper finds under model looptree.
inline mapper::Result mapped(const model::Problem& problem, const mapper::Options& options,
                             const std::string& mapper, const plugin::KnobSettings& knobs = {}) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    return plugin::Registry<mapper::Mapper>::instance()
        .create(mapper, knobs)
        ->map(problem, *model, options);
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
