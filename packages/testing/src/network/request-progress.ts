import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { eventually } from '../time/eventually.ts';

/** Tracks how much of its clients' bytes a server in this process has read. */
export interface RequestProgress {
  /** Resolves when the server has read everything that the client wrote so far, or either side has disconnected. */
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
