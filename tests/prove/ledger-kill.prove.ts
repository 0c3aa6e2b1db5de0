import { defineProof, type ProofReport, type ProofRun, type Random } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { fromUuid, type OrgId } from '@millrace/platform/ids';
import { ensureUp } from '@millrace/services';
import {
  createOrganisation,
  createTestDatabase,
  eventually,
  killBackends,
  startProcess,
  type TestDatabase,
  type TestProcess,
} from '@millrace/testing';
import { findViolation, deepRules, rules } from '../sim/ledger/compare.ts';
import { batchItems, batchIdempotencyKeys, type BatchScope } from './ledger/batches.ts';

const posters = 3;
const atOnce = 4;
const organisations = 8;

/** kill -9 at random points under load: a caller knows only acknowledgements. */
export const proof = defineProof({
  name: 'ledger-kill',
  proves:
    'Posting processes are killed with kill -9 under load and connections are ended under them: no acknowledged batch is lost and no repeated batch is applied twice.',
  short: (run) => prove(run, 10),
  long: (run) => prove(run, 200),
});

/** Successive processes of one poster: the current one, and the batches that all of them acknowledged. */
interface PosterSlot {
  readonly scope: BatchScope;
  readonly done: Set<number>;
  started: number;
  process: TestProcess;
  outputLength: number;
}

async function prove(run: ProofRun, kills: number): Promise<ProofReport> {
  await ensureUp(['postgres']);
  await using database = await createTestDatabase();
  const orgIds: OrgId[] = [];
  for (let made = 0; made < organisations; made += 1) orgIds.push(await createOrganisation(database.db));
  const lines: PosterSlot[] = [];
  const counts = { repeated: 0, cut: 0 };
  try {
    for (let poster = 0; poster < posters; poster += 1) {
      const scope = { seed: run.seed, poster, orgIds };
      const line = { scope: scope, done: new Set<number>(), started: 0, outputLength: 0 };
      lines.push({
        ...line,
        process: await startPoster(database, scope, { from: 0, done: [], until: null }),
      });
    }
    for (let killed = 0; killed < kills; killed += 1) {
      await killOne(database, run.random, run.random.pick(lines), counts);
      if (killed % 4 === 1) counts.cut += await killBackends(database, '%ledger%');
      if (killed % 50 === 49) run.note(`${killed + 1} killed`);
    }
    await finish(database, lines);
    return await checkLedger(database, lines, { kills, ...counts });
  } finally {
    for (const { process } of lines) await process.crash();
  }
}

function startPoster(
  database: TestDatabase,
  scope: BatchScope,
  work: { from: number; done: readonly number[]; until: number | null },
): Promise<TestProcess> {
  return startProcess({
    name: `poster ${scope.poster}`,
    entry: 'tests/prove/ledger/poster.ts',
    args: [JSON.stringify({ ...scope, ...work, url: database.url, atOnce })],
    env: {},
  });
}

/** Reads the process's output so far. After a kill, the pipe may still contain its last lines. */
function readOutput(line: PosterSlot): void {
  const output = line.process.output();
  line.outputLength = output.length;
  for (const [, word, number] of output.matchAll(/^(begun|done) (\d+)$/gm)) {
    line.started = Math.max(line.started, Number(number) + 1);
    if (word === 'done') line.done.add(Number(number));
  }
}

async function killOne(
  database: TestDatabase,
  random: Random,
  line: PosterSlot,
  counts: { repeated: number },
): Promise<void> {
  const { process, scope } = line;
  await eventually({ what: `poster ${scope.poster} to work` }, () => {
    if (!process.running()) throw new Error(`The poster ended: ${process.output().slice(-500)}`);
    return process.output().includes('begun');
  });
  await systemClock.sleep(random.int(0, 250));
  await process.crash();
  await eventually({ what: 'the last output of the poster' }, () => {
    const before = line.outputLength;
    readOutput(line);
    return line.outputLength === before;
  });
  const unsaid = Array.from({ length: line.started }, (_, batch) => batch).filter(
    (batch) => !line.done.has(batch),
  );
  counts.repeated += unsaid.length;
  const from = unsaid[0] ?? line.started;
  const done = [...line.done].filter((batch) => batch >= from);
  line.process = await startPoster(database, scope, { from, done, until: null });
}

