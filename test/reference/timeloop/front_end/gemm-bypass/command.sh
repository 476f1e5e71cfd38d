cd "$OUT" ;  timeloop-model  "$OUT/parsed-processed-input.yaml"
