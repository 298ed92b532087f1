package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// authority signs the certificates of a run.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	// CA is the certificate as PEM.
	CA string
	// servers are those made ahead, by service.
	servers map[string]pair
}

// pair is a certificate and its key as PEM.
type pair struct{ Cert, Key string }

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "realnova"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 7),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		SubjectKeyId: []byte{1},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	a := &authority{key: key, cert: cert, CA: encode("CERTIFICATE", der), servers: map[string]pair{}}
	for _, name := range []string{"mariadb", "rabbitmq"} {
		if a.servers[name], err = a.issue(serverName(name)); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// serverName is what clients call a service.
func serverName(service string) string { return service + "." + namespace + ".svc" }

// issue signs a certificate that serves for the name, and as a client's.
func (a *authority) issue(name string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("make a certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return pair{}, fmt.Errorf("make a certificate: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage:       x509.KeyUsageDigitalSignature,
		ExtKeyUsage:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		AuthorityKeyId: a.cert.SubjectKeyId,
	}, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("make a certificate: %w", err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, fmt.Errorf("make a certificate: %w", err)
	}
	return pair{Cert: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", raw)}, nil
}

// files are the CA and the certificates of services, by file name.
func (a *authority) files(services ...string) map[string]string {
	files := map[string]string{"ca.crt": a.CA}
	for _, name := range services {
		files[name+".crt"], files[name+".key"] = a.servers[name].Cert, a.servers[name].Key
	}
	return files
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
