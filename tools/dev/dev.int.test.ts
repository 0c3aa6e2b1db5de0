import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { freePortRange, freePorts, startProcess } from '@millrace/testing';
import { expect, it } from 'vitest';

const file = join(import.meta.dirname, '..', '..', '.millrace', 'dev.json');
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

async function runOnce(): Promise<string> {
  // The api, the worker's health, the gateway and its health, and the worker's endpoint for Restate.
  const port = await freePortRange(5);
  const dev = await startProcess({
    name: 'dev',
    entry: 'tools/dev/main.ts',
    args: ['--once', '--port', String(port)],
    env: {
      PATH,
      MILLRACE_RESTATE_ENDPOINT_PORT: String(port + 4),
    },
  });
  expect(await dev.exited, dev.output()).toMatchObject({ code: 0 });
  return dev.output();
}

it('npm run dev --once: starts all processes, prints working keys that stay the same, and stops', async () => {
  const first = await runOnce();
  const keys = first.match(/mr_(live|test)_\w+/g) ?? [];
  expect(new Set(keys).size).toBe(2);
  expect(first).toMatch(/three months of history|100 USD of play money/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ organisation: 'demo' });
  const second = await runOnce();
  expect(second.match(/mr_(live|test)_\w+/g)).toEqual(keys);
});

it('npm run dev: names the process that holds its port instead of treating it as the api', async () => {
  const outsider = createServer((_request, response) => void response.end('{}'));
  const [port] = await freePorts(1);
  await new Promise<void>((resolve) => outsider.listen(port, '127.0.0.1', resolve));
  try {
    const dev = await startProcess({
      name: 'dev',
      entry: 'tools/dev/main.ts',
      args: ['--once', '--port', String(port)],
      env: { PATH },
    });
    expect(await dev.exited).toMatchObject({ code: 1 });
    expect(dev.output()).toContain(
      `Port ${String(port)}, which the api needs, is held by process ${String(process.pid)}`,
    );
    expect(dev.output()).not.toContain('is ready');
  } finally {
    outsider.close();
  }
});
