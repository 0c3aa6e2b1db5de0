import type { Random } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import type { StackTenant } from '../../stack/tenant.ts';
import type { RentalKind, RentRequest } from './rental-kinds.ts';

/** What one rental lives through, as its tenant does it. */
export interface RentalScenario {
  readonly tenant: StackTenant;
  readonly nth: number;
  readonly kind: RentalKind;
  id: string | null;
  /** How often there was no room for it. */
  refusals: number;
  outcome: 'unknown' | 'left running' | 'ended';
}

/** Two others may be before it in line, and on a machine that does much else each keeps what there is for minutes. */
const CAPACITY_TIMEOUT_MS = 600_000;
const QUEUE_AFTER_MS = 20_000;

/**
 * The product keeps no queue: room is for whoever asks when there is some. So somebody who wants two hosts at once asks in vain for
 * as long as others take each host that becomes free, which is nobody's fault and no end to a proof. All ask at the same
 * time, as tenants do; but whoever has done so in vain for a while stands in line, and then only the first in line asks.
 */
export class CapacityQueue {
  readonly #standing = new Set<RentalScenario>();
  /** How many ever stood here. */
  total = 0;

  join(scenario: RentalScenario): void {
    if (this.#standing.has(scenario)) return;
    this.#standing.add(scenario);
    this.total += 1;
  }

  leave(scenario: RentalScenario): void {
    this.#standing.delete(scenario);
  }

  isNext(scenario: RentalScenario): boolean {
    const [first = scenario] = this.#standing;
    return first === scenario;
  }
}

/** Rents, perhaps waits, perhaps ends it at any moment of its life. Every request is made until it is answered. */
export async function rentAtRandom(
  scenario: RentalScenario,
  line: CapacityQueue,
  random: Random,
): Promise<void> {
  const { tenant, nth, kind } = scenario;
  const stays = nth < kind.staying;
  const endsByItself = !stays && random.chance(0.4);
  const made = await rentWhenCapacity(scenario, line, {
    // However few there are, one of them is of two.
    units: nth === 0 ? 2 : random.pick([1, 1, 1, 2]),
    // The shortest there is: some come to their end by themselves, before or after the end of the proof.
    ttlSeconds: endsByItself ? 60 : null,
  });
  scenario.id = made;
  // Some are ended while they are made, some once they run, and a few are left running.
  const ending = stays ? 'left' : random.pick(['at once', 'soon', 'running', 'running', 'left'] as const);
  if (ending === 'soon') await systemClock.sleep(random.int(100, 2_500));
  if (ending === 'running' || ending === 'left') await waitUntilSettled(scenario);
  if (ending === 'left' && (endsByItself || stays)) {
    scenario.outcome = 'left running';
    return;
  }
  await kind.end(tenant, made, `end-${nth}`);
  scenario.outcome = 'ended';
}

/** Hosts that die and machines on their way out take room; a tenant who is refused for that asks again. */
async function rentWhenCapacity(
  scenario: RentalScenario,
  line: CapacityQueue,
  request: RentRequest,
): Promise<string> {
  const startedMs = systemClock.monotonicMs();
  try {
    for (;;) {
      const id = line.isNext(scenario) ? await rentNow(scenario, request) : null;
      if (id !== null) return id;
      const waitedMs = systemClock.monotonicMs() - startedMs;
      if (waitedMs >= CAPACITY_TIMEOUT_MS) {
        throw new Error(`There was never room for rental ${scenario.nth}, which is of ${request.units}.`);
      }
      if (waitedMs >= QUEUE_AFTER_MS) line.join(scenario);
      await systemClock.sleep(1_000);
    }
  } finally {
    line.leave(scenario);
  }
}

/** Null: there is no room. */
async function rentNow(scenario: RentalScenario, request: RentRequest): Promise<string | null> {
  const made = await scenario.kind.rent(
    scenario.tenant,
    request,
    `rent-${scenario.nth}-${scenario.refusals}`,
  );
  if (made.outcome === 'accepted') return made.id;
  if (made.outcome === 'refused') throw new Error(`Rental ${scenario.nth} was refused: ${made.why}`);
  scenario.refusals += 1;
  return null;
}

const SETTLE_TIMEOUT_MS = 60_000;

/** Until it runs or has failed; a tenant who waits in vain goes on all the same. */
async function waitUntilSettled({ tenant, id, kind }: RentalScenario): Promise<void> {
  if (id === null) return;
  const untilMs = systemClock.monotonicMs() + SETTLE_TIMEOUT_MS;
  while (systemClock.monotonicMs() < untilMs) {
    const seen = await kind.read(tenant, id);
    if (seen === null || !seen.isPending) return;
    await systemClock.sleep(250);
  }
}
