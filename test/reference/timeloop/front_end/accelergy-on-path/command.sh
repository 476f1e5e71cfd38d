cd "$OUT" ;  timeloop-mapper  "$OUT/parsed-processed-input.yaml"
