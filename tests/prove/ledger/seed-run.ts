import { allEvents, playEvents } from '@millrace/kits';
import { lastTally, sim } from '../../sim/ledger.sim.ts';

/** Plays the simulation with the seeds given and writes one line of JSON for each: what a proof's worker process does. */

const [events = '1000', ...seeds] = process.argv.slice(2);
for (const seed of seeds.map(Number)) {
  const { failure, happened } = await playEvents(sim, seed, allEvents(Number(events)));
  process.stdout.write(`${JSON.stringify({ seed, failure, happened, tally: lastTally() })}\n`);
  if (failure !== null) break;
}
process.exit(0);
