// kind.c - what people have in hand in place of an ONNX file, by how it begins. The contract:
// onnx.h. Where the beginnings are published: ELF, ZIP, HDF5, gzip, xz, zstd, GGUF and Git LFS in
// their specifications, TensorFlow Lite's identifier in its schema, safetensors in its README,
// pickles in Python's pickletools.
#include <string.h>

#include "front/onnx/onnx.h"

#define FROM_TORCH \
  "torch.onnx.export(model, args, \"model.onnx\") writes an ONNX file of the module"
#define FROM_TENSORFLOW "tf2onnx (PyPI) makes an ONNX file of it"

typedef struct {
  const char *begin;
  uint8_t n_begin, at;
  const char *what;  // "is ..."
  const char *advice;
} kind;

#define KIND(begin, at, what, advice) \
  { begin, sizeof(begin) - 1, at, what, advice }
static const kind kinds[] = {
    KIND("\177ELF", 0, "a library or program",
        "of a library `familyseer info` says what it was made of"),
    KIND("PK\3\4", 0, "a zip archive, as torch.save writes them", FROM_TORCH),
    KIND("\x80\2", 0, "a Python pickle, as older versions of torch.save write them", FROM_TORCH),
    KIND("\x80\4", 0, "a Python pickle", FROM_TORCH),
    KIND("\0\0\0{\"", 5, "safetensors: weights without a network", FROM_TORCH),
    KIND("GGUF", 0, "weights for llama.cpp", "export the model that they were made of"),
    KIND("\x89HDF\r\n", 0, "an HDF5 file, as Keras writes them", FROM_TENSORFLOW),
    KIND("TFL3", 4, "a TensorFlow Lite network", FROM_TENSORFLOW),
    KIND("\x1f\x8b", 0, "a compressed file (gzip)", "unpack it first"),
    KIND("\xfd"
         "7zXZ",
        0, "a compressed file (xz)", "unpack it first"),
    KIND("\x28\xb5\x2f\xfd", 0, "a compressed file (zstd)", "unpack it first"),
    KIND("version https://git-lfs", 0, "a pointer of Git LFS to the file",
        "`git lfs pull` fetches the file itself"),
    KIND("<?xml", 0, "XML: of OpenVINO's networks, as far as there are some",
        "give the ONNX file that it was made of"),
    KIND("<!DOCTYPE", 0, "a web page, in place of what was to be fetched", "fetch the raw file"),
    KIND("<html", 0, "a web page, in place of what was to be fetched", "fetch the raw file"),
};

seer_status seer_onnx_check_kind(const char *source, const void *data, size_t n_bytes) {
  if (n_bytes == 0) return SEER_FAIL(INVALID, "%s is empty, must be an ONNX file", source);
  for (size_t i = 0; i < SEER_COUNT_OF(kinds); i++) {
    const kind *k = &kinds[i];
    if (n_bytes < (size_t)k->at + k->n_begin) continue;
    if (memcmp((const char *)data + k->at, k->begin, k->n_begin) == 0)
      return SEER_FAIL(INVALID, "%s is %s, must be an ONNX file; %s", source, k->what, k->advice);
  }
  return SEER_OK;
}
