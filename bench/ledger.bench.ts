import { applyLedger, type LedgerCommand } from '@millrace/core/ledger';
import { atLeast, atMost, defineBench, type BenchReport, type CountRun } from '@millrace/runners';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd, negateUsd, ratio } from '@millrace/platform/money';
import { ensureUp } from '@millrace/services';
import { createOrganisation, createTestDatabase, testIds, type TestDatabase } from '@millrace/testing';
import { createRandom } from '@millrace/testing/random';
import { Pool } from 'pg';
import { recordStatements } from './api/statements.ts';

const ACCOUNTS = 1_000;
const BATCH = 500;
const WRITERS = 4;
const HOLDERS = 16;
const POSTERS = 2;
const CALLERS = 4;
const CHARGE_STATEMENTS = 5;
const FUNDS = nanoUsd(1_000_000_000_000_000n);
const CHARGE = nanoUsd(1_234_567n);

let steps = 0;
const nextStep = (): string => String((steps += 1));

const charge = (orgId: OrgId): LedgerCommand => ({
  do: 'debit',
  kind: 'charge',
  orgId,
  mode: 'live',
  cause: { kind: 'bench', id: 'charge' },
  step: nextStep(),
  amount: CHARGE,
  to: [{ account: { kind: 'revenue', product: 'inference' }, amount: CHARGE }],
  whenShort: 'refuse',
  description: 'Charge',
});

const fund = (orgId: OrgId): LedgerCommand => ({
  do: 'credit',
  kind: 'top_up',
  orgId,
  mode: 'live',
  cause: { kind: 'bench', id: 'funds' },
  step: nextStep(),
  amount: FUNDS,
  from: [{ account: { kind: 'payments_clearing' }, amount: FUNDS }],
  description: 'Funds',
});

const hold = (orgId: OrgId): LedgerCommand => ({
  do: 'hold',
  orgId,
  mode: 'live',
  cause: { kind: 'bench', id: 'hold' },
  step: nextStep(),
  amount: CHARGE,
  demand: 'new',
});

async function apply(database: TestDatabase, commands: readonly LedgerCommand[]): Promise<void> {
  const results = await database.db.transaction({ name: 'bench', isolation: 'read committed' }, (tx) =>
    applyLedger(tx, commands),
  );
  const refused = results.find((result) => !result.ok);
  if (refused !== undefined) throw new Error(`The ledger refused: ${JSON.stringify(refused)}`);
}

/** The same rows and indexes without constraints, triggers, balances and look-ups. */
const baselineTables = `
  create table bare_transfers as select * from ledger_transfers where false;
  alter table bare_transfers add primary key (id);
  create index on bare_transfers (org_id, idempotency_key);
  create index on bare_transfers (org_id, id);
  create table bare_entries as select * from ledger_entries where false;
  alter table bare_entries add primary key (transfer_id, account_id);
  create table bare_accounts (id uuid primary key, balance bigint not null, held bigint not null)
    with (fillfactor = 50)`;

const literal = (values: readonly (string | bigint | null)[]): string =>
  `{${values.map((value) => value ?? 'NULL').join(',')}}`;

const baselineStatement = `
  with moved as (
    insert into bare_transfers (id, org_id, mode, kind, idempotency_key, cause_kind, cause_id, amount_nano_usd,
                                balance_after_nano_usd, hold_id, reverses, key_id, description, usage, occurred_at)
    select row.*, now()
      from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
                  $9::bigint[], $10::uuid[], $10::uuid[], $10::uuid[], $11::text[], $10::text[]::jsonb[]) as row
  )
  insert into bare_entries (transfer_id, account_id, amount_nano_usd, account_seq, balance_after_nano_usd)
  select * from unnest($12::uuid[], $13::uuid[], $14::bigint[], $14::bigint[], $14::bigint[])`;

/** Inserts one batch of transfers with two entries each by `unnest` in one statement. */
async function writeBaseline(client: Pool, accounts: readonly string[]): Promise<void> {
  const ids = accounts.map(() => testIds.nextUuid());
  const repeat = (text: string): string[] => accounts.map(() => text);
  const amounts = accounts.map(() => negateUsd(CHARGE));
  const other = testIds.nextUuid();
  await client.query(baselineStatement, [
    literal(ids),
    literal(accounts),
    repeat('live'),
    repeat('charge'),
    accounts.map(() => `bench:charge:${nextStep()}`),
    repeat('bench'),
    repeat('charge'),
    literal(amounts),
    literal(amounts),
    literal(accounts.map(() => null)),
    repeat('Charge'),
    literal([...ids, ...ids]),
    literal([...accounts, ...repeat(other)]),
    literal([...amounts, ...amounts]),
  ]);
}