/** Runs each poster up to a batch number that no earlier process exceeded, so that the final state is known. */
async function finish(database: TestDatabase, lines: readonly PosterSlot[]): Promise<void> {
  for (const line of lines) {
    await line.process.crash();
    await eventually({ what: 'the last output of the poster' }, () => {
      const before = line.outputLength;
      readOutput(line);
      return line.outputLength === before;
    });
    line.started += atOnce;
    const from = Array.from({ length: line.started }, (_, batch) => batch).find(
      (batch) => !line.done.has(batch),
    );
    const work = { from: from ?? line.started, done: [...line.done], until: line.started };
    line.process = await startPoster(database, line.scope, work);
    const { code } = await line.process.exited;
    if (code !== 0) throw new Error(`The last poster failed: ${line.process.output().slice(-1000)}`);
    await eventually({ what: `the whole output of poster ${line.scope.poster}` }, () => {
      readOutput(line);
      return line.done.size >= line.started;
    });
  }
}

async function checkLedger(
  database: TestDatabase,
  lines: readonly PosterSlot[],
  counts: { kills: number; repeated: number; cut: number },
): Promise<ProofReport> {
  const failures: string[] = [];
  const expectedKeys = new Set<string>();
  const balances = new Map<OrgId, bigint>();
  for (const { scope, started, done } of lines) {
    for (let batch = 0; batch < started; batch += 1) {
      if (!done.has(batch)) failures.push(`batch ${batch} of poster ${scope.poster} was never acknowledged`);
      for (const key of batchIdempotencyKeys(scope, batch)) expectedKeys.add(key);
      for (const { orgId, held, posted } of batchItems(scope, batch)) {
        balances.set(orgId, (balances.get(orgId) ?? 0n) + held - posted);
      }
    }
  }
  const client = await database.connect();
  try {
    const { rows: transfers } = await client.query<{ org_id: string; key: string }>(
      'select org_id, idempotency_key as key from ledger_transfers',
    );
    for (const { org_id, key } of transfers) {
      if (!expectedKeys.delete(`${fromUuid('org', org_id)} ${key}`))
        failures.push(`${key} exists twice or was never posted`);
    }
    for (const key of [...expectedKeys].slice(0, 20)) failures.push(`${key} was acknowledged and is lost`);
    const { rows: accounts } = await client.query<{ org_id: string; balance: string; held: string }>(
      `select org_id, balance_nano_usd as balance, held_nano_usd as held from ledger_accounts where kind = 'credit'`,
    );
    for (const { org_id, balance, held } of accounts) {
      const expected = balances.get(fromUuid('org', org_id)) ?? 0n;
      if (BigInt(balance) !== expected) failures.push(`${org_id} has ${balance} instead of ${expected}`);
      if (held !== '0') failures.push(`${org_id} still holds ${held}`);
    }
    for (const [name, rule] of Object.entries({ ...rules, ...deepRules })) {
      const broken = await findViolation(client, rule);
      if (broken !== undefined) failures.push(`${name}: ${broken}`);
    }
    return {
      figures: {
        'concurrent posting processes': posters,
        'concurrent batches in each': atOnce,
        'killed with kill -9': counts.kills,
        'connections ended by the server': counts.cut,
        'batches acknowledged': lines.reduce((sum, { done }) => sum + done.size, 0),
        'batches repeated because they were not acknowledged': counts.repeated,
        transfers: transfers.length,
        'lost, duplicated or different': failures.length,
      },
      failures,
    };
  } finally {
    await client.end();
  }
}
