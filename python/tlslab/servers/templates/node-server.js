// Node's https and http2 servers, set up by a JSON file; `targets/node.py` writes it and starts this.
//
//   node node-server.js CONFIG           serves; a line on standard output says where
//   node node-server.js CONFIG --check   prints what this Node refuses of the configuration
//
// Node.js 10.13, that of the suites study, reads it as well: no newer syntax and names.
"use strict";

const cluster = require("cluster");
const crypto = require("crypto");
const fs = require("fs");
const http = require("http");
const http2 = require("http2");
const https = require("https");
const tls = require("tls");

const config = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));

function tlsOptions() {
  const options = {
    key: config.certificates.map((files) => fs.readFileSync(files.key)),
    cert: config.certificates.map((files) => fs.readFileSync(files.certificate)),
    ciphers: config.ciphers,
    honorCipherOrder: false,
    minVersion: "TLSv1.2",
    maxVersion: "TLSv1.3",
    sessionIdContext: "tlslab",
  };
  if (config.groups.length > 0) options.ecdhCurve = config.groups.join(":");
  // Before version 18 Node.js knew no automatic parameters: without any it refuses suites of DHE.
  const automatic = parseInt(process.versions.node, 10) >= 18;
  if (automatic || config.dhparam !== "auto") options.dhparam = config.dhparam;
  if (config.ticketKeys) options.ticketKeys = Buffer.from(config.ticketKeys, "hex");
  else options.secureOptions = crypto.constants.SSL_OP_NO_TICKET;
  return options;
}

function refused(option, names) {
  const words = {};
  for (const name of names) {
    try {
      tls.createSecureContext({ [option]: name });
    } catch (error) {
      words[name] = error.message;
    }
  }
  return words;
}

function makeServer(answer) {
  if (config.plain) return (config.http2 ? http2 : http).createServer(answer);
  const options = tlsOptions();
  if (config.http2) return http2.createSecureServer({ ...options, allowHTTP1: true }, answer);
  return https.createServer(options, answer);
}

function keepSessions(server) {
  const sessions = new Map();
  server.on("newSession", (id, session, done) => {
    sessions.set(id.toString("hex"), session);
    done();
  });
  server.on("resumeSession", (id, done) => done(null, sessions.get(id.toString("hex")) || null));
}

function staple(server) {
  const response = fs.readFileSync(config.certificates[0].ocsp_response);
  server.on("OCSPRequest", (certificate, issuer, done) => done(null, response));
}

function serve(ready) {
  const document = Buffer.alloc(config.documentBytes);
  for (let at = 0; at < document.length; at += 1) document[at] = at % 251;
  const headers = {
    "content-type": "application/octet-stream",
    "content-length": document.length,
  };
  const server = makeServer((request, response) => {
    const found = request.url === config.path;
    response.writeHead(found ? 200 : 404, found ? headers : {});
    response.end(found ? document : undefined);
  });
  server.keepAliveTimeout = config.idleMs;
  if (config.http2) server.setTimeout(config.idleMs);
  if (config.sessions) keepSessions(server);
  if (config.certificates.length > 0 && config.certificates[0].ocsp_response) staple(server);
  server.on("error", fail);
  server.on("tlsClientError", () => {});
  server.on("clientError", (error, socket) => socket.destroy());
  server.on("sessionError", () => {});
  server.listen({ host: config.listen, port: 0, backlog: config.backlog }, () =>
    ready(server.address().port),
  );
}

function announce(port) {
  process.stdout.write(`${JSON.stringify({ event: "ready", address: `${config.host}:${port}` })}\n`);
}

function fail(error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

function lead() {
  let listening = 0;
  cluster.on("listening", (worker, address) => {
    listening += 1;
    if (listening === config.workers) announce(address.port);
  });
  cluster.on("exit", () => fail(new Error("a worker has ended")));
  for (let started = 0; started < config.workers; started += 1) cluster.fork();
}

function main() {
  if (process.argv[3] === "--check") {
    const answer = {
      group: refused("ecdhCurve", config.groups),
      suite: refused("ciphers", config.suites),
      refusal: "",
    };
    config.groups = config.groups.filter((name) => !(name in answer.group));
    try {
      if (!config.plain) tls.createSecureContext(tlsOptions());
    } catch (error) {
      answer.refusal = error.message;
    }
    process.stdout.write(JSON.stringify(answer));
  } else if (config.workers > 1 && cluster.isMaster) lead();
  else serve(config.workers > 1 ? () => {} : announce);
}

try {
  main();
} catch (error) {
  fail(error);
}
