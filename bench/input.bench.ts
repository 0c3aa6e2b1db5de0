import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, defineBench, residentMib, type BenchAssertion, type BenchReport } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { acceptedEncodings } from '../apps/api/src/console.ts';
import { imageOperations } from '../packages/inference/src/gateway/media/image-operations.ts';
import { hasMoreValuesThan } from '../packages/inference/src/wire/count-json-values.ts';
import { startBaseline, startUpstreamDouble } from './gateway/gateways.ts';
import { openInferenceStack } from '../tests/stack/inference-stack.ts';
import { seedInferenceTenant } from '../tests/stack/inference-tenant.ts';

/** Measures how long one hostile request blocks a process, and how much memory slow uploads use. */

const MIB = 1_048_576;
const BODY_BYTES = 4 * MIB;
const tag = '<sd_cpp_extra_args>';
const header = `a${' '.repeat(16_000)}b`;

/** The earlier expressions of the product, for comparison. */
const before = {
  removeOptions: (text: string): string =>
    text.replaceAll(/<sd_cpp_extra_args>.*?<\/sd_cpp_extra_args>/gis, ''),
  encodings: (text: string): readonly string[] => text.split(/\s*;\s*/),
};
/** The old expression takes minutes for the whole body, so it gets a part. */
const OLD_PATTERN_INPUT_SHARE = 32;

/** Processor time of this thread, the shortest of several rounds, so that other load does not count. */
function shortestMs(rounds: number, work: () => unknown): number {
  let shortest = Infinity;
  for (let round = 0; round < rounds; round += 1) {
    const started = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(started);
    shortest = Math.min(shortest, (user + system) / 1_000);
  }
  return shortest;
}

const { generateImage } = imageOperations({ clock: systemClock, randomSeed: () => 1 });

/** The work of one turn of the gateway's event loop: count the values of the body, parse and validate it. */
function readImageRequest(bytes: Buffer): void {
  hasMoreValuesThan(20_000, bytes);
  try {
    generateImage.read(JSON.parse(bytes.toString('utf8')));
  } catch {
    // Refused, because the sampler's name is too long.
  }
}

function blocks(): BenchReport {
  const fill = { model_name: 'x', prompt: 'x', width: 512, height: 512, sampler: '' };
  const room = BODY_BYTES - JSON.stringify(fill).length;
  const sampler = tag.repeat(Math.floor(room / tag.length));
  const body = Buffer.from(JSON.stringify({ ...fill, sampler }));
  const part = sampler.slice(0, Math.floor(sampler.length / OLD_PATTERN_INPUT_SHARE));
  const figures = {
    imageBodyBeforeOneOf32Ms: shortestMs(1, () => before.removeOptions(part)),
    imageBodyMs: shortestMs(25, () => readImageRequest(body)),
    acceptEncodingBeforeMs: shortestMs(3, () => before.encodings(header)),
    acceptEncodingMs: shortestMs(9, () => acceptedEncodings(header)),
  };
  const bars: BenchAssertion[] = [
    atMost(
      'image body of 4 MiB, as a share of the old time for 128 KiB',
      0.1,
      figures.imageBodyMs / figures.imageBodyBeforeOneOf32Ms,
    ),
    atMost(
      'Accept-Encoding of 16 KiB, as a share of the old time',
      0.1,
      figures.acceptEncodingMs / figures.acceptEncodingBeforeMs,
    ),
  ];
  return { figures, bars };
}

const UPLOADS = 2_000;
const PIECES = 16;
const PIECE = Buffer.alloc(16 * 1024, 0x20);
const MAX_MIB = 100;

interface Uploaded {
  readonly grewMib: number;
  readonly refused: number;
}

/** Announces 4 MiB in many requests, sends a sixteenth slowly, and never sends the rest. */
async function upload({ port, key, pid }: { port: number; key: string; pid: number }): Promise<Uploaded> {
  const startMib = residentMib(pid);
  let mostMib = startMib;
  let refused = 0;
  const sockets: Socket[] = [];
  for (let index = 0; index < UPLOADS; index += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.once('data', () => (refused += 1));
    socket.write(
      `POST /v1/image/generation HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${BODY_BYTES}\r\n\r\n`,
    );
    sockets.push(socket);
    if (index % 100 === 0) await sleep(5);
  }
  for (let piece = 0; piece < PIECES; piece += 1) {
    for (const socket of sockets) if (socket.writable) socket.write(PIECE);
    await sleep(100);
    mostMib = Math.max(mostMib, residentMib(pid));
  }
  // Waits until no response arrived for two seconds, because a busy machine may be slow.
  for (let [quiet, seen] = [0, refused]; quiet < 20; quiet = seen === refused ? quiet + 1 : 0) {
    seen = refused;
    await sleep(100);
    mostMib = Math.max(mostMib, residentMib(pid));
  }
  for (const socket of sockets) socket.destroy();
  return { grewMib: mostMib - startMib, refused };
}

/** A server without body limits, as gateways were before. */
async function uploadToBaseline(): Promise<Uploaded> {
  await using upstream = await startUpstreamDouble();
  await using bare = await startBaseline(upstream);
  return await upload({ port: Number(new URL(bare.url).port), key: 'none', pid: bare.pid });
}

async function uploadToGateway(): Promise<Uploaded> {
  const stack = await openInferenceStack({ llamas: [] });
  try {
    const tenant = await seedInferenceTenant(stack, 0n);
    const { key } = await tenant.newKey({ mode: 'test', scopes: ['inference:read', 'inference:write'] });
    await stack.startGateways();
    const pid = stack.gateways[0]?.pid() ?? null;
    if (pid === null) throw new Error('The gateway has no process.');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    for (let round = 0; round < 50; round += 1) {
      const body = JSON.stringify({ model_name: 'none', pad: 'x'.repeat(100_000) });
      await (
        await fetch(`${stack.gatewayUrl}/v1/image/generation`, { method: 'POST', headers, body })
      ).text();
    }
    return await upload({ port: Number(new URL(stack.gatewayUrl).port), key, pid });
  } finally {
    await stack.close();
  }
}

async function uploads(): Promise<BenchReport> {
  const bare = await uploadToBaseline();
  const gateway = await uploadToGateway();
  return {
    figures: {
      uploads: UPLOADS,
      bareGrewMib: bare.grewMib,
      gatewayGrewMib: gateway.grewMib,
      gatewayRefused: gateway.refused,
    },
    bars: [
      atMost(`MiB that ${UPLOADS} slow uploads with a test key add to a gateway`, MAX_MIB, gateway.grewMib),
    ],
  };
}

async function all(): Promise<BenchReport> {
  const [block, memory] = [blocks(), await uploads()];
  return { figures: { ...block.figures, ...memory.figures }, bars: [...block.bars, ...memory.bars] };
}

export const bench = defineBench({
  name: 'input',
  about: 'hostile input: one turn of the event loop, and memory of slow uploads, before and now',
  counts: all,
  run: all,
});
