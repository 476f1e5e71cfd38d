cd "$OUT" ; TIMELOOP_ENABLE_FIRST_READ_ELISION=0 TIMELOOP_DISABLE_LINK_TRANSFERS=1 timeloop-model  "$OUT/parsed-processed-input.yaml" "$IN/energies.ERT.yaml" "$IN/energies.ART.yaml"
