// Which searches a comparison on many instances consists of.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "field_results.hpp"

namespace tessera::cli {

class FieldPlan {
public:
    /// Reads the instances; no search has run yet. \throws UserError
    explicit FieldPlan(const Arguments& arguments);

    Field field;
    double limit_s = 0;  ///< of one search; 0: none

    /// One search, or one given mapping, as the arguments of tessera compare. `watched`: it tells
    /// its state while it runs.
    std::vector<std::string> words(std::size_t i, bool watched) const;
    /// Null: it searches, or nothing is given for the instance by that name.
    const FieldMapping* given_of(std::size_t i) const;
    /// Seed by seed, and mappers take turns: a machine that changes changes for all alike.
    std::vector<std::size_t> left() const;
    /// What a comparison that goes on must have in common with this one.
    io::Json identity() const;

private:
    void add_searching();
    void add_given();
    bool searches(std::size_t i) const;
    const FieldInstance& instance_of(std::size_t i) const;

    const Arguments& arguments_;
    std::size_t n_searching_ = 0;                  ///< of the mappers: the first ones
    std::vector<std::vector<std::string>> knobs_;  ///< settings of --knob, by mapper
    std::vector<std::string> model_knobs_;         ///< those of the model
};

}  // namespace tessera::cli
