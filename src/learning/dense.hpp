// The three products of a fully connected layer. The only place that knows the linear algebra
// library. Matrices are column by column; a batch has one sample a column.
#pragma once

#include <cstddef>

namespace tessera::learning {

struct LayerShape {
    std::size_t inputs = 0, outputs = 0, samples = 0;
};

/// y = w x + b
template <class Real>
void affine(const LayerShape& shape, const Real* w, const Real* b, const Real* x, Real* y);

/// dw += dy x^T, db += the sum of dy's columns
template <class Real>
void add_weight_gradient(const LayerShape& shape, const Real* dy, const Real* x, Real* dw,
                         Real* db);

/// dx = w^T dy
template <class Real>
void input_gradient(const LayerShape& shape, const Real* w, const Real* dy, Real* dx);

}  // namespace tessera::learning
