import type { Random } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import type { StackTenant } from '../../stack/tenant.ts';
import type { RentalKind, RentRequest } from './rental-kinds.ts';

/** The actions of one tenant with one rental. */
export interface RentalScenario {
  readonly tenant: StackTenant;
  readonly nth: number;
  readonly kind: RentalKind;
  id: string | null;
  refusals: number;
  outcome: 'unknown' | 'left running' | 'ended';
}

/** Two other scenarios may be ahead in the queue, and on a busy machine each may keep the capacity for minutes. */
const CAPACITY_TIMEOUT_MS = 600_000;
const QUEUE_AFTER_MS = 20_000;

/**
 * The product has no queue, so a tenant that needs two hosts at once may never get them while others take each free host. To
 * let the proof end, a scenario that was refused for a while queues here; then only the first in the queue requests capacity.
 */
export class CapacityQueue {
  readonly #standing = new Set<RentalScenario>();
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

/** Rents, may wait, and may end the rental in any state. Each request is repeated until it gets a final response. */
export async function rentAtRandom(
  scenario: RentalScenario,
  line: CapacityQueue,
  random: Random,
): Promise<void> {
  const { tenant, nth, kind } = scenario;
  const stays = nth < kind.staying;
  const endsByItself = !stays && random.chance(0.4);
  const made = await rentWhenCapacity(scenario, line, {
    // At least one rental of every proof has two units.
    units: nth === 0 ? 2 : random.pick([1, 1, 1, 2]),
    // The shortest TTL: some rentals expire before and some after the end of the proof.
    ttlSeconds: endsByItself ? 60 : null,
  });
  scenario.id = made;
  // Some rentals are ended while Pending, some while Running, and a few are left running.
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

/** Dead hosts and terminating machines take capacity, so a refused tenant retries. */
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
        throw new Error(`No capacity was found for rental ${scenario.nth} with ${request.units} units.`);
      }
      if (waitedMs >= QUEUE_AFTER_MS) line.join(scenario);
      await systemClock.sleep(1_000);
    }
  } finally {
    line.leave(scenario);
  }
}

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

/** Waits until the rental runs or has failed. The scenario continues after the timeout. */
async function waitUntilSettled({ tenant, id, kind }: RentalScenario): Promise<void> {
  if (id === null) return;
  const untilMs = systemClock.monotonicMs() + SETTLE_TIMEOUT_MS;
  while (systemClock.monotonicMs() < untilMs) {
    const seen = await kind.read(tenant, id);
    if (seen === null || !seen.isPending) return;
    await systemClock.sleep(250);
  }
}
