// Command tlslab-signer is a signing node: OpenBao's core with its transit engine behind its own
// HTTPS API, and nothing else of OpenBao. Keys are held in memory, sealed as OpenBao does.
//
// It prints one line of JSON, {"url": ..., "root_token": ...}, when it is ready to be set up, and
// serves until it is ended.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	baohttp "github.com/openbao/openbao/http"
	"github.com/openbao/openbao/vault"
)

// What a client may take to send a request's head and what a quiet connection may last.
const (
	headTime  = 10 * time.Second
	quietTime = 5 * time.Minute
)

type ready struct {
	URL       string `json:"url"`
	RootToken string `json:"root_token"`
}

func main() {
	log.SetFlags(0)
	listen := flag.String("listen", "127.0.0.1:0", "address and port to serve on")
	certificate := flag.String("certificate", "", "the node's certificate, PEM")
	key := flag.String("key", "", "its key, PEM")
	version := flag.Bool("version", false, "print the version of OpenBao and end")
	flag.Parse()
	if *version {
		fmt.Println("OpenBao " + baoVersion)
		return
	}
	if err := serve(*listen, *certificate, *key); err != nil {
		// One line, whatever OpenBao's error looks like.
		log.Fatal("tlslab-signer: ", strings.Join(strings.Fields(err.Error()), " "))
	}
}

func serve(address, certificate, key string) error {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	core, rootToken, err := newCore()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	line := ready{URL: "https://" + listener.Addr().String(), RootToken: rootToken}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		return err
	}
	server := &http.Server{
		Handler:           baohttp.Handler.Handler(&vault.HandlerProperties{Core: core}),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: headTime,
		IdleTimeout:       quietTime,
	}
	return server.ServeTLS(listener, "", "")
}
