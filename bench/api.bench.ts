import { seedOrganisation } from '@millrace/core/fixture';
import { atMost, defineBench, type BenchReport, type CountRun, type Measure } from '@millrace/runners';
import { ensureUp } from '@millrace/services';
import {
  createTestDatabase,
  freePort,
  startApiProcess,
  startProcess,
  testNames,
  uniqueId,
} from '@millrace/testing';
import { startApiFixture } from '../apps/api/src/api.fixture.ts';
import { createCaller } from './api/http-caller.ts';
import { LISTED_KEYS, seedKeys } from './api/keys.ts';
import { minStatementCount, recordStatements } from './api/statements.ts';

const CONCURRENCY = 16;

/** Statements per request with a cached key; the cache expires after 750 ms. */
async function countStatements(): Promise<Record<string, number>> {
  await using fixture = await startApiFixture();
  const { owner } = await seedOrganisation(fixture.db);
  const { key } = owner;
  const body = { name: 'bench', scopes: ['events:read'] };
  const create = { method: 'POST', path: '/v2/api-keys', key, body } as const;
  const again = (nth: number) => ({ ...create, headers: { 'idempotency-key': `again-${nth}` } });
  const readMe = () => fixture.call({ method: 'GET', path: '/v2/me', key });
  const first = (await recordStatements(readMe)).length;
  const me = await minStatementCount(readMe);
  return {
    'key not known yet': first - me,
    'GET /v2/me': me,
    'GET /v2/api-keys': await minStatementCount(() =>
      fixture.call({ method: 'GET', path: '/v2/api-keys', key }),
    ),
    'POST /v2/api-keys': await minStatementCount(() => fixture.call(create)),
    'POST /v2/api-keys, with an Idempotency-Key': await minStatementCount((nth) => fixture.call(again(nth))),
    'POST /v2/api-keys, replayed': await minStatementCount(() => fixture.call(again(0))),
  };
}

async function counts({ note }: CountRun): Promise<BenchReport> {
  await ensureUp(['postgres', 'valkey', 'nats']);
  const statements = await countStatements();
  for (const [what, count] of Object.entries(statements)) note(`${what}: ${count} statements`);
  return {
    figures: prefixed('statements: ', statements),
    bars: [
      atMost('statements of GET /v2/me', 2, statements['GET /v2/me'] ?? Number.NaN),
      atMost('statements of GET /v2/api-keys', 1, statements['GET /v2/api-keys'] ?? Number.NaN),
      atMost(
        'statements of an idempotent POST /v2/api-keys',
        10,
        statements['POST /v2/api-keys, with an Idempotency-Key'] ?? Number.NaN,
      ),
    ],
  };
}

export const bench = defineBench({
  name: 'api',
  about:
    'Requests to an api process, compared with a bare route and a bare select of the same framework and driver.',
  counts,
  async run({ measure, pinServer, note }) {
    const counted = await counts({ note });
    await using database = await createTestDatabase({ isSynced: true });
    const { reader, creators } = await seedKeys(database);
    const bareUrl = `http://127.0.0.1:${await freePort()}`;
    await using bareServer = await startProcess({
      name: 'bare',
      entry: 'bench/api/baseline-server.ts',
      args: [new URL(bareUrl).port, database.url],
      env: {},
      readyUrl: `${bareUrl}/readyz`,
    });
    const env = { MILLRACE_LOG_LEVEL: 'info', MILLRACE_HTTP_VALIDATE_RESPONSES: 'false' };
    await using api = await startApiProcess({ database, names: testNames(), env });
    pinServer(bareServer.pid);
    pinServer(api.pid);

    const bare = createCaller(bareUrl, CONCURRENCY);
    const own = createCaller(api.url, CONCURRENCY);
    let created = 0;
    try {
      const sides = await measure(
        {
          'bare route': () => bare.call('/constant', 200),
          'bare select': () => bare.call('/row', 200),
          'GET /v2/me': () => own.call('/v2/me', 200, { key: reader }),
          'GET /v2/api-keys, 20 keys': () =>
            own.call(`/v2/api-keys?limit=${LISTED_KEYS}`, 200, { key: reader }),
          'POST /v2/api-keys, idempotent': () =>
            own.call('/v2/api-keys', 201, {
              method: 'POST',
              key: creators[(created += 1) % creators.length] ?? '',
              body: { name: 'bench', scopes: ['events:read'] },
              headers: { 'idempotency-key': uniqueId() },
            }),
        },
        { concurrency: CONCURRENCY },
      );
      const times = (side: Measure): number =>
        Math.round((side.serverCpuUs * 10) / Math.max(1, sides['bare select'].serverCpuUs)) / 10;
      return {
        figures: { ...sides, ...counted.figures },
        // Compares processor time, because rates and latencies also depend on the disk and on other processes. A third of each
        // limit is
        // tolerance; statements have none.
        bars: [
          atMost('GET /v2/me, processor time in bare selects', 12, times(sides['GET /v2/me'])),
          atMost(
            'GET /v2/api-keys, processor time in bare selects',
            16,
            times(sides['GET /v2/api-keys, 20 keys']),
          ),
          atMost(
            'POST /v2/api-keys, processor time in bare selects',
            40,
            times(sides['POST /v2/api-keys, idempotent']),
          ),
          ...counted.bars,
        ],
      };
    } finally {
      bare.close();
      own.close();
    }
  },
});

function prefixed(prefix: string, figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${prefix}${name}`, value]));
}
