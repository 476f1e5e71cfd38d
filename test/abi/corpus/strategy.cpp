// A sound strategy: what the broken plugins are made of.
#include "tessera/plugin/search_strategy.hpp"

#ifndef CORPUS_NAME
#define CORPUS_NAME "corpus"
#endif

namespace {

class Corpus : public tessera::search::SearchStrategy {
public:
    std::string name() const override {
        return CORPUS_NAME;
    }
    void start(const tessera::search::Space&, std::uint64_t seed) override {
        seed_ = seed;
    }
    std::size_t ask(std::span<tessera::search::Candidate> batch) override {
        for (tessera::search::Candidate& candidate : batch) {
            candidate.how = tessera::search::Candidate::How::draw;
            candidate.seed = tessera::search::stream_seed(seed_, ++drawn_);
        }
        return batch.size();
    }
    void tell(std::span<const tessera::search::Candidate>) override {}

private:
    std::uint64_t seed_ = 0, drawn_ = 0;
};

TESSERA_PLUGIN(tessera::search::SearchStrategy, Corpus, CORPUS_NAME, "draws", "");

}  // namespace

TESSERA_PLUGIN_LIBRARY(CORPUS_NAME, "1.0", "corpus", "", "draws");
