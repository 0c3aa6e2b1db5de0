import { readFile } from 'node:fs/promises';
import { Agent } from 'undici';
import type { Timer } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import {
  assertKeyMatches,
  explainTlsError,
  openCredentialFiles,
  type CredentialSource,
} from '../tls/index.ts';

/** In PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface RestateConnectionOptions {
  /** PEM of the authority of Restate's certificate. By default, public authorities. */
  readonly ca: string | null;
  readonly client: CredentialSource<ClientCertificate> | null;
  readonly log: Pick<Logger, 'error'>;
}

export interface RestateRequest {
  /** By default POST. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface RestateResponse {
  readonly status: number;
  readonly text: string;
}

/** The connections of a process to ingress and admin API. */
export interface RestateConnection {
  /** Sends it again if the connection was closed meanwhile, so it must be idempotent. */
  send(call: RestateRequest): Promise<RestateResponse>;
  close(): Promise<void>;
}

const connectMs = 3_000;

const repair = {
  server: 'Restate',
  trust:
    'Check that MILLRACE_ENGINE_CA_FILE has the authority that issued it, and that it contains the name or address ' +
    'in MILLRACE_RESTATE_INGRESS_URL and MILLRACE_RESTATE_ADMIN_URL.',
  client:
    'If this repeats, check that the proxy in front of Restate accepts MILLRACE_RESTATE_CLIENT_CERT_FILE, and that this certificate has not expired.',
};

/** Restate or this process refused the connection. The message says what an operator has to change. */
export class RestateRefusedError extends Error {
  override readonly name = 'RestateRefusedError';
}

interface OpenAgent {
  readonly client: ClientCertificate | null;
  readonly agent: Agent;
}

class Connection implements RestateConnection {
  readonly #options: RestateConnectionOptions;
  #open: OpenAgent | null = null;
  /** The last logged explanation. */
  #reported: string | null = null;

  constructor(options: RestateConnectionOptions) {
    this.#options = options;
  }

  async send(call: RestateRequest): Promise<RestateResponse> {
    try {
      const response = await this.#request(call).catch((error: unknown) => {
        if (!wasClosed(error)) throw error;
        return this.#request(call);
      });
      this.#reported = null;
      return response;
    } catch (cause) {
      const explained = call.url.startsWith('https:') ? explainTlsError(cause, repair) : null;
      if (explained === null) throw cause;
      this.#options.client?.recheck();
      if (explained !== this.#reported) this.#options.log.error({}, explained);
      this.#reported = explained;
      throw new RestateRefusedError(explained, { cause });
    }
  }

  async #request({
    method = 'POST',
    url,
    headers,
    body = '',
    signal,
  }: RestateRequest): Promise<RestateResponse> {
    const agent = await this.#agent();
    const { origin, pathname, search } = new URL(url);
    const response = await agent.request({
      origin,
      path: pathname + search,
      method,
      headers,
      ...(body === '' ? {} : { body }),
      signal,
    });
    return { status: response.statusCode, text: await response.body.text() };
  }

  /** A new certificate needs new connections. Requests in progress end on the earlier ones. */
  async #agent(): Promise<Agent> {
    const { ca, client: source } = this.#options;
    const client = (await source?.latest()) ?? null;
    const earlier = this.#open;
    if (earlier !== null && earlier.client === client) return earlier.agent;
    const agent = new Agent({
      allowH2: false,
      connect: {
        timeout: connectMs,
        ...(ca === null ? {} : { ca }),
        ...(client === null ? {} : { cert: client.certificate, key: client.key }),
      },
    });
    this.#open = { client, agent };
    earlier?.agent.close().catch(() => undefined);
    return agent;
  }

  async close(): Promise<void> {
    await this.#open?.agent.close();
  }
}

/** A server that stops or is reconfigured closes connections, also in the moment in which a request begins. */
function wasClosed(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(code);
}

export function createRestateConnection(options: RestateConnectionOptions): RestateConnection {
  return new Connection(options);
}

/** For Restate on loopback. */
export const plainConnection = createRestateConnection({
  ca: null,
  client: null,
  log: { error: () => undefined },
});

/** The client certificate in the files of a worker, which may be replaced at any time. */
export function openClientCertificate(options: {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly everyMs?: number;
}): Promise<CredentialSource<ClientCertificate>> {
  const { certFile, keyFile, ...rest } = options;
  const read = async (): Promise<ClientCertificate> => {
    const certificate = await readFile(certFile, 'utf8');
    const key = await readFile(keyFile, 'utf8');
    assertKeyMatches(certificate, key, certFile);
    return { certificate, key };
  };
  return openCredentialFiles({ ...rest, name: 'client certificate for Restate', read });
}
