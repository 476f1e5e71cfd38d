#include <cctype>
#include <sstream>

#include "transformation/random_problem.hpp"

namespace tessera::transformation {

namespace {

// "P: 2 p + r" or "m", which is "M: m".
Rank rank_of(const std::string& text) {
    const std::size_t colon = text.find(':');
    Rank rank;
    rank.name = text.substr(0, colon);
    std::istringstream sum(colon == std::string::npos ? text : text.substr(colon + 1));
    for (std::string word; sum >> word;) {
        if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
            rank.terms.push_back({std::stoi(word), ""});
            sum >> rank.terms.back().variable;
        } else if (word != "+") {
            rank.terms.push_back({1, word});
        }
    }
    if (colon == std::string::npos) {
        rank.name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(rank.name[0])));
    }
    return rank;
}

// "X[m, P: p + r]"; outputs are marked by '>'.
Access access_of(const std::string& text) {
    Access access;
    access.output = text[0] == '>';
    const std::size_t begin = access.output ? 1 : 0, bracket = text.find('[');
    access.tensor = text.substr(begin, bracket - begin);
    std::istringstream ranks(text.substr(bracket + 1, text.size() - bracket - 2));
    for (std::string rank; std::getline(ranks >> std::ws, rank, ',');) {
        access.ranks.push_back(rank_of(rank));
    }
    return access;
}

class Writer {
public:
    explicit Writer(Problem& problem) : problem_(problem) {}

    Writer& bound(const std::string& variable, int value) {
        problem_.bounds.emplace_back(variable, value);
        return *this;
    }
    Writer& einsum(const std::vector<std::string>& accesses, bool copies = false) {
        Einsum e{"E" + std::to_string(problem_.einsums.size()), {}, copies};
        for (const std::string& text : accesses) {
            e.accesses.push_back(access_of(text));
        }
        problem_.einsums.push_back(std::move(e));
        return *this;
    }
    Writer& persistent(const std::string& tensor) {
        problem_.persistent.insert(tensor);
        return *this;
    }

private:
    Problem& problem_;
};

const std::vector<int> sizes{2, 3, 4, 5, 6, 8, 9, 12, 16};
const std::vector<int> small_sizes{2, 3, 4, 6, 8};

void matmul(Writer w, Random& r) {
    const bool batched = r.chance(30);
    w.bound("m", r.pick(sizes)).bound("k", r.pick(sizes)).bound("n", r.pick(sizes));
    if (batched) {
        w.bound("b", r.pick(small_sizes)).einsum({"A[b, m, k]", "B[b, k, n]", ">Z[b, m, n]"});
    } else {
        w.einsum({"A[m, k]", "B[k, n]", ">Z[m, n]"});
    }
}

void chain(Writer w, Random& r) {
    const bool longer = r.chance(40);
    const std::vector<int>& b = longer ? small_sizes : sizes;
    w.bound("m", r.pick(b)).bound("k", r.pick(b)).bound("n", r.pick(b)).bound("o", r.pick(b));
    w.einsum({"A[m, k]", "V[k, n]", ">T[m, n]"}).einsum({"T[m, n]", "W[n, o]", ">U[m, o]"});
    if (longer) {
        w.bound("q", r.pick(b)).einsum({"U[m, o]", "X[o, q]", ">Z[m, q]"});
    }
}

// The second factor of a step is the first of the next: both read one tensor in two roles.
void residual(Writer w, Random& r) {
    const int d = r.pick(small_sizes);
    w.bound("m", r.pick(small_sizes)).bound("d", d).bound("e", d);
    w.einsum({"X[m, d]", ">Y[m, d]"}).einsum({"Y[m, d]", "W[d, E: e]", ">Z[m, E: e]"});
    w.einsum({"Y[m, D: e]", "Z[m, E: e]", ">O[m, E: e]"});
}

void shared_input(Writer w, Random& r) {
    w.bound("m", r.pick(small_sizes)).bound("d", r.pick(small_sizes));
    w.bound("e", r.pick(small_sizes));
    w.einsum({"X[m, d]", "V[d, e]", ">P[m, e]"}).einsum({"X[m, d]", "W[d, e]", ">Q[m, e]"});
    if (r.chance(50)) {
        w.einsum({"P[m, e]", "Q[m, e]", ">Z[m, e]"});
    }
}

void attention(Writer w, Random& r) {
    const std::string h = r.chance(25) ? "h, " : "";
    if (!h.empty()) {
        w.bound("h", 2);
    }
    w.bound("m", r.pick(small_sizes)).bound("p", r.pick(small_sizes));
    w.bound("e", r.pick(small_sizes)).bound("f", r.pick(small_sizes));
    w.einsum({"Q[" + h + "m, e]", "K[" + h + "p, e]", ">S[" + h + "m, p]"});
    w.einsum({"S[" + h + "m, p]", ">R[" + h + "m, p]"});
    w.einsum({"R[" + h + "m, p]", "V[" + h + "p, f]", ">O[" + h + "m, f]"});
}

// A row statistic that the last step needs beside the tensor it was made from.
void normalise(Writer w, Random& r) {
    w.bound("m", r.pick(sizes)).bound("n", r.pick(sizes));
    w.einsum({"X[m, n]", ">Y[m, n]"}).einsum({"Y[m, n]", ">S[m]"});
    w.einsum({"Y[m, n]", "S[m]", ">Z[m, n]"});
}

