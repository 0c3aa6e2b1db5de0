import { readFile } from 'node:fs/promises';
import type { Clock, Timer } from '@millrace/platform/clock';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { parseCertificates } from '@millrace/platform/tls';

const setting = 'MILLRACE_STORAGE_CLIENT_CERTS_FILE';
const EVERY_MS = 10_000;

/** The client certificates that may send requests. */
export class AcceptedClients {
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** The validity of each certificate, by fingerprint. */
  #validity: ReadonlyMap<string, { readonly fromMs: number; readonly toMs: number }>;

  constructor(pem: string, clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
    this.#validity = validityOf(pem);
  }

  /** Keeps the earlier list if the text contains no valid one. */
  replace(pem: string): void {
    this.#validity = validityOf(pem);
  }

  /** Why a client is refused, and what to do; null for an accepted client. */
  rejectionOf(fingerprint: string | undefined): string | null {
    if (fingerprint === undefined) return 'The client has no certificate; workers need one.';
    const valid = this.#validity.get(fingerprint);
    if (valid === undefined) return `The client certificate ${fingerprint} is not in ${setting}; add it.`;
    const nowMs = this.#clock.nowMs();
    if (nowMs >= valid.fromMs && nowMs <= valid.toMs) return null;
    const state = nowMs > valid.toMs ? 'has expired' : 'is not yet valid';
    return `The client certificate ${fingerprint} ${state}; replace it on the workers and in ${setting}.`;
  }
}

function validityOf(pem: string): ReadonlyMap<string, { readonly fromMs: number; readonly toMs: number }> {
  return new Map(
    parseCertificates(pem, setting).map(({ fingerprint256, validFromDate, validToDate }) => [
      fingerprint256,
      { fromMs: validFromDate.getTime(), toMs: validToDate.getTime() },
    ]),
  );
}

export interface AcceptedClientsFile {
  readonly clients: AcceptedClients;
  readonly file: string;
  /** The text that is in use already. */
  readonly loaded: string;
  readonly clock: Timer;
  readonly log: Logger;
  readonly everyMs?: number;
}

/** Uses the file again when it changes. Connections of removed clients stay open, and their requests are refused. */
export function watchAcceptedClients(options: AcceptedClientsFile): Loop {
  const { clients, file, clock, log, everyMs = EVERY_MS } = options;
  let current = options.loaded;
  const watching = { name: 'accepted clients', clock, log, idleMs: everyMs, maxBackoffMs: everyMs };
  return startLoop(watching, async () => {
    const text = await readFile(file, 'utf8');
    if (text === current) return 'idle';
    clients.replace(text);
    current = text;
    log.info({ file }, 'client certificates reloaded');
    return 'idle';
  });
}
