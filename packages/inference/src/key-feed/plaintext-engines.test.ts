import { createKeyFeedSealer, keyFeedKeys } from '@millrace/core/inference';
import { systemClock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import type { Bucket, FollowOptions } from '@millrace/platform/nats';
import { expect, onTestFinished, test } from 'vitest';
import { modelOf } from './key-feed.fixture.ts';
import { openKeyFeed } from './key-feed.ts';

const sealer = createKeyFeedSealer([{ id: 'feed', key: new Uint8Array(32).fill(8) }]);

function deployment(id: string, address: string, engine: 'vllm' | 'mock' = 'vllm') {
  const place = { upstreamModel: 'chat', region: 'r', weight: 1, maxConcurrency: null };
  return { ...{ id, engine, address, apiKey: null }, ...place };
}

const model = modelOf({
  deployments: [
    deployment('plain', 'http://10.0.0.1:8000'),
    deployment('loopback', 'http://127.0.0.1:8000'),
    deployment('ipv6 loopback', 'http://[::1]:8000'),
    deployment('encrypted', 'https://10.0.0.1:8000'),
    deployment('mock', 'http://mock.invalid', 'mock'),
  ],
});

/** A double of the bucket, with one model. */
function bucketDouble(): Bucket {
  const follow = ({ onBegin }: FollowOptions) => {
    onBegin([{ key: keyFeedKeys.model(model.name), revision: 1, value: JSON.stringify(model) }]);
    return { ready: async () => {}, freshAtMs: () => systemClock.monotonicMs(), close: async () => {} };
  };
  return { follow } as unknown as Bucket;
}

test.each([
  [false, ['loopback', 'ipv6 loopback', 'encrypted', 'mock']],
  [true, ['plain', 'loopback', 'ipv6 loopback', 'encrypted', 'mock']],
])(
  'openKeyFeed leaves out engines on other machines without TLS, unless plaintext is allowed (%j)',
  async (allowPlaintext, usable) => {
    let logged = '';
    const destination = { write: (line: string) => void (logged += line) };
    const log = createLogger({ name: 'test', level: 'error', destination });
    const nats = { bucket: bucketDouble };
    const feed = await openKeyFeed({ nats, clock: systemClock, log, sealer, allowPlaintext });
    onTestFinished(() => feed.close());
    expect(feed.model(model.name, 'org_1', 'live')?.deployments.map(({ id }) => id)).toEqual(usable);
    expect(logged.includes('change its address to https://')).toBe(!allowPlaintext);
  },
);
