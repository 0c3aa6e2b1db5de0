import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '../time/eventually.ts';

/** Records all TCP connections of the loopback interface, as an attacker on the network would. Needs root. */
export interface LinkCapture {
  /** Ends the recording. */
  stop(): Promise<CapturedLinks>;
}

export interface CapturedLinks {
  /** All ports of all connections. */
  readonly ports: readonly number[];
  /** The bytes to and from a port, connection by connection. */
  bytesOf(port: number): Buffer;
}

/** In KiB. A burst that does not fit is lost, and `stop` then throws. */
const kernelBuffer = '131072';

export async function captureLinks(): Promise<LinkCapture> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-capture-'));
  const file = path.join(folder, 'links.pcap');
  const options = ['-i', 'lo', '-n', '-s', '0', '-B', kernelBuffer, '-Z', 'root', '-U', '-w', file];
  // Ends with this process, also if that is killed.
  const tcpdump = spawn('setpriv', ['--pdeathsig', 'KILL', 'tcpdump', ...options, 'tcp'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let messages = '';
  const exited = once(tcpdump, 'exit');
  await new Promise<void>((resolve, reject) => {
    tcpdump.once('error', reject);
    tcpdump.stderr.on('data', (chunk: Buffer) => {
      messages += chunk.toString('utf8');
      if (messages.includes('listening on')) resolve();
    });
    exited.then(() => reject(new Error(`tcpdump ended: ${messages}`)), reject);
  });
  return {
    stop: async () => {
      const last = await sendLastText();
      // The kernel delivers packets in order, but with a delay, and drops those that tcpdump did not read before its end.
      await eventually({ what: 'the last packet', timeoutMs: 60_000, intervalMs: 50 }, async () => {
        return (await readFile(file)).includes(last);
      });
      tcpdump.kill('SIGINT');
      await exited;
      const bytes = await readFile(file);
      await rm(folder, { recursive: true, force: true });
      if (!messages.includes('\n0 packets dropped by kernel')) {
        throw new Error(`The capture is incomplete: ${messages}`);
      }
      return readLinks(bytes);
    },
  };
}

/** A text that no earlier packet contains. */
async function sendLastText(): Promise<string> {
  const text = `the capture ends here: ${randomUUID()}`;
  const server = createServer((socket) => socket.pipe(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.end(text);
  socket.resume();
  await once(socket, 'close');
  server.close();
  return text;
}

const fileHeaderBytes = 24;
const recordHeaderBytes = 16;
const ethernetHeaderBytes = 14;
const ipv6HeaderBytes = 40;

interface Segment {
  readonly from: number;
  readonly to: number;
  readonly payload: Buffer;
}

/** Joins the segments of each direction of each connection, so that a text which spans two of them is found. */
function readLinks(file: Buffer): CapturedLinks {
  const directions = new Map<string, { readonly ports: readonly number[]; readonly payloads: Buffer[] }>();
  for (let offset = fileHeaderBytes; offset + recordHeaderBytes <= file.length;) {
    const length = file.readUInt32LE(offset + 8);
    const start = offset + recordHeaderBytes;
    offset = start + length;
    const segment = readSegment(file.subarray(start, offset));
    if (segment === null) continue;
    const { from, to, payload } = segment;
    const direction = directions.get(`${from} ${to}`) ?? { ports: [from, to], payloads: [] };
    direction.payloads.push(payload);
    directions.set(`${from} ${to}`, direction);
  }
  const all = [...directions.values()];
  return {
    ports: [...new Set(all.flatMap(({ ports }) => ports))],
    bytesOf: (port) =>
      Buffer.concat(all.filter(({ ports }) => ports.includes(port)).flatMap(({ payloads }) => payloads)),
  };
}

/** Null for a packet without payload. */
function readSegment(frame: Buffer): Segment | null {
  const ip = frame.subarray(ethernetHeaderBytes);
  const isIpv6 = (ip[0] ?? 0) >> 4 === 6;
  const ipHeaderBytes = isIpv6 ? ipv6HeaderBytes : ((ip[0] ?? 0) & 0x0f) * 4;
  const ipBytes = isIpv6 ? ipv6HeaderBytes + ip.readUInt16BE(4) : ip.readUInt16BE(2);
  // Large segments have no length here, because the kernel splits them later.
  const tcp = ip.subarray(ipHeaderBytes, ipBytes === 0 ? ip.length : ipBytes);
  const payload = tcp.subarray(((tcp[12] ?? 0) >> 4) * 4);
  if (payload.length === 0) return null;
  return { from: tcp.readUInt16BE(0), to: tcp.readUInt16BE(2), payload };
}
