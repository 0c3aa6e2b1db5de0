import { once } from 'node:events';
import { createServer } from 'node:net';

/* Ports outside the kernel's ephemeral range, in which any process could take one. Each process has its own block. */
const FIRST_PORT = 25_000;
const PORT_BLOCKS = 128;
const PORT_BLOCK_SIZE = 60;
const firstPortOfBlock = FIRST_PORT + (process.pid % PORT_BLOCKS) * PORT_BLOCK_SIZE;
let chosen = 0;

/** Distinct ports that are free now. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; tries < PORT_BLOCK_SIZE && ports.length < count; tries += 1) {
    const port = firstPortOfBlock + (chosen % PORT_BLOCK_SIZE);
    chosen += 1;
    if (await isFree(port)) ports.push(port);
  }
  if (ports.length < count)
    throw new Error(`Fewer than ${count} ports are free from ${firstPortOfBlock} on.`);
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error('No port is free.');
  return port;
}

/** The first of `count` consecutive ports that are free now. */
export async function freePortRange(count: number): Promise<number> {
  for (let tries = 0; tries < PORT_BLOCK_SIZE; tries += 1) {
    const first = firstPortOfBlock + (chosen % (PORT_BLOCK_SIZE - count + 1));
    chosen += count;
    const row = Array.from({ length: count }, (_, nth) => first + nth);
    const free = await Promise.all(row.map(isFree));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`No ${count} consecutive ports are free from ${firstPortOfBlock} on.`);
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
