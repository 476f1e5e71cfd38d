#include <algorithm>

#include "cascade.hpp"

namespace bench::chips {

namespace {

/// Ranks: B batch, M tokens, N keys, D width of a token, H heads (G groups of R), E width of a
/// head, F width of the feed-forward part.
struct Model {
    int width = 0, heads = 0, groups = 0, head = 0, feed_forward = 0;
    bool grouped = false, gated = false;

    std::string queries() const {
        return grouped ? "g, r" : "h";
    }
    std::string keys() const {
        return grouped ? "g" : "h";
    }
    std::string name() const {
        return std::to_string(width) + " wide, " + std::to_string(heads) + " heads" +
               (grouped ? " in " + std::to_string(groups) + " groups" : "");
    }
};

Model draw_model(Random& random) {
    Model m;
    m.head = random.pick({64, 64, 128, 128, 96});
    m.heads = random.pick({8, 12, 16, 16, 20, 32, 32, 40, 64});
    m.width = std::min(8192, m.head * m.heads);
    m.heads = m.width / m.head;
    m.grouped = m.heads % 4 == 0 && random.chance(45);
    m.groups = m.grouped ? m.heads / random.pick({2, 4, 4}) : m.heads;
    m.gated = random.chance(50);
    m.feed_forward = m.gated ? random.pick({3, 4}) * m.width : 4 * m.width;
    return m;
}

void set_ranks(Cascade& c, const Model& m, int batch, int tokens, int keys) {
    c.rank("B", batch);
    c.rank("M", tokens);
    c.rank("N", keys);
    c.rank("E", m.head);
    if (m.grouped) {
        c.rank("G", m.groups);
        c.rank("R", m.heads / m.groups);
    } else {
        c.rank("H", m.heads);
    }
}

/// Scores to weights of the values: one pass, or the pieces of a softmax.
void softmax(Cascade& c, const Model& m, bool in_pieces) {
    const std::string row = "[b, m, " + m.queries() + "]", all = "[b, m, n, " + m.queries() + "]";
    if (!in_pieces) {
        c.elementwise("P" + all, "S" + all, {"S"});
        return;
    }
    c.elementwise("SMAX" + row, "max(S" + all + ")", {"S"});
    c.elementwise("SEXP" + all, "exp(S" + all + " - SMAX" + row + ")", {"S", "SMAX"});
    c.elementwise("SSUM" + row, "sum(SEXP" + all + ")", {"SEXP"});
    c.elementwise("P" + all, "SEXP" + all + " / SSUM" + row, {"SEXP", "SSUM"});
}

/// `keys` and `values`: of which tensors, with their indices.
void scores_to_heads(Cascade& c, const Model& m, const std::string& keys, const std::string& values,
                     bool in_pieces) {
    const std::string q = m.queries();
    c.product("S[b, m, n, " + q + "]", "Q[b, m, " + q + ", e]", keys);
    softmax(c, m, in_pieces);
    c.product("A[b, m, " + q + ", e]", "P[b, m, n, " + q + "]", values);
}

void projection(Cascade& c, const std::string& name, const std::string& heads) {
    c.product(name + "[b, m, " + heads + ", e]", "X[b, m, d]",
              "W" + name + "[d, " + heads + ", e]");
}

void projections_back(Cascade& c, const Model& m, bool residual) {
    const std::string q = m.queries();
    c.product("Z[b, m, d]", "A[b, m, " + q + ", e]", "WZ[" + q + ", e, d]");
    if (residual) {
        c.elementwise("Y[b, m, d]", "Z[b, m, d] + X[b, m, d]", {"Z", "X"});
    }
}

void feed_forward(Cascade& c, const Model& m, bool residual, bool activation) {
    const std::string in = residual ? "Y" : "Z";
    c.rank("F", m.feed_forward);
    c.product("U[b, m, f]", in + "[b, m, d]", "WU[d, f]");
    std::string inner = "U";
    if (m.gated) {
        c.product("GA[b, m, f]", in + "[b, m, d]", "WG[d, f]");
        c.elementwise("HID[b, m, f]", "GA[b, m, f] * U[b, m, f]", {"GA", "U"});
        inner = "HID";
    } else if (activation) {
        c.elementwise("HID[b, m, f]", "U[b, m, f]", {"U"});
        inner = "HID";
    }
    c.product("DN[b, m, d]", inner + "[b, m, f]", "WD[f, d]");
    if (residual) {
        c.elementwise("OUT[b, m, d]", "DN[b, m, d] + Y[b, m, d]", {"DN", "Y"});
    }
}

void norm(Cascade& c) {
    c.elementwise("XSQ[b, m]", "sum(XIN[b, m, d])", {"XIN"});
    c.elementwise("X[b, m, d]", "XIN[b, m, d] * XSQ[b, m]", {"XIN", "XSQ"});
}

/// A layer of which `keys` and `values` are known beforehand (decode) or are projected.
void layer(Cascade& c, const Model& m, bool cached, Random& random, Text& text) {
    c.rank("D", m.width);
    if (random.chance(20)) {
        norm(c);
        text.kind += ", norm";
    }
    const bool in_pieces = random.chance(35), residual = random.chance(50);
    const bool activation = random.chance(60), whole = random.chance(75);
    projection(c, "Q", m.queries());
    projection(c, "K", m.keys());
    projection(c, "V", m.keys());
    const std::string at = "[b, " + std::string(cached ? "n, " : "M: n, ") + m.keys() + ", e]";
    scores_to_heads(c, m, (cached ? "KC" : "K") + at, (cached ? "VC" : "V") + at, in_pieces);
    projections_back(c, m, residual);
    if (whole) {
        feed_forward(c, m, residual, activation);
    }
    text.kind += std::string(in_pieces ? ", softmax in pieces" : "") +
                 (residual ? ", residuals" : "") + (whole ? "" : ", attention part") +
                 (whole && m.gated ? ", gated" : "");
}

}  // namespace

void transformer_layer(Cascade& c, Random& random, Text& text) {
    const Model m = draw_model(random);
    const int batch = random.pick({1, 1, 1, 2, 4, 8, 16});
    const int tokens = random.pick({128, 197, 256, 384, 512, 1024, 2048, 4096});
    set_ranks(c, m, batch, tokens, tokens);
    text.kind =
        "decoder layer " + m.name() + ", " + std::to_string(batch) + "x" + std::to_string(tokens);
    layer(c, m, false, random, text);
}

void decode_layer(Cascade& c, Random& random, Text& text) {
    const Model m = draw_model(random);
    const int batch = random.pick({1, 1, 4, 8, 16, 32, 64});
    const int cached = random.pick({512, 1000, 1024, 2048, 4096, 8192});
    set_ranks(c, m, batch, 1, cached);
    text.kind =
        "decode layer " + m.name() + ", " + std::to_string(batch) + "x" + std::to_string(cached);
    layer(c, m, true, random, text);
}

void attention(Cascade& c, Random& random, Text& text) {
    const Model m = draw_model(random);
    const int batch = random.pick({1, 1, 2, 4, 8, 64});
    const int tokens = random.pick({128, 197, 256, 512, 1024, 2048, 4096});
    const int keys = random.chance(75) ? tokens : random.pick({77, 256, 1024, 4096});
    const bool in_pieces = random.chance(50);
    set_ranks(c, m, batch, tokens, keys);
    text.kind = "attention " + m.name() + ", " + std::to_string(batch) + "x" +
                std::to_string(tokens) + "x" + std::to_string(keys) +
                (in_pieces ? ", softmax in pieces" : "");
    scores_to_heads(c, m, "K[b, n, " + m.keys() + ", e]", "V[b, n, " + m.keys() + ", e]",
                    in_pieces);
}

void matmul_chain(Cascade& c, Random& random, Text& text) {
    const int length = 3 + random.below(6);
    const int tokens = random.pick({1, 16, 64, 128, 197, 256, 512, 1024, 2048, 4096});
    const bool activations = random.chance(30), equal = random.chance(25);
    int width = random.pick({256, 512, 784, 1024, 4096});
    c.rank("M", tokens);
    c.rank("N0", width);
    text.kind = "chain of " + std::to_string(length) + " products, " + std::to_string(tokens) +
                " by " + std::to_string(width);
    std::string from = "T0";
    for (int i = 1; i <= length; ++i) {
        width = equal ? width : random.pick({64, 128, 256, 384, 512, 768, 1000, 1024, 2048, 4096});
        const std::string n = std::to_string(i), before = std::to_string(i - 1);
        c.rank("N" + n, width);
        const std::string at = "[m, n" + n + "]";
        c.product("T" + n + at, from + "[m, n" + before + "]",
                  "W" + n + "[n" + before + ", n" + n + "]");
        from = "T" + n;
        if (activations && i < length) {
            c.elementwise("R" + n + at, "T" + n + at, {"T" + n});
            from = "R" + n;
        }
        text.kind += "-" + std::to_string(width);
    }
}

}  // namespace bench::chips
