import type { Random } from '@millrace/kits';
import { systemClock } from '@millrace/platform/clock';
import { GPU_TYPE, REGION, type RentalStack } from '../../stack/rental-stack.ts';
import { insist, rentalPath, type StackTenant } from '../../stack/tenant.ts';

/** What one rental lives through, as its tenant does it. */
export interface Story {
  readonly tenant: StackTenant;
  readonly nth: number;
  id: number | null;
  /** How often there was no room for it. */
  refusals: number;
  outcome: 'unknown' | 'left running' | 'ended';
}

/** So many may stay for good; the hosts would be full of them otherwise, and the rest of the stories never told. */
const STAY_FOR_GOOD = 4;
const ROOM_PATIENCE_MS = 180_000;

/** Rents, perhaps waits, perhaps ends it at any moment of its life. Every request is made until it is answered. */
export async function rentAtRandom(stack: RentalStack, story: Story, random: Random): Promise<void> {
  const { tenant, nth } = story;
  const stays = nth < STAY_FOR_GOOD;
  const endsByItself = !stays && random.chance(0.4);
  const made = await rentOnceThereIsRoom(story, {
    gpuCount: random.pick([1, 1, 1, 2]),
    gpuType: GPU_TYPE,
    region: REGION,
    // The shortest there is: some come to their end by themselves, before or after the end of the proof.
    ...(endsByItself ? { ttlSeconds: 60 } : {}),
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
  await insist(tenant, 'POST', '/v2/on-demand/virtual-machine-rentals/terminate', {
    body: { rentalId: story.id, reason: 'the story ends' },
    idempotencyKey: `end-${nth}`,
  });
  story.outcome = 'ended';
}

/** Hosts that die and machines on their way out take room; a tenant who is refused for that asks again. */
async function rentOnceThereIsRoom(story: Story, body: Readonly<Record<string, unknown>>): Promise<number> {
  const untilMs = systemClock.monotonicMs() + ROOM_PATIENCE_MS;
  for (;;) {
    const made = await insist(story.tenant, 'POST', '/v2/on-demand/virtual-machine-rentals', {
      body,
      idempotencyKey: `rent-${story.nth}-${story.refusals}`,
    });
    if (made.status === 200) return made.json.id as number;
    story.refusals += 1;
    const isFull = made.json?.reason === 'INSUFFICIENT_CAPACITY';
    if (!isFull || systemClock.monotonicMs() >= untilMs) {
      throw new Error(`Rental ${story.nth} was refused: ${JSON.stringify(made.json)}`);
    }
    await systemClock.sleep(1_000);
  }
}

const PATIENCE_MS = 60_000;

/** Until it runs or has failed; a tenant who waits in vain goes on all the same. */
async function waitUntilSettled({ tenant, id }: Story): Promise<void> {
  if (id === null) return;
  const untilMs = systemClock.monotonicMs() + PATIENCE_MS;
  while (systemClock.monotonicMs() < untilMs) {
    const { json } = await insist(tenant, 'GET', rentalPath(id));
    if (json.status !== 'Pending') return;
    await systemClock.sleep(250);
  }
}
