// A cascade of Einsums that is put together and written down.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "problem.hpp"

namespace bench::chips {

/// How somebody writes workloads: with the roles of tensors or without, as customary ones exist.
class Cascade {
public:
    Cascade(int bits_per_value, bool with_roles) : bits_(bits_per_value), with_roles_(with_roles) {}

    void rank(const std::string& name, int size) {
        sizes_[name] = size;
    }
    /// "0 <= r < 3", for all Einsums that come.
    void limit(const std::string& variable, int size) {
        limits_[variable] = size;
    }
    /// `output` and what is read, with indices: "Y[m, n]". Input and weight are told apart by
    /// order.
    void product(const std::string& output, const std::string& input, const std::string& weight,
                 const std::vector<std::string>& limited = {});
    /// Everything is input: `text` is what is done.
    void elementwise(const std::string& output, const std::string& text,
                     const std::vector<std::string>& inputs);
    std::string yaml() const;

private:
    void add(const std::string& output, const std::string& text, const std::string& roles,
             const std::vector<std::string>& limited);

    int bits_;
    bool with_roles_;
    std::map<std::string, int> sizes_, limits_;
    std::string einsums_;
};

void transformer_layer(Cascade& cascade, Random& random, Text& text);
void decode_layer(Cascade& cascade, Random& random, Text& text);
void attention(Cascade& cascade, Random& random, Text& text);
void matmul_chain(Cascade& cascade, Random& random, Text& text);
void residual_block(Cascade& cascade, Random& random, Text& text);
void bottleneck_block(Cascade& cascade, Random& random, Text& text);
void separable_block(Cascade& cascade, Random& random, Text& text);

}  // namespace bench::chips
