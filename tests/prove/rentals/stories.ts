import type { Random } from '@millrace/kits';
import { systemClock } from '@millrace/platform/clock';
import { GPU_TYPE, REGION, type RentalStack } from '../../stack/rental-stack.ts';
import { insist, rentalPath, type StackTenant } from '../../stack/tenant.ts';

/** What one rental lives through, as its tenant does it. */
export interface Story {
  readonly tenant: StackTenant;
  readonly nth: number;
  id: number | null;
  outcome: 'unknown' | 'left running' | 'ended' | 'refused';
}

/** Rents, perhaps waits, perhaps ends it at any moment of its life. Every request is made until it is answered. */
export async function rentAtRandom(stack: RentalStack, story: Story, random: Random): Promise<void> {
  const { tenant, nth } = story;
  const made = await insist(tenant, 'POST', '/v2/on-demand/virtual-machine-rentals', {
    body: {
      gpuCount: random.pick([1, 1, 1, 2]),
      gpuType: GPU_TYPE,
      region: REGION,
      // The shortest there is: some come to their end by themselves, before or after the end of the proof.
      ...(random.chance(0.4) ? { ttlSeconds: 60 } : {}),
    },
    idempotencyKey: `rent-${nth}`,
  });
  if (made.status !== 200) {
    story.outcome = 'refused';
    if (made.json?.reason !== 'INSUFFICIENT_CAPACITY') {
      throw new Error(`Rental ${nth} was refused: ${JSON.stringify(made.json)}`);
    }
    return;
  }
  story.id = made.json.id as number;
  // Some are ended while they are made, some once they run, and a few are left running.
  const fate = random.pick(['at once', 'soon', 'running', 'running', 'left'] as const);
  if (fate === 'soon') await systemClock.sleep(random.int(100, 2_500));
  if (fate === 'running' || fate === 'left') await waitUntilSettled(story);
  if (fate === 'left') {
    story.outcome = 'left running';
    return;
  }
  await insist(tenant, 'POST', '/v2/on-demand/virtual-machine-rentals/terminate', {
    body: { rentalId: story.id, reason: 'the story ends' },
    idempotencyKey: `end-${nth}`,
  });
  story.outcome = 'ended';
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
