// What the contract kits have in common. A kit is a list of checks on one registered component;
// `tessera plugins check` runs each in a process of its own, test/contract runs them on all
// built-ins, and an author may run them from a test program:
//
//     for (const testing::Check& check : testing::search_strategy_checks("mine", {})) {
//         testing::Findings findings;
//         check.run(findings);
//         ...
//     }
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::testing {

/// What a check found wrong.
class Findings {
public:
    /// Notes `what` unless `good`. \returns good
    bool expect(bool good, const std::string& what) {
        if (!good && found_.size() < 20) {
            found_.push_back(what);
        }
        return good;
    }
    bool empty() const {
        return found_.empty();
    }
    const std::vector<std::string>& list() const {
        return found_;
    }

private:
    std::vector<std::string> found_;
};

struct Check {
    std::string name;                    ///< "seed"
    std::string text;                    ///< "same seed, same proposals"
    std::function<void(Findings&)> run;  ///< may throw: a failure, too
};

struct Settings {
    std::uint64_t seed = 0;  ///< of everything that the checks draw at random
};

/// Runs one check; what it throws becomes a finding.
std::vector<std::string> findings_of(const Check& check);

}  // namespace tessera::testing
