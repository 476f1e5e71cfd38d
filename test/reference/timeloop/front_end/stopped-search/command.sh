cd "$OUT" ;  timeloop-mapper  "$OUT/parsed-processed-input.yaml" "$IN/energies.ERT.yaml" "$IN/energies.ART.yaml"
