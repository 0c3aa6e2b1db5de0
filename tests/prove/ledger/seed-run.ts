import { playAudited } from './audited.ts';

/** Worker process of the proof: runs its seeds and prints one line of JSON for each. */

const [events = '1000', ...seeds] = process.argv.slice(2);
for (const seed of seeds) {
  const run = await playAudited(Number(seed), Number(events));
  process.stdout.write(`${JSON.stringify(run)}\n`);
  if (run.failure !== null || run.audit.complaints.length > 0) break;
}
process.exit(0);
