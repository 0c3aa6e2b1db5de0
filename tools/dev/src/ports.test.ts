import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { choosePorts, DEFAULT_PORT, portsFrom } from './ports.ts';

async function listening<T>(port: number, work: () => Promise<T>): Promise<T> {
  const server = createServer();
  // Another program on this machine may hold the port already: then it is taken all the same.
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

describe('the ports of npm run dev', () => {
  it('are the next free row when the default port is taken and none was named', async () => {
    const chosen = await listening(DEFAULT_PORT + 2, () => choosePorts(undefined, {}));
    expect(chosen.api).toBeGreaterThan(DEFAULT_PORT);
    expect(chosen).toEqual(portsFrom(chosen.api, {}));
  });

  it('are refused, with what to do, when the port that was named is taken', async () => {
    const { api } = await choosePorts(undefined, {});
    const refused = listening(api, () => choosePorts(api, {}));
    await expect(refused).rejects.toThrow(`Port ${String(api)}, which the api needs, is held by`);
  });

  it('are those of the environment where it names them', () => {
    const ports = portsFrom(9_000, { MILLRACE_WORKER_HEALTH_PORT: '9500' });
    expect(ports).toMatchObject({ api: 9_000, workerHealth: 9_500, gateway: 9_002 });
  });
});
