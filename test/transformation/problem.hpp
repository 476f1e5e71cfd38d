// A mapping problem as data, so that it can be transformed before it is written as text.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/mapspace/template.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::transformation {

struct Term {
    int factor = 1;
    std::string variable;
};

struct Rank {
    std::string name;
    std::vector<Term> terms;
    int offset = 0;
};

struct Access {
    std::string tensor;
    std::vector<Rank> ranks;
    bool output = false;
};

struct Einsum {
    std::string name;
    std::vector<Access> accesses;
    bool copies = false;  ///< is_copy_operation
    int instances = 1;

    /// Of all ranks of all tensors.
    std::vector<Term> terms() const;
};

/// Keys of a map whose values are expressions: they may name tensors, variables and components.
using Rules = std::vector<std::pair<std::string, std::string>>;

struct Action {
    std::string name;
    double energy_j = 0, throughput_per_s = std::numeric_limits<double>::infinity();
};

struct Dimension {
    std::string name;
    int fanout = 1;
    Rules rules;
    int other_fanout = 1;
    std::string follows = {};  ///< Einsums without this tensor have the other; empty: none
};

struct Component {
    std::string kind;  ///< "Memory", "Toll", "Container", "Network", "Compute"
    std::string name;
    double size_bits = std::numeric_limits<double>::infinity();
    double other_size_bits = 0;
    std::string follows = {};      ///< Einsums without this tensor have the other; empty: none
    std::string enabled_for = {};  ///< off for Einsums without this tensor; empty: for none
    double bits_of_outputs = 0;    ///< per value, in this memory; 0: as elsewhere
    int banks = 0;                 ///< of equal size; 0: none
    double leak_w = 0, bits_per_action = 1;
    std::vector<Action> actions;
    std::vector<Dimension> dimensions;
    Rules tensors, more;  ///< `more`: keys of the component itself

    bool holds_tensors() const {
        return kind == "Memory" || kind == "Toll";
    }
};

struct Problem {
    std::string family;
    std::vector<std::pair<std::string, int>> bounds;  ///< of the variables
    std::map<std::string, double> bits_per_value;     ///< of the tensors
    std::set<std::string> persistent;
    std::vector<Einsum> einsums;
    std::vector<Component> components;  ///< from the outside to the inside
    arch::Compat compat = arch::Compat::none;
    mapspace::MapSpaceOptions options = mapspace::MapSpaceOptions::accelforge();

    /// Whether any dimension has the key, and any component among its own keys or `tensors`.
    bool has_rule(const std::string& key) const;
};

/// The file: sections `arch` and `workload`.
std::string text(const Problem& problem);

/// The problem as the readers see it.
struct LoadedProblem {
    workload::Workload workload;
    arch::Architecture architecture;
    model::Problem problem;

    explicit LoadedProblem(const Problem& problem);
    LoadedProblem(const LoadedProblem&) = delete;
    LoadedProblem& operator=(const LoadedProblem&) = delete;
};

}  // namespace tessera::transformation
