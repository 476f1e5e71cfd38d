#include "learning/dense.hpp"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

namespace tessera::learning {

namespace {

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
template <class T>
using In = Eigen::Map<const T>;
template <class T>
using Out = Eigen::Map<T>;

Eigen::Index index(std::size_t n) {
    return static_cast<Eigen::Index>(n);
}

/// Products are summed in blocks that fit the caches: given sizes, for equal sums everywhere.
[[maybe_unused]] const bool caches_set = [] {
    Eigen::setCpuCacheSizes(std::ptrdiff_t{32} << 10, std::ptrdiff_t{512} << 10,
                            std::ptrdiff_t{4} << 20);
    return true;
}();

}  // namespace

template <class Real>
void affine(const LayerShape& s, const Real* w, const Real* b, const Real* x, Real* y) {
    Out<Matrix<Real>> to(y, index(s.outputs), index(s.samples));
    to.colwise() = In<Vector<Real>>(b, index(s.outputs));
    to.noalias() += In<Matrix<Real>>(w, index(s.outputs), index(s.inputs)) *
                    In<Matrix<Real>>(x, index(s.inputs), index(s.samples));
}

template <class Real>
void add_weight_gradient(const LayerShape& s, const Real* dy, const Real* x, Real* dw, Real* db) {
    const In<Matrix<Real>> by_output(dy, index(s.outputs), index(s.samples));
    Out<Matrix<Real>>(dw, index(s.outputs), index(s.inputs)).noalias() +=
        by_output * In<Matrix<Real>>(x, index(s.inputs), index(s.samples)).transpose();
    Out<Vector<Real>>(db, index(s.outputs)) += by_output.rowwise().sum();
}

template <class Real>
void input_gradient(const LayerShape& s, const Real* w, const Real* dy, Real* dx) {
    Out<Matrix<Real>>(dx, index(s.inputs), index(s.samples)).noalias() =
        In<Matrix<Real>>(w, index(s.outputs), index(s.inputs)).transpose() *
        In<Matrix<Real>>(dy, index(s.outputs), index(s.samples));
}

template void affine(const LayerShape&, const float*, const float*, const float*, float*);
template void affine(const LayerShape&, const double*, const double*, const double*, double*);
template void add_weight_gradient(const LayerShape&, const float*, const float*, float*, float*);
template void add_weight_gradient(const LayerShape&, const double*, const double*, double*,
                                  double*);
template void input_gradient(const LayerShape&, const float*, const float*, float*);
template void input_gradient(const LayerShape&, const double*, const double*, double*);

}  // namespace tessera::learning
