import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { eventually } from '../time/eventually.ts';

/** Follows how far a server in this process has read what its clients sent. */
export interface RequestProgress {
  /** Resolves when the server has read everything that the client has written so far, or one of them has disconnected. */
  of(client: Socket): Promise<void>;
}

/** Call it before clients connect. */
export function trackRequestProgress(server: Pick<Server, 'on'>): RequestProgress {
  const requests = new Map<number, IncomingMessage>();
  server.on('request', (request: IncomingMessage) => {
    const { remotePort } = request.socket;
    if (remotePort !== undefined) requests.set(remotePort, request);
  });
  return {
    async of(client) {
      await eventually({ what: 'the server to read what was sent', intervalMs: 1 }, () => {
        if (client.destroyed) return true;
        const request = requests.get(client.localPort ?? 0);
        if (request === undefined) return false;
        if (request.destroyed) return true;
        const isHandedOn = request.readableFlowing === true && request.readableLength === 0;
        return isHandedOn && request.socket.bytesRead >= client.bytesWritten;
      });
    },
  };
}
