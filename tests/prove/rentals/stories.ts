import type { Random } from '@millrace/kits';
import { systemClock } from '@millrace/platform/clock';
import type { StackTenant } from '../../stack/tenant.ts';
import type { Kind, Wish } from './kinds.ts';

/** What one rental lives through, as its tenant does it. */
export interface Story {
  readonly tenant: StackTenant;
  readonly nth: number;
  readonly kind: Kind;
  id: string | null;
  /** How often there was no room for it. */
  refusals: number;
  outcome: 'unknown' | 'left running' | 'ended';
}

const ROOM_PATIENCE_MS = 180_000;

/** Rents, perhaps waits, perhaps ends it at any moment of its life. Every request is made until it is answered. */
export async function rentAtRandom(story: Story, random: Random): Promise<void> {
  const { tenant, nth, kind } = story;
  const stays = nth < kind.staying;
  const endsByItself = !stays && random.chance(0.4);
  const made = await rentOnceThereIsRoom(story, {
    // However few there are, one of them is of two.
    units: nth === 0 ? 2 : random.pick([1, 1, 1, 2]),
    // The shortest there is: some come to their end by themselves, before or after the end of the proof.
    ttlSeconds: endsByItself ? 60 : null,
  });
  story.id = made;
  // Some are ended while they are made, some once they run, and a few are left running.
  const fate = stays ? 'left' : random.pick(['at once', 'soon', 'running', 'running', 'left'] as const);
  if (fate === 'soon') await systemClock.sleep(random.int(100, 2_500));
  if (fate === 'running' || fate === 'left') await waitUntilSettled(story);
  if (fate === 'left' && (endsByItself || stays)) {
    story.outcome = 'left running';
    return;
  }
  await kind.end(tenant, made, `end-${nth}`);
  story.outcome = 'ended';
}

/** Hosts that die and machines on their way out take room; a tenant who is refused for that asks again. */
async function rentOnceThereIsRoom(story: Story, wish: Wish): Promise<string> {
  const untilMs = systemClock.monotonicMs() + ROOM_PATIENCE_MS;
  for (;;) {
    const made = await story.kind.rent(story.tenant, wish, `rent-${story.nth}-${story.refusals}`);
    if (made.outcome === 'accepted') return made.id;
    story.refusals += 1;
    if (made.outcome === 'refused') throw new Error(`Rental ${story.nth} was refused: ${made.why}`);
    if (systemClock.monotonicMs() >= untilMs)
      throw new Error(`There was never room for rental ${story.nth}.`);
    await systemClock.sleep(1_000);
  }
}

const PATIENCE_MS = 60_000;

/** Until it runs or has failed; a tenant who waits in vain goes on all the same. */
async function waitUntilSettled({ tenant, id, kind }: Story): Promise<void> {
  if (id === null) return;
  const untilMs = systemClock.monotonicMs() + PATIENCE_MS;
  while (systemClock.monotonicMs() < untilMs) {
    const seen = await kind.read(tenant, id);
    if (seen === null || !seen.isPending) return;
    await systemClock.sleep(250);
  }
}
