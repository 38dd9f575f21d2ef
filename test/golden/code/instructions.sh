# What LLVM is given and makes of it: multiply-adds on vectors of four, one instruction each with FMA and two without.
cat > /tmp/instructions.$$ <<'L'
loop rows {
  input $x f32[4] of 0
  input $w f32[3] of 1
  output $y f32[4] of 2
  phase {
    vector @i.init < 4 stage 0 {
      init $y[@i.init] stage 0 = 0.0
    }
    for @k < 3 stage 0 reduce copies 1 {
      vector @i < 4 stage 0 {
        sum $y[@i] stage 0 = $x[@i] * $w[@k]
      }
    }
  }
}
L
trap 'rm -f /tmp/instructions.$$' EXIT
count() { # TARGET FORM PATTERN
  echo "$1, $2: $("$FAMILYSEER" opt --pass="$2" --target "x86_64-linux-gnu -cpu=$1" /tmp/instructions.$$ | grep -cE "$3") of $3"
}
count x86-64-v3 llvm '@llvm.fmuladd.v4f32\('
count x86-64-v3 asm 'vfmadd[0-9]*ps'
count x86-64 asm 'mulps'
count x86-64 asm 'addps'
