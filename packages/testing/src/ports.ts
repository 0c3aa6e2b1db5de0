import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Ports that were free a moment ago, all different from each other. The sockets are held open until all are
 * chosen, since a port closed early may be handed out twice.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  try {
    const ports: number[] = [];
    for (const server of servers) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
      ports.push(address.port);
    }
    return ports;
  } finally {
    for (const server of servers) server.close();
  }
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error('Asked for one free port and got none.');
  return port;
}

/** The first of so many ports in a row that were free a moment ago. */
export async function freePortRow(count: number): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    const first = await freePort();
    const row = Array.from({ length: count }, (_, nth) => first + nth);
    const free = await Promise.all(row.map(isFree));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`Found no ${count} free ports in a row.`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
