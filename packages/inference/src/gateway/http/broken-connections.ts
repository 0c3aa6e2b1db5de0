import type { Timer } from '@millrace/platform/clock';
import { sendConnectionError } from '@millrace/platform/http/connection-error';
import type { IdSource } from '@millrace/platform/ids';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { responseHeaders, inferenceFaultTarget } from './responses.ts';
import type { InFlightSet } from './in-flight-set.ts';

/** Responds to connections with invalid HTTP or with a request that does not arrive in time. */
export function handleBrokenConnections(
  server: Server,
  { clock, ids }: { readonly clock: Pick<Timer, 'after'>; readonly ids: Pick<IdSource, 'next'> },
  open: Pick<InFlightSet<ServerResponse>, 'list'>,
): void {
  const headers = (id: string) => responseHeaders(id, null);
  const options = { clock, ids, target: inferenceFaultTarget, headers };
  server.on('clientError', (error: Error & { readonly code?: string }, duplex) => {
    const socket = duplex as Socket;
    // Bytes after a complete request: a response to them would be taken for the response to that request.
    const isAnswering = (response: ServerResponse): boolean =>
      response.socket === socket && (response.req.complete || response.headersSent);
    if (open.list().some(isAnswering)) socket.destroy();
    else sendConnectionError(options, error, socket);
  });
}
