#!/bin/sh
# certificates.sh FOLDER - certificates of a test: two authorities (ca, unknown), and servers' by them.
set -e
cd "$1"
curve="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
authority() {  # NAME
  # shellcheck disable=SC2086
  openssl req -x509 $curve -keyout "$1.key" -out "$1.pem" -days 2 -subj "/CN=$1"
}
certificate() {  # NAME AUTHORITY DAYS ALTERNATIVE-NAMES
  # shellcheck disable=SC2086
  openssl req $curve -keyout "$1.key" -out "$1.csr" -subj "/CN=localhost"
  echo "subjectAltName=$4" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days "$3" -extfile "$1.ext" -out "$1.pem"
}
authority ca
authority unknown
certificate good ca 2 DNS:localhost,IP:127.0.0.1
certificate named ca 2 DNS:localhost
certificate elsewhere ca 2 DNS:elsewhere.example,IP:127.0.0.2
certificate expired ca -1 DNS:localhost,IP:127.0.0.1
certificate stranger unknown 2 DNS:localhost,IP:127.0.0.1
# Clients': a key that is encrypted, and certificate and key in one file.
certificate client ca 2 DNS:client.example
openssl ec -in client.key -aes256 -passout pass:secret -out client.encrypted
cat client.pem client.key > both.pem
