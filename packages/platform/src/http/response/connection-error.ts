import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Timer } from '../../clock/index.ts';
import { Fault, renderFault, type FaultTarget } from '../../fault/index.ts';
import type { IdSource, RequestId } from '../../ids/index.ts';

/** The client's time to read the response, because it might never close its side. */
const closeMs = 2_000;

export interface ConnectionErrorOptions {
  readonly clock: Pick<Timer, 'after'>;
  readonly ids: Pick<IdSource, 'next'>;
  readonly target: FaultTarget | null;
  readonly headers: (requestId: RequestId) => Readonly<Record<string, string>>;
}

/** Responds to bytes that the HTTP parser rejects or that arrive too slowly. Node would send no body. */
export function sendConnectionError(
  { clock, ids, target, headers }: ConnectionErrorOptions,
  error: Error & { readonly code?: string },
  socket: Socket,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = ids.next('req');
  const { status, headers: own, body } = renderFault(faultOf(error.code), target, requestId);
  const json = JSON.stringify(body);
  const all = {
    ...headers(requestId),
    ...own,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(json)),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${json}`);
  socket.once(
    'close',
    clock.after(closeMs, () => socket.destroy()),
  );
}

function faultOf(code: string | undefined): Fault {
  if (code === 'HPE_HEADER_OVERFLOW') return new Fault('HEADERS_TOO_LARGE');
  if (code !== 'ERR_HTTP_REQUEST_TIMEOUT') return new Fault('MALFORMED_HTTP');
  return new Fault('BODY_TIMEOUT', {
    message: 'The request did not arrive in time.',
    suggestion: 'Send a complete HTTP/1.1 request.',
  });
}
