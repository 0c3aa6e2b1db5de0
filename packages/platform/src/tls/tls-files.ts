import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:net';
import { Server as TlsServer, type SecureVersion } from 'node:tls';
import type { Timer } from '../clock/index.ts';
import { startLoop, type Loop } from '../lifecycle/index.ts';
import type { Logger } from '../log/index.ts';
import { msToSeconds } from '../money/index.ts';
import { gauge } from '../telemetry/index.ts';
import { assertKeyMatches } from './pinned-tls.ts';

export interface TlsFilesOptions {
  readonly server: Server;
  readonly certFile: string;
  readonly keyFile: string;
  /** The certificate and key that the server has already. */
  readonly loaded: { readonly cert: string; readonly key: string };
  readonly clock: Timer;
  readonly log: Logger;
  readonly minVersion?: SecureVersion;
  readonly everyMs?: number;
}

const expiryGauge = gauge('millrace_certificate_expires_timestamp_seconds');

const EVERY_MS = 10_000;

/**
 * Uses a changed certificate for new connections; open ones keep theirs. Until certificate and key match, the
 * server keeps the earlier pair: programs that renew certificates write one file after the other.
 */
export function watchTlsFiles(options: TlsFilesOptions): Loop {
  const { server, certFile, keyFile, clock, log, minVersion = 'TLSv1.2', everyMs = EVERY_MS } = options;
  let { cert, key } = options.loaded;
  const watching = { name: 'TLS files', clock, log, idleMs: everyMs, maxBackoffMs: everyMs };
  recordExpiry(cert);
  return startLoop(watching, async () => {
    const [newCert, newKey] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
    if (newCert === cert && newKey === key) return 'idle';
    // `setSecureContext` accepts empty texts, and notices only at the next handshake that a key does not match.
    assertKeyMatches(newCert, newKey, certFile);
    if (!(server instanceof TlsServer)) throw new TypeError('The server does not use TLS.');
    server.setSecureContext({ cert: newCert, key: newKey, minVersion });
    [cert, key] = [newCert, newKey];
    recordExpiry(cert);
    log.info({ certFile }, 'TLS certificate reloaded');
    return 'idle';
  });
}

function recordExpiry(cert: string): void {
  expiryGauge.record(msToSeconds(new X509Certificate(cert).validToDate.getTime()));
}

/** The TLS settings of a process; null if it serves plain HTTP. */
export function tlsFilesOf(http: {
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly tlsCertFile: string | null;
  readonly tlsKeyFile: string | null;
}): Pick<TlsFilesOptions, 'certFile' | 'keyFile' | 'loaded'> | null {
  const { tlsCert: cert, tlsKey: key, tlsCertFile: certFile, tlsKeyFile: keyFile } = http;
  if (cert === null || key === null || certFile === null || keyFile === null) return null;
  return { certFile, keyFile, loaded: { cert, key } };
}
