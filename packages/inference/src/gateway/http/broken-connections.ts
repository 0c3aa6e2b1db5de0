import type { Timer } from '@millrace/platform/clock';
import { sendConnectionError } from '@millrace/platform/http/connection-error';
import type { IdSource } from '@millrace/platform/ids';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { responseHeaders, inferenceFaultTarget } from './responses.ts';
import type { InFlightSet } from './in-flight-set.ts';

/** Answers connections whose bytes the HTTP parser refuses, or whose request does not arrive in time. */
export function handleBrokenConnections(
  server: Server,
  { clock, ids }: { readonly clock: Pick<Timer, 'after'>; readonly ids: Pick<IdSource, 'next'> },
  open: Pick<InFlightSet<ServerResponse>, 'list'>,
): void {
  const headers = (id: string) => responseHeaders(id, null);
  const options = { clock, ids, target: inferenceFaultTarget, headers };
  server.on('clientError', (error: Error & { readonly code?: string }, duplex) => {
    const socket = duplex as Socket;
    // Bytes after a whole request: an answer to them would be taken for the answer to that request, or for a part of it.
    const isAnswering = (response: ServerResponse): boolean =>
      response.socket === socket && (response.req.complete || response.headersSent);
    if (open.list().some(isAnswering)) socket.destroy();
    else sendConnectionError(options, error, socket);
  });
}
