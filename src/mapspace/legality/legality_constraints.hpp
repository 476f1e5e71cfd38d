// Mapper constraints and limits of the mapspace on one Einsum: what holds what
// (legality_storage.cpp) and which loops there are (legality_loops.cpp).
#pragma once

#include "legality_internal.hpp"

namespace tessera::mapspace::legality {

class Constraints {
public:
    Constraints(Checker& checker, const Leaf& leaf);
    void storage_and_order();
    void loops();

private:
    void enabled();
    void storage();
    void storage_of(int l, arch::TensorMask above, const spec::Symbols& symbols);
    void left_out(const spec::Symbols& symbols);
    bool may_stand_last(int t, int level, const spec::Symbols& symbols) const;
    void orders(const spec::Symbols& symbols);
    bool sinks(std::size_t holder) const;
    bool fits(const std::vector<arch::TensorMask>& option, int level, bool as_charged) const;
    void hierarchy();
    bool loop_between(std::size_t i, std::size_t j) const;
    void outermost();
    void dimensions();
    bool may_loop(int l, int d, workload::RankVariableMask variables) const;
    void loop_bound(int l, int d, const arch::LoopBound& bound);
    void refetches();
    void refetch(const char* code, const Node& holder, std::size_t begin, std::size_t end);
    void limits();
    void copies();

    std::string einsum() const {
        return "Einsum " + in_quotes(leaf_.view().name);
    }
    std::string names(arch::TensorMask mask) const;
    Violation& add(const char* code, const std::string& text, const Node* node = nullptr) {
        return checker_.add(code, Severity::constraint, text, &leaf_, node);
    }
    const Node* holder_in(int level, arch::TensorMask tensors) const;

    Checker& checker_;
    const Leaf& leaf_;
    std::vector<arch::TensorMask> stored_;    ///< per level
    std::vector<arch::TensorMask> left_out_;  ///< of a copy: what the reference keeps there
};

}  // namespace tessera::mapspace::legality
