import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { makeCertificate, type TestCertificate } from './certificates.ts';

export interface ProtocolRecorder {
  readonly url: string;
  readonly certificate: TestCertificate;
  /** The ALPN names of the HTTP versions that the first client offers. */
  readonly offered: Promise<readonly string[]>;
  close(): void;
}

/** A TLS server that records the protocols that a client offers, then closes the connection. */
export async function startProtocolRecorder(): Promise<ProtocolRecorder> {
  const certificate = await makeCertificate('recorder');
  const offered = Promise.withResolvers<readonly string[]>();
  const server = createServer({
    key: certificate.key,
    cert: certificate.certificate,
    ALPNCallback: ({ protocols }) => {
      offered.resolve(protocols);
      return undefined;
    },
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `https://127.0.0.1:${port}`;
  return { url, certificate, offered: offered.promise, close: () => void server.close() };
}