const random = createRandom(1);
const pickFrom = <T>(list: readonly T[]): T => random.pick(list);
/** One partition of organisations per writer, because sinks and sweeps also work by organisation. */
function partition(orgIds: readonly OrgId[]): {
  with(work: (own: readonly OrgId[]) => Promise<void>): Promise<void>;
} {
  const free = Array.from({ length: WRITERS }, (_, part) =>
    orgIds.filter((_id, index) => index % WRITERS === part),
  );
  return {
    with: async (work) => {
      const own = free.shift();
      if (own === undefined) throw new Error('There are more writers than partitions.');
      await work(own);
      free.push(own);
    },
  };
}
/** Posts batches for other organisations continuously, like a busy cell. */
function keepPosting(database: TestDatabase, orgIds: readonly OrgId[]): { stop(): Promise<void> } {
  let stopped = false;
  const post = async (own: readonly OrgId[]): Promise<void> => {
    while (!stopped)
      await apply(
        database,
        times(BATCH, () => charge(pickFrom(own))),
      );
  };
  const posters = Array.from({ length: POSTERS }, (_, part) =>
    post(orgIds.filter((_id, index) => index % POSTERS === part)),
  );
  return {
    stop: async () => {
      stopped = true;
      await Promise.all(posters);
    },
  };
}

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

/** A batch must need as many statements as one charge, whatever its size. */
async function counts({ note }: CountRun): Promise<BenchReport> {
  await ensureUp(['postgres']);
  await using database = await createTestDatabase();
  const orgIds: OrgId[] = [];
  for (let made = 0; made < 20; made += 1) orgIds.push(await createOrganisation(database.db));
  await apply(database, orgIds.map(fund));
  const count = async (commands: readonly LedgerCommand[]): Promise<number> =>
    (await recordStatements(() => apply(database, commands))).length;
  const one = await count([charge(pickFrom(orgIds))]);
  const batch = await count(times(BATCH, () => charge(pickFrom(orgIds))));
  const held = await count([hold(pickFrom(orgIds))]);
  note(`one charge: ${one} statements, ${BATCH} charges: ${batch}, one hold: ${held}`);
  return {
    figures: {
      'statements of one charge': one,
      [`statements of ${BATCH} charges`]: batch,
      'statements of a hold': held,
    },
    bars: [
      atMost('statements of one charge', CHARGE_STATEMENTS, one),
      atMost(`statements of ${BATCH} charges`, CHARGE_STATEMENTS, batch),
      atMost('statements of a hold', CHARGE_STATEMENTS, held),
    ],
  };
}

export const bench = defineBench({
  name: 'ledger',
  about:
    'Charges in batches, compared with the same rows inserted by unnest without checks; a hold, compared with an indexed update.',
  counts,
  async run({ measure, note }) {
    await ensureUp(['postgres']);
    await using database = await createTestDatabase({ isSynced: true, poolSize: HOLDERS });
    const client = await database.connect();
    await client.query(baselineTables);
    await client.end();
    const pool = new Pool({ connectionString: database.url, max: HOLDERS });
    pool.on('error', () => undefined);
    try {
      const orgIds: OrgId[] = [];
      for (let made = 0; made < ACCOUNTS; made += 1) orgIds.push(await createOrganisation(database.db));
      await apply(database, orgIds.map(fund));
      const hot = orgIds[0] ?? testIds.next('org');
      const accounts = orgIds.map(toUuid);
      const partitions = partition(orgIds);
      await pool.query('insert into bare_accounts select id, 0, 0 from unnest($1::uuid[]) as id', [
        literal(accounts),
      ]);

      note(`batches of ${BATCH} from ${WRITERS} writers`);
      const batch = <T>(make: () => T): T[] => times(BATCH, make);
      const post = (from: readonly OrgId[]) =>
        apply(
          database,
          batch(() => charge(pickFrom(from))),
        );
      const writers = {
        'bare rows': () =>
          writeBaseline(
            pool,
            batch(() => pickFrom(accounts)),
          ),
        'ledger, 1000 accounts': () => partitions.with(post),
        'the same, each writer on all': () => post(orgIds),
        'ledger, one hot account': () => post([hot]),
      };
      const batches = await measure(writers, { concurrency: WRITERS });
      const half = ACCOUNTS >> 1;
      const sides = {
        'bare update': () =>
          pool.query('update bare_accounts set held = held + 1 where id = $1', [pickFrom(accounts)]),
        hold: () => apply(database, [hold(pickFrom(orgIds.slice(half)))]),
      };
      note(`${CALLERS} callers, while ${POSTERS} writers post batches for other organisations`);
      const load = keepPosting(database, orgIds.slice(0, half));
      const singles = await measure(sides, { concurrency: CALLERS });
      await load.stop();
      note(`${HOLDERS} callers and nothing else`);
      const alone = await measure(sides, { concurrency: HOLDERS });
      const bareRate = batches['bare rows'].perSecond * BATCH;
      const spread = batches['ledger, 1000 accounts'].perSecond * BATCH;
      const hotRate = batches['ledger, one hot account'].perSecond * BATCH;
      return {
        figures: {
          ...batches,
          ...singles,
          'bare update, nothing else': alone['bare update'],
          'hold, nothing else': alone.hold,
          'bare transfers a second': bareRate,
          'transfers a second over 1000 accounts': spread,
          'transfers a second on one account': hotRate,
        },
        bars: [
          atLeast('share of bare over 1000 accounts', 0.4, ratio(spread, bareRate)),
          atLeast('share of bare on one hot account', 0.3, ratio(hotRate, bareRate)),
          atMost(
            'hold p99 under load against a bare update',
            5,
            ratio(singles.hold.p99Ms, singles['bare update'].p99Ms),
          ),
        ],
      };
    } finally {
      await pool.end();
    }
  },
});
