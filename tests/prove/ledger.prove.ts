import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { startProcess, type TestProcess } from '@millrace/testing';
import { playAudited, type SeedRun } from './ledger/audited.ts';

const shortEvents = 3_000;
/** About one event in twenty is skipped because its precondition is false; a million must be executed. */
const longEvents = 1_060_000;
const eventsPerSeed = 20_000;
const workers = 2;

/** The simulation of `tests/sim/ledger.sim.ts` with many seeds. */
export const proof = defineProof({
  name: 'ledger',
  proves:
    'With random tenants, writers, crashes and Valkey faults, every result and every row of the ledger equals an independent model to the nano-USD, no balance falls below its floor, and the spendable amount never exceeds the balance.',
  short: async ({ seed }) => report([await playAudited(seed, shortEvents)], shortEvents),
  long,
});

async function long(run: ProofRun): Promise<ProofReport> {
  const seeds = Array.from({ length: longEvents / eventsPerSeed }, (_, index) => run.seed + index);
  const runs = await Promise.all(
    Array.from({ length: workers }, (_, worker) =>
      runSeedsInWorker(
        worker,
        seeds.filter((_seed, index) => index % workers === worker),
        run,
      ),
    ),
  );
  return report(runs.flat(), eventsPerSeed);
}

async function runSeedsInWorker(worker: number, seeds: readonly number[], run: ProofRun): Promise<SeedRun[]> {
  await using process_ = await startProcess({
    name: `worker ${worker}`,
    entry: 'tests/prove/ledger/seed-run.ts',
    args: [String(eventsPerSeed), ...seeds.map(String)],
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' },
  });
  await process_.exited;
  const runs = readRuns(process_);
  run.note(`worker ${worker}: ${runs.length} of ${seeds.length} seeds`);
  const unfinished = runs.length < seeds.length && runs.every(isClean);
  if (unfinished) throw new Error(`A worker ended early: ${process_.output().slice(-2000)}`);
  return runs;
}

const isClean = ({ failure, audit }: SeedRun): boolean => failure === null && audit.complaints.length === 0;

function readRuns(worker: TestProcess): SeedRun[] {
  return worker
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{"seed"'))
    .map((line) => JSON.parse(line) as SeedRun);
}

function report(runs: readonly SeedRun[], events: number): ProofReport {
  const happened = sumUp(runs.map((run) => run.happened));
  const tally = sumUp(runs.map((run) => run.tally));
  const total = Object.values(happened).reduce((sum, times) => sum + times, 0);
  return {
    figures: {
      'events executed': total,
      seeds: runs.length,
      ...prefixed('event: ', happened),
      ...prefixed('outcome: ', tally),
      'rows checked by the auditor': runs.reduce((sum, { audit }) => sum + audit.checked, 0),
      'findings of the auditor': runs.reduce((sum, { audit }) => sum + audit.complaints.length, 0),
      'differences from the model': runs.filter(({ failure }) => failure !== null).length,
    },
    failures: runs.flatMap((run) => failuresOf(run, events)),
  };
}

function failuresOf({ seed, failure, audit }: SeedRun, events: number): string[] {
  const complaints = audit.complaints.map((finding) => `seed ${seed}: audit finding: ${finding}`);
  if (failure === null) return complaints;
  const until = Math.min(events, failure.event + 1);
  return [
    `seed ${seed}, event ${failure.event}: ${failure.where}: ${failure.message} (npm run sim -- ledger --seed ${seed} --events ${until})`,
    ...complaints,
  ];
}

function sumUp(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const whole: Record<string, number> = {};
  for (const part of counts) {
    for (const [name, times] of Object.entries(part)) whole[name] = (whole[name] ?? 0) + times;
  }
  return whole;
}

function prefixed(prefix: string, values: Readonly<Record<string, number>>): Record<string, number> {
  const entries = Object.entries(values).toSorted(([a], [b]) => a.localeCompare(b));
  return Object.fromEntries(entries.map(([name, value]) => [`${prefix}${name}`, value]));
}
