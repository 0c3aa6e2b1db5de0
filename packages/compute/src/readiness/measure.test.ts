import { systemClock } from '@millrace/platform/clock';
import { createNetGuard } from '@millrace/platform/net';
import type { ServerChannel } from 'ssh2';
import { afterEach, describe, expect, it } from 'vitest';
import {
  loginAndCountGpus,
  benchmarkMachine,
  newReadinessKey,
  type BenchmarkResult,
  type SshTarget,
} from './index.ts';
import { writeEndlessly, serveSshd, type TestServer } from './servers.fixture.ts';

const { privateKey } = newReadinessKey();
const nowhere = createNetGuard({ allowedNetworks: [] });
const loopback = createNetGuard({ allowedNetworks: ['127.0.0.0/8'] });

let server: TestServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const responses = {
  'nvidia-smi -L': 'GPU 0: A (UUID: x)\nGPU 1: A (UUID: y)\n',
  nproc: '16\n',
};
const details = 'nvidia-smi --query-gpu';

type CommandHandler = (channel: ServerChannel, line: string) => boolean;

/** A machine that runs every command correctly except those that `odd` handles. */
async function serve(odd: CommandHandler = () => false): Promise<SshTarget> {
  server = await serveSshd({
    run: (channel, line) => {
      if (odd(channel, line)) return;
      const end = (text: string | Buffer): void => {
        channel.write(text, () => {
          channel.exit(0);
          channel.end();
        });
      };
      const known = Object.entries(responses).find(([command]) => command === line)?.[1];
      if (known !== undefined) return end(known);
      if (line.startsWith(details))
        return end('A, 81559 MiB, 700.00 W, 1980 MHz, 5\nA, 81559 MiB, 700.00 W, 1410 MHz, 5\n');
      if (line.startsWith('head -c ')) return end(Buffer.alloc(Number(line.split(' ')[2])));
      if (line !== 'wc -c') return end('');
      let received = 0;
      channel.on('data', (chunk: Buffer) => (received += chunk.length));
      channel.on('end', () => end(`${received}\n`));
    },
  });
  const { host, port } = server;
  return { host, port, user: 'ubuntu', privateKey, hostKey: null, guard: loopback };
}

const measured = async (odd?: CommandHandler): Promise<BenchmarkResult> =>
  benchmarkMachine(await serve(odd), systemClock, AbortSignal.timeout(15_000));

function failing(prefix: string, code: number): CommandHandler {
  return (channel, line) => {
    if (!line.startsWith(prefix)) return false;
    channel.exit(code);
    channel.end();
    return true;
  };
}

describe('benchmarkMachine', () => {
  it('reports GPUs, the rates of one core, memory and disk, and both network directions', async () => {
    const look = await measured();
    expect(look).toMatchObject({
      outcome: 'measured',
      figures: {
        cpu: { count: 16 },
        // The slowest GPU counts.
        gpu: { count: 2, clockMhz: 1_410 },
      },
    });
    const { figures } = look.outcome === 'measured' ? look : expect.fail(look.detail);
    expect(figures.gpu.details).toHaveLength(2);
    for (const rate of [figures.cpu, figures.memory, figures.disk]) {
      expect(rate.mibPerSecond).toBeGreaterThan(0);
      expect(Number.isSafeInteger(rate.mibPerSecond)).toBe(true);
    }
    expect(figures.network.downMbps).toBeGreaterThan(0);
    expect(figures.network.upMbps).toBeGreaterThan(0);
  });

  it('returns not-yet if a step fails or less data arrives than was sent', async () => {
    expect(await measured(failing('cd && dd', 1))).toMatchObject({
      outcome: 'not-yet',
      detail: expect.stringContaining('disk'),
    });
    expect(await measured(failing('head', 0))).toMatchObject({
      outcome: 'not-yet',
      detail: expect.stringContaining('up'),
    });
    expect(await measured(failing('wc', 0))).toMatchObject({
      outcome: 'not-yet',
      detail: expect.stringContaining('down'),
    });
  });

  it('works without a GPU driver and ignores malformed lines of one', async () => {
    expect(await measured(failing(details, 127))).toMatchObject({
      figures: { gpu: { count: 2, clockMhz: null, details: [] } },
    });
    const rude: CommandHandler = (channel, line) => {
      if (!line.startsWith(details)) return false;
      channel.write(`\u001b[31mred, 1 MHz\n${'x'.repeat(1_000)}\n`);
      channel.exit(0);
      channel.end();
      return true;
    };
    expect(await measured(rude)).toMatchObject({ figures: { gpu: { clockMhz: null, details: [] } } });
  });

  it('returns not-yet if the machine sends without end', async () => {
    const look = await measured((channel, line) => {
      if (!line.startsWith('head')) return false;
      writeEndlessly(channel, 'x'.repeat(65_536));
      return true;
    });
    expect(look).toMatchObject({ outcome: 'not-yet' });
  });
});

describe('a machine at an endpoint that a supplier entered', () => {
  it('is not contacted if the guard forbids its address or name', async () => {
    const target = await serve();
    for (const host of ['127.0.0.1', 'localhost']) {
      const look = await loginAndCountGpus({ ...target, host, guard: nowhere }, AbortSignal.timeout(60_000));
      expect(look).toMatchObject({
        outcome: 'not-yet',
        detail: 'Connections to this address are not allowed.',
      });
    }
    expect(server?.sent).toBe(0);
    expect(await loginAndCountGpus(target, AbortSignal.timeout(60_000))).toMatchObject({
      outcome: 'in',
      gpuCount: 2,
    });
  });
});