void convolution_1d(Writer w, Random& r) {
    const int p = r.pick(small_sizes), taps = r.pick(std::vector{2, 3}), stride = 1 + r.below(2);
    const std::string read = stride == 2 ? "P: 2 p + r" : "P: p + r";
    w.bound("p", p).bound("r", taps).bound("c", r.pick(std::vector{2, 3, 4}));
    switch (r.below(3)) {
        case 0:
            w.bound("m", r.pick(small_sizes));
            w.einsum({"I[c, " + read + "]", "F[m, c, r]", ">O[m, p]"});
            break;
        case 1:  // a pointwise step, then a convolution over its result
            w.bound("h", stride * (p - 1) + taps);
            w.einsum({"X[c, P: h]", ">I[c, P: h]"});
            w.einsum({"I[c, " + read + "]", "F[c, r]", ">O[p]"});
            break;
        default:  // two convolutions over one input
            w.einsum({"I[c, P: p + r]", "F[c, r]", ">O[p]"});
            w.bound("q", p).einsum({"I[c, P: q + r]", "G[r]", ">U[c, q]"});
    }
}

void convolution_2d(Writer w, Random& r) {
    const std::vector<int> b{2, 3, 4};
    w.bound("p", r.pick(b)).bound("q", r.pick(b)).bound("r", 2 + r.below(2));
    w.bound("s", 1 + r.below(2)).bound("c", r.pick(b));
    if (r.chance(60)) {
        w.einsum({"I[c, P: p + r, Q: q + s]", "F[c, r, s]", ">O[p, q]"});
    } else {
        w.einsum({"I[c, P: p + r, Q: q + s]", "F[c, r, s]", ">O[c, p, q]"});
    }
}

// A copied tensor, from outside or made before, read by one step or by two; or two copies with a
// reader each.
void copies(Writer w, Random& r) {
    w.bound("m", r.pick(small_sizes)).bound("d", r.pick(small_sizes));
    w.bound("e", r.pick(small_sizes));
    // Drawn apart, and after so many others, that the seeds of past faults (transformation_test)
    // give the problems that they were found with.
    Random apart = r;
    for (int i = 0; i < 121; ++i) {
        apart.chance(50);
    }
    if (apart.chance(25)) {
        w.einsum({"A[m, d]", ">X[m, d]"});
    }
    if (apart.chance(25)) {
        w.persistent(apart.pick(std::vector<std::string>{"X", "Y"}));
    }
    if (r.chance(30)) {
        w.einsum({"X[m, d]", ">Y[m, d]", ">T[m, d]"}, true);
        w.einsum({"Y[m, d]", "W[d, e]", ">Z[m, e]"}).einsum({"T[m, d]", "Z[m, e]", ">U[m, e]"});
        return;
    }
    w.einsum({"X[m, d]", ">Y[m, d]"}, true).einsum({"Y[m, d]", "W[d, e]", ">Z[m, e]"});
    if (r.chance(40)) {
        w.einsum({"Y[m, d]", "V[d, e]", ">U[m, e]"});
    }
}

// Two branches from one input, multiplied element by element.
void gated(Writer w, Random& r) {
    w.bound("c", r.pick(sizes)).bound("m", r.pick(sizes));
    w.einsum({"X[m]", "V[m, c]", ">G[m, c]"}).einsum({"X[m]", "W[m, c]", ">U[m, c]"});
    w.einsum({"G[m, c]", "U[m, c]", ">H[m, c]"});
}

struct Family {
    const char* name;
    void (*draw)(Writer, Random&);
};

constexpr Family all_families[] = {
    {"matmul", matmul},
    {"chain", chain},
    {"residual", residual},
    {"shared-input", shared_input},
    {"attention", attention},
    {"normalise", normalise},
    {"convolution-1d", convolution_1d},
    {"convolution-2d", convolution_2d},
    {"copy", copies},
    {"gated", gated},
};

}  // namespace

const std::vector<std::string>& families() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const Family& family : all_families) {
            list.emplace_back(family.name);
        }
        return list;
    }();
    return names;
}

void draw_workload(Problem& problem, int family, Random& r) {
    const Family& chosen = all_families[family];
    problem.family = chosen.name;
    chosen.draw(Writer(problem), r);
    const double bits = r.pick(std::vector{1, 4, 8, 16});
    for (const Einsum& einsum : problem.einsums) {
        for (const Access& access : einsum.accesses) {
            const bool wide = access.output && r.chance(15);
            problem.bits_per_value.try_emplace(access.tensor, wide ? 2 * bits : bits);
        }
    }
    // Weights: read by one Einsum and made by none.
    std::map<std::string, int> users;
    for (const Einsum& einsum : problem.einsums) {
        for (const Access& access : einsum.accesses) {
            users[access.tensor] += access.output ? 2 : 1;
        }
    }
    if (r.chance(15)) {
        for (const auto& [tensor, count] : users) {
            if (count == 1 && r.chance(50)) {
                problem.persistent.insert(tensor);
            }
        }
    }
}

}  // namespace tessera::transformation
