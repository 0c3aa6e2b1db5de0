import { connect } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';

import { messageOf } from './failure.ts';

/** Sends text to a loopback port and reads until `until` is satisfied, so that readiness checks need no client library. */
export function exchangeText(options: {
  readonly port: number;
  /** PEM texts: the authority of the server's certificate, and a client certificate if the server asks for one. */
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'> | undefined;
  readonly send: readonly string[];
  readonly until: (received: string) => boolean;
  readonly timeoutMs?: number;
}): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const to = { port: options.port, host: '127.0.0.1' };
    const socket = options.tls === undefined ? connect(to) : connectTls({ ...to, ...options.tls });
    const finish = (end: () => void): void => {
      socket.destroy();
      end();
    };
    socket.setTimeout(options.timeoutMs ?? 2000, () =>
      finish(() => reject(new Error(`no answer on port ${options.port}`))),
    );
    socket.on('error', (error) => finish(() => reject(error)));
    socket.on(options.tls === undefined ? 'connect' : 'secureConnect', () =>
      options.send.forEach((text) => socket.write(text)),
    );
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('utf8');
      if (options.until(received)) finish(() => resolve(received));
    });
    socket.on('end', () => finish(() => reject(new Error(`port ${options.port} closed the connection`))));
  });
}

export function httpGet(url: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  return fetchOk(url, { headers });
}

export function httpPost(url: string, body: unknown): Promise<string> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  return fetchOk(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function fetchOk(url: string, init: RequestInit): Promise<string> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, signal: AbortSignal.timeout(5000) });
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`no answer from ${url}: ${messageOf(cause)}`, { cause: error });
  }
  const body = await response.text();
  if (response.status === 200) return body;
  throw new Error(`${url} answered ${response.status}: ${body.slice(0, 200)}`);
}
