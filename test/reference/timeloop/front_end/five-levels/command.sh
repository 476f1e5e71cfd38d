cd "$OUT" ; TIMELOOP_HIDE_INCONSEQUENTIAL_STATS=0 timeloop-mapper  "$OUT/parsed-processed-input.yaml" "$IN/energies.ERT.yaml" "$IN/energies.ART.yaml"
