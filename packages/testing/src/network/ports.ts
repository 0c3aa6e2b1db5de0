import { once } from 'node:events';
import { createServer } from 'node:net';

/*
 * Ports below the range that the kernel gives to outgoing connections and to `listen(0)`: one of those could be taken by
 * any process between the choice here and its use. Each process chooses from a part of its own, by its process id.
 */
const FIRST_PORT = 25_000;
const PORT_BLOCKS = 128;
const PORT_BLOCK_SIZE = 60;
const firstPortOfBlock = FIRST_PORT + (process.pid % PORT_BLOCKS) * PORT_BLOCK_SIZE;
let chosen = 0;

/** Ports that are free now, all different from each other. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; tries < PORT_BLOCK_SIZE && ports.length < count; tries += 1) {
    const port = firstPortOfBlock + (chosen % PORT_BLOCK_SIZE);
    chosen += 1;
    if (await isFree(port)) ports.push(port);
  }
  if (ports.length < count) throw new Error(`Found no ${count} free ports from ${firstPortOfBlock} on.`);
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error('Asked for one free port and got none.');
  return port;
}

/** The first of so many ports in a row that are free now. */
export async function freePortRange(count: number): Promise<number> {
  for (let tries = 0; tries < PORT_BLOCK_SIZE; tries += 1) {
    const first = firstPortOfBlock + (chosen % (PORT_BLOCK_SIZE - count + 1));
    chosen += count;
    const row = Array.from({ length: count }, (_, nth) => first + nth);
    const free = await Promise.all(row.map(isFree));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`Found no ${count} free ports in a row from ${firstPortOfBlock} on.`);
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
