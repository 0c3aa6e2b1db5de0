import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { ensureUp } from '@millrace/services';
import { startHarness } from '../e2e/harness.ts';
import { fuzz } from './contract-fuzz/fuzz.ts';

export const proof = defineProof({
  name: 'contract-fuzz',
  proves:
    'No body sampled from the contract or mutated from it gets a 5xx, an undeclared status or a response outside its schema.',
  short: (run) => prove(run, 2_000),
  long: (run) => prove(run, 20_000),
});

async function prove(run: ProofRun, bodies: number): Promise<ProofReport> {
  await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
  const harness = await startHarness();
  try {
    const { tallies, failures } = await fuzz(harness, { bodies, seed: run.seed, random: run.random });
    const total = { calls: 0, bodies: 0, reached: 0, succeeded: 0 };
    const figures: Record<string, string | number> = {};
    for (const [id, tally] of tallies) {
      total.calls += tally.calls;
      total.bodies += tally.bodies;
      total.reached += tally.reached;
      total.succeeded += tally.succeeded;
      figures[`${id}: 2xx`] = share(tally.succeeded, tally.calls);
    }
    return {
      figures: {
        calls: total.calls,
        'calls with a body': total.bodies,
        'reached a handler': share(total.reached, total.calls),
        '2xx': share(total.succeeded, total.calls),
        ...figures,
      },
      failures,
    };
  } finally {
    await harness.fixture[Symbol.asyncDispose]();
  }
}

function share(part: number, whole: number): string {
  return `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
}
