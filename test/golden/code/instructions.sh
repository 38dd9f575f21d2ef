# What LLVM is given and makes of it: multiply-adds on vectors of four, one instruction each with FMA and two without;
# words of bytes, each one load that is spread over the lanes, and one instruction with VNNI.
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

cat > /tmp/instructions.$$ <<'L'
loop bytes {
  input $x u8[2, 24] of 0
  input $w i32[6, 16] of 1
  output $y i32[2, 16] of 2
  phase {
    unroll @m.init < 2 stage 0 {
      vector @n.init < 16 stage 0 {
        init $y[@m.init, @n.init] stage 0 = 0:i32
      }
    }
    for @k < 6 stage 0 reduce copies 1 {
      unroll @m < 2 stage 0 {
        vector @n < 16 stage 0 {
          sum $y[@m, @n] stage 0 = dot4(cast.i32($x[@m, @k * 4]) | shl(cast.i32($x[@m, @k * 4 + 1]), 8:i32) | shl(cast.i32($x[@m, @k * 4 + 2]), 16:i32) | shl(cast.i32($x[@m, @k * 4 + 3]), 24:i32), $w[@k, @n])
        }
      }
    }
  }
}
L
count 'x86-64-v4 -features=+avx512vnni' asm 'vpdpbusd.*zmm'
count 'x86-64-v4 -features=+avx512vnni' asm 'vpbroadcastd.*zmm|1to16'
count 'x86-64-v4 -features=+avx512vnni' asm 'movzb'
