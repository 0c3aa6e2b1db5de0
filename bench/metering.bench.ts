import { sweepMeters } from '@millrace/core/metering';
import { atMost, defineBench, type BenchReport, type CountRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { createLogger } from '@millrace/platform/log';
import { floorDivide, ratio, divideWithRemainder } from '@millrace/platform/money';
import { outboxShards } from '@millrace/platform/outbox';
import { ensureUp } from '@millrace/services';
import { createTestDatabase, databaseWithClock, type TestDatabase } from '@millrace/testing';
import type { Client } from 'pg';
import { recordStatements } from './api/statements.ts';

const METERS = 1_000_000;
const METERS_IN_QUICK = 60_000;
const METERS_PER_ORGANISATION = 100;
const MINUTES = 60;
const ROUNDS = 5;
/** Both post fewer meters than one batch has. */
const COUNTED_METERS = [600, 12_000];
const SWEEP_STATEMENTS = 16;
const HOUR_MS = 3_600_000;

/** A UUIDv7 per number. The last byte, which determines the shard of an organisation, counts up. */
const uuid = (space: number, number: string): string =>
  `('019b00${space}0-0000-7000-8000-' || lpad(to_hex(${number}), 12, '0'))::uuid`;

/** Meters as after an hour of sweeps: each is posted up to its own minute of the hour and holds the next hour and the margin. */
function setUp(meters: number): readonly string[] {
  const organisations = floorDivide(meters, METERS_PER_ORGANISATION);
  const rate = '1000000000::bigint';
  const held = '1250000000::bigint';
  return [
    `insert into organisations (id, name, slug, home_cell)
     select ${uuid(1, 'n')}, 'Bench', 'bench-' || n, 1 from generate_series(1, ${organisations}) n`,
    `insert into ledger_accounts (id, kind, org_id, mode, balance_nano_usd, held_nano_usd, floor_nano_usd)
     select ${uuid(2, 'n')}, 'credit', ${uuid(1, 'n')}, 'live', ${METERS_PER_ORGANISATION} * 720 * ${rate},
            ${METERS_PER_ORGANISATION} * ${held}, 0 from generate_series(1, ${organisations}) n`,
    `create temporary table bench_rows as
     select n, 1 + n % ${organisations} as org, $1::timestamptz + n % ${MINUTES} * interval '1 minute' as slot
       from generate_series(1, ${meters}) n`,
    `insert into ledger_holds (id, org_id, mode, idempotency_key, cause_kind, cause_id, held_nano_usd, created_at)
     select ${uuid(3, 'n')}, ${uuid(1, 'org')}, 'live', 'bench:' || n || ':hold', 'bench', n::text, ${held}, $1
       from bench_rows`,
    `insert into ledger_hold_parts (hold_id, account_id, held_nano_usd)
     select ${uuid(3, 'n')}, ${uuid(2, 'org')}, ${held} from bench_rows`,
    `insert into meters (id, org_id, mode, shard, cause_kind, cause_id, name, product, rate_nano_usd_per_hour, quantity,
                         unit, funding, state, running_since, hold_id, held_nano_usd, covered_until, next_post_at,
                         opened_at)
     select ${uuid(4, 'n')}, ${uuid(1, 'org')}, 'live', org % ${outboxShards}, 'bench', n::text, 'gpu', 'rental', ${rate},
            1, 'gpu', 'ahead', 'open', slot - interval '1 hour', ${uuid(3, 'n')}, ${held},
            slot + interval '15 minutes', slot, slot - interval '1 hour'
       from bench_rows`,
    `create table bare_meters (like meters including defaults including storage) with (fillfactor = 85)`,
    `insert into bare_meters select * from meters`,
    `alter table bare_meters add primary key (id)`,
    `vacuum analyze organisations, ledger_accounts, ledger_holds, ledger_hold_parts, meters, bare_meters`,
  ];
}

async function fill(database: TestDatabase, client: Client, meters: number, at: Date): Promise<void> {
  await client.query('set synchronous_commit = off');
  for (const statement of setUp(meters)) {
    await client.query(statement, statement.includes('$1') ? [at] : []);
  }
  await client.query('set synchronous_commit = on');
  await database.db.ping();
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  await work();
  return systemClock.monotonicMs() - startedMs;
}

const middle = (values: readonly number[]): number =>
  Math.round(values.toSorted((left, right) => left - right)[Math.floor(values.length * 0.5)] ?? 0);

const allShards = Array.from({ length: outboxShards }, (_, shard) => shard);

/** Statements of a sweep that posts one meter in sixty must grow with batches, not with organisations. */
async function counts({ note }: CountRun): Promise<BenchReport> {
  await ensureUp(['postgres']);
  const log = createLogger({ name: 'bench', level: 'error' });
  const figures: Record<string, number> = {};
  let missed = 0;
  for (const meters of COUNTED_METERS) {
    await using database = await createTestDatabase({ statementTimeoutMs: 120_000 });
    const client = await database.connect();
    const now = new Date(systemClock.nowMs() - HOUR_MS);
    await fill(database, client, meters, now);
    await client.end();
    const statements = await recordStatements(async () => {
      const { posted } = await sweepMeters(databaseWithClock(database.db, now), { shards: allShards, log });
      missed += Math.max(0, divideWithRemainder(meters, MINUTES)[0] - posted);
    });
    figures[`statements of a sweep over ${meters} meters`] = statements.length;
    note(`${meters} meters: ${statements.length} statements`);
  }
  return {
    figures,
    bars: [
      ...Object.entries(figures).map(([what, value]) => atMost(what, SWEEP_STATEMENTS, value)),
      atMost('meters not posted that were due', 0, missed),
    ],
  };
}

export const bench = defineBench({
  name: 'metering',
  about:
    'One sweep over a million open meters, which posts one in sixty and checks every wallet, compared with a bare UPDATE of a million such rows.',
  counts,
  async run({ note, quick }) {
    await ensureUp(['postgres']);
    const meters = quick ? METERS_IN_QUICK : METERS;
    await using database = await createTestDatabase({ isSynced: true, statementTimeoutMs: 120_000 });
    const client = await database.connect();
    const log = createLogger({ name: 'bench', level: 'error' });
    const startMs = systemClock.nowMs() - HOUR_MS;
    note(`set up in ${Math.round(await timed(() => fill(database, client, meters, new Date(startMs))))} ms`);

    const bareMs: number[] = [];
    const sweepMs: number[] = [];
    let posted = 0;
    let wallets = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      await client.query('vacuum bare_meters');
      await client.query('checkpoint');
      bareMs.push(
        await timed(() =>
          client.query(
            'update bare_meters set posted_ms = posted_ms + 60000, posted_nano_usd = posted_nano_usd + 1',
          ),
        ),
      );
      await client.query('checkpoint');
      const now = new Date(startMs + round * 60_000);
      sweepMs.push(
        await timed(async () => {
          const report = await sweepMeters(databaseWithClock(database.db, now), { shards: allShards, log });
          posted += report.posted;
          wallets = report.wallets;
        }),
      );
    }
    await client.end();
    const times = Number(ratio(middle(sweepMs), middle(bareMs)).toFixed(2));
    const expected = floorDivide(meters, MINUTES);
    note(`a round posts ${expected} meters and checks ${wallets} wallets; rounds: ${ROUNDS}`);
    note(`bare, ms: ${bareMs.map(Math.round).join(' ')}; sweep, ms: ${sweepMs.map(Math.round).join(' ')}`);
    return {
      figures: {
        meters,
        'bare update, ms': middle(bareMs),
        'sweep, ms': middle(sweepMs),
        'meters posted in all rounds': posted,
        'sweep, times the bare update': times,
      },
      bars: [
        atMost('sweep, times the bare update', 3, times),
        atMost(
          'meters not posted that were due',
          0,
          Math.max(0, ROUNDS * divideWithRemainder(meters, MINUTES)[0] - posted),
        ),
      ],
    };
  },
});
