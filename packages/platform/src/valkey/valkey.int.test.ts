import {
  eventually,
  startStopwatch,
  startTcpProxy,
  testNames,
  scaledLimitMs,
  valkeyAccess,
} from '@millrace/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { runInTransactionScope } from '../db/transaction-scope.ts';
import { createLogger } from '../log/index.ts';
import { connectValkey, defineScript, isScriptUnknown } from './index.ts';

const { valkeyPrefix } = testNames();
const log = createLogger({ name: 'test', level: 'silent' });
const increment = defineScript(
  'increment',
  `return redis.call('INCRBY', KEYS[1], ARGV[1]) -- ${valkeyPrefix}`,
);

/** Long, so that a slow machine responds in time too. */
const commandTimeoutMs = 10_000;

const client = await connectValkey({ ...valkeyAccess(), name: 'test', log, commandTimeoutMs });
afterAll(() => client.close());

describe('ValkeyClient', () => {
  it('runs a script that the server does not know, and then by its digest alone', async () => {
    const call = { keys: [`${valkeyPrefix}count`], args: ['5'] };
    expect(await client.command(['SCRIPT', 'EXISTS', increment.sha1])).toEqual([0]);
    expect(await client.run(increment, call)).toBe(5);
    expect(await client.command(['SCRIPT', 'EXISTS', increment.sha1])).toEqual([1]);
    expect(await client.run(increment, call)).toBe(10);
  });

  it('runLoaded does not send the text of a script that the server does not have', async () => {
    const absent = defineScript('absent', `return 1 -- ${valkeyPrefix}absent`);
    const thrown: unknown = await client
      .runLoaded(absent, { keys: [], args: [] })
      .catch((error: unknown) => error);
    expect(isScriptUnknown(thrown)).toBe(true);
    expect(await client.command(['SCRIPT', 'EXISTS', absent.sha1])).toEqual([0]);
    await client.command(['SCRIPT', 'LOAD', absent.source]);
    expect(await client.runLoaded(absent, { keys: [], args: [] })).toBe(1);
  });

  it('reports an error of a script', async () => {
    const wrong = defineScript('wrong', `return redis.call('INCR', KEYS[1], 'x') -- ${valkeyPrefix}`);
    await expect(client.run(wrong, { keys: [`${valkeyPrefix}x`], args: [] })).rejects.toThrow('ERR');
  });

  it('throws inside a transaction', async () => {
    await expect(runInTransactionScope('outer', () => client.ping())).rejects.toThrow(
      'Valkey was used inside the transaction "outer"',
    );
  });
});

describe('ValkeyClient without a server', () => {
  it('fails at once instead of waiting, and works again when the server is back', async () => {
    const proxy = await startTcpProxy(valkeyAccess().url);
    onTestFinished(() => proxy.close());
    const access = { ...valkeyAccess(), url: proxy.rewrite(valkeyAccess().url) };
    const fragile = await connectValkey({ ...access, name: 'test', log, commandTimeoutMs });
    await fragile.ping();
    proxy.cut();
    await eventually({ what: 'the loss to be noticed' }, () =>
      fragile.ping().then(
        () => false,
        () => true,
      ),
    );
    const stopwatch = startStopwatch();
    await expect(fragile.ping()).rejects.toThrow();
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(100));
    proxy.heal();
    await eventually({ what: 'the reconnection' }, () => fragile.ping().then(() => true));
    await fragile.close();
  });

  it('ends a command to an unresponsive server after its timeout', async () => {
    const proxy = await startTcpProxy(valkeyAccess().url);
    onTestFinished(() => proxy.close());
    const url = proxy.rewrite(valkeyAccess().url);
    const fragile = await connectValkey({ ...valkeyAccess(), url, name: 'test', log });
    proxy.pause();
    await expect(fragile.command(['PING'], { timeoutMs: 50 })).rejects.toThrow('took longer than 50 ms');
    proxy.heal();
    await fragile.close();
  });

  it('lets a process start and connects later', async () => {
    const proxy = await startTcpProxy(valkeyAccess().url);
    onTestFinished(() => proxy.close());
    proxy.cut();
    const access = { ...valkeyAccess(), url: proxy.rewrite(valkeyAccess().url) };
    const early = await connectValkey({ ...access, name: 'test', log, firstConnectionMs: 100 });
    await expect(early.ping()).rejects.toThrow();
    proxy.heal();
    await eventually({ what: 'the first connection' }, () => early.ping().then(() => true));
    await early.close();
  });
});
