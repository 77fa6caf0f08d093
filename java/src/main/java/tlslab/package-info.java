/**
 * Benchmarks of TLS handshakes in memory and of XML signatures, and a profiler that accounts for
 * processor time. The lab starts them; each also runs alone: {@code java -jar benchmarks.jar -h}.
 */
package tlslab;
