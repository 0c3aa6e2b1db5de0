import { playAudited } from './audited.ts';

/** A worker process of the proof: plays its seeds and writes one line of JSON for each. */

const [events = '1000', ...seeds] = process.argv.slice(2);
for (const seed of seeds) {
  const run = await playAudited(Number(seed), Number(events));
  process.stdout.write(`${JSON.stringify(run)}\n`);
  if (run.failure !== null || run.audit.complaints.length > 0) break;
}
process.exit(0);
