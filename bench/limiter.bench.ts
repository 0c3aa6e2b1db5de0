import { atLeast, atMost, defineBench, type BenchReport, type CountRun } from '@millrace/runners';
import { createLimiter } from '@millrace/platform/limiter';
import type { RatePolicy } from '@millrace/platform/limiter';
import { createLogger } from '@millrace/platform/log';
import { connectValkey } from '@millrace/platform/valkey';
import { ensureUp } from '@millrace/services';
import { startValkeyServer } from '@millrace/testing';
import { createClient } from '@redis/client';
import type { RedisClientType } from '@redis/client';

// The least that a counting script can do: read, write and expire each counter.
const baselineCounters = `
for _, key in ipairs(KEYS) do
  local used = tonumber(redis.call('HGET', key, 'used') or '0')
  redis.call('HSET', key, 'used', used + 1)
  redis.call('PEXPIRE', key, 60000)
end
return 1`;

const organisations = 1000;
const UNREACHABLE_LIMIT = 1_000_000_000;

/** The policies of each api request: address, key and organisation, in one call. */
function policiesOf(organisation: string): RatePolicy[] {
  const budget = { limit: UNREACHABLE_LIMIT, windowMs: 60_000 };
  return [
    { name: 'address', scope: 'ip', subject: '192.0.2.0/24', ...budget },
    { name: 'key', scope: 'key', subject: `key-of-${organisation}`, ...budget },
    { name: 'organisation', scope: 'organisation', subject: organisation, ...budget },
  ];
}

/** Bench keys have tags of organisations that exist only here, so that no other data is touched. */
async function removeKeys(client: RedisClientType): Promise<void> {
  for await (const keys of client.scanIterator({ MATCH: '*{bench-*', COUNT: 1000 })) {
    if (keys.length > 0) await client.unlink(keys);
  }
}

const COUNTED_CALLS = 100;
/** The limiter admits a call uncounted if Valkey exceeds the time limit. The count is then repeated. */
const COUNT_ATTEMPTS = 20;

/** Calls of each command since the last reset, by Valkey's own count. */
async function commandCalls(client: RedisClientType): Promise<ReadonlyMap<string, number>> {
  const stats = await client.info('commandstats');
  return new Map(
    [...stats.matchAll(/^cmdstat_(\w+):calls=(\d+)/gm)].map(([, name = '', calls]) => [name, Number(calls)]),
  );
}

/** Three policies must need one round trip to Valkey. */
async function counts({ note }: CountRun): Promise<BenchReport> {
  await using server = await startValkeyServer();
  const client: RedisClientType = createClient({ url: server.url });
  await client.connect();
  const log = createLogger({ name: 'bench', level: 'error' });
  const valkey = await connectValkey({ url: server.url, name: 'bench', log });
  try {
    const limiter = createLimiter({ valkey, log });
    const consume = () => limiter.consume({ tag: 'bench-1', policies: policiesOf('bench-1') });
    let trips = Infinity;
    for (let attempt = 1; attempt <= COUNT_ATTEMPTS && trips === Infinity; attempt += 1) {
      // The first call loads the script; in later attempts it waits behind calls that timed out.
      await consume();
      await client.configResetStat();
      let uncounted = 0;
      for (let call = 0; call < COUNTED_CALLS; call += 1) if ((await consume()).degraded) uncounted += 1;
      if (uncounted > 0) note(`attempt ${attempt}: ${uncounted} calls were not counted`);
      else trips = ((await commandCalls(client)).get('evalsha') ?? 0) / COUNTED_CALLS;
    }
    return {
      figures: { 'round trips a call': trips },
      bars: [atMost('round trips a call', 1, trips), atLeast('round trips a call', 1, trips)],
    };
  } finally {
    await valkey.close();
    client.destroy();
  }
}

export const bench = defineBench({
  name: 'limiter',
  about:
    'Three rate limits in one call of the limiter, compared with one round trip and with a bare script that counts three times.',
  counts,
  async run({ measure, pinServer, note }) {
    const { valkeyUrl } = await ensureUp(['valkey']);
    // Without the library's timer per command, which our client also disables.
    const bare: RedisClientType = createClient({ url: valkeyUrl, commandOptions: { timeout: 0 } });
    await bare.connect();
    const log = createLogger({ name: 'bench', level: 'error' });
    const valkey = await connectValkey({ url: valkeyUrl, name: 'bench', log });
    try {
      const info = await bare.info('server');
      pinServer(Number(/process_id:(\d+)/.exec(info)?.[1]));
      const sha = await bare.scriptLoad(baselineCounters);
      const limiter = createLimiter({ valkey, log });
      let turn = 0;
      let uncounted = 0;
      const nextOrganisation = (): string => `bench-${(turn = (turn + 1) % organisations)}`;
      const sides = await measure({
        'bare round trip': async () => bare.ping(),
        'three bare counters': async () => {
          const tag = `{${nextOrganisation()}}`;
          await bare.evalSha(sha, { keys: [`a:${tag}`, `b:${tag}`, `c:${tag}`] });
        },
        'limiter, three policies': async () => {
          const organisation = nextOrganisation();
          const { degraded } = await limiter.consume({
            tag: organisation,
            policies: policiesOf(organisation),
          });
          if (degraded) uncounted += 1;
        },
      });
      const own = sides['limiter, three policies'];
      const bareSide = sides['three bare counters'];
      const share = Math.round((own.perSecond * 100) / bareSide.perSecond);
      const cpuTimes = (of: 'cpuUs' | 'serverCpuUs'): number =>
        Math.round((own[of] * 10) / Math.max(1, bareSide[of])) / 10;
      note(`the limiter reaches ${share} % of the rate of three bare counters`);
      return {
        figures: { ...sides, 'share of bare rate, %': share, 'calls not counted': uncounted },
        // Processor time, because rates and latencies depend on other processes. Valkey runs scripts on one core, so its time per
        // call
        // limits the rate of one Valkey.
        bars: [
          atLeast('limiter rate as % of three bare counters', 30, share),
          atMost('processor time in Valkey, times that of three bare counters', 3, cpuTimes('serverCpuUs')),
          atMost('processor time in this process, times that of three bare counters', 4, cpuTimes('cpuUs')),
          atMost('calls not counted', 0, uncounted),
        ],
      };
    } finally {
      await removeKeys(bare);
      await valkey.close();
      bare.destroy();
    }
  },
});
