import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { choosePorts, DEFAULT_PORT, portsFrom } from './ports.ts';

async function listening<T>(port: number, work: () => Promise<T>): Promise<T> {
  const server = createServer();
  // If another program already holds the port, it is taken as the test requires.
  await new Promise<void>((resolve) => {
    server.once('error', () => resolve());
    server.listen(port, '127.0.0.1', resolve);
  });
  try {
    return await work();
  } finally {
    server.close();
  }
}

describe('ports of npm run dev', () => {
  it('are the next free set if the default port is taken and --port is missing', async () => {
    const chosen = await listening(DEFAULT_PORT + 2, () => choosePorts(undefined, {}));
    expect(chosen.api).toBeGreaterThan(DEFAULT_PORT);
    expect(chosen).toEqual(portsFrom(chosen.api, {}));
  });

  it('are refused with a remedy if the port of --port is taken', async () => {
    const { api } = await choosePorts(undefined, {});
    const refused = listening(api, () => choosePorts(api, {}));
    await expect(refused).rejects.toThrow(`Port ${String(api)}, which the api needs, is held by`);
  });

  it('are those of the environment where it sets them', () => {
    const ports = portsFrom(9_000, { MILLRACE_WORKER_HEALTH_PORT: '9500' });
    expect(ports).toMatchObject({ api: 9_000, workerHealth: 9_500, gateway: 9_002 });
  });
});
