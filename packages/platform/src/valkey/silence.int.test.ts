import { eventually, startTcpProxy, valkeyAccess } from '@millrace/testing';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { connectValkey, type ValkeyClient } from './index.ts';

it('connectValkey drops an unresponsive server within seconds, unless its commands may take longer', async () => {
  const proxy = await startTcpProxy(valkeyAccess().url);
  onTestFinished(() => proxy.close());
  const access = { ...valkeyAccess(), url: proxy.rewrite(valkeyAccess().url) };
  const open = async (commandTimeoutMs: number): Promise<{ client: ValkeyClient; losses: string[] }> => {
    const losses: string[] = [];
    const log = {
      warn: (_: unknown, text?: string) => void losses.push(text ?? ''),
      info: () => {},
      error: () => {},
    };
    const client = await connectValkey({ ...access, name: 'test', log, commandTimeoutMs });
    await eventually({ what: 'the first connection' }, () => client.ping().then(() => true));
    losses.length = 0;
    onTestFinished(() => client.close());
    return { client, losses };
  };
  const patient = await open(300_000);
  const short = await open(500);

  proxy.pause();
  const response = patient.client.command(['ECHO', 'late']).catch((error: unknown) => error);
  await eventually({ what: 'the loss to be noticed' }, () => short.losses.length > 0);
  // The last responses to the two clients may be up to a second apart.
  await systemClock.sleep(2_000);
  expect(short.losses[0]).toBe('connection to Valkey lost');
  expect(patient.losses).toEqual([]);
  proxy.heal();
  expect(await response).toBe('late');
});
