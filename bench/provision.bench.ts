import { loginAndCountGpus, newReadinessKey } from '@millrace/compute/readiness';
import { atMost, defineBench, type BenchRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { GPU_TYPE, openRentalStack, REGION, type RentalStack } from '../tests/stack/rental-stack.ts';
import { insertPrice, rentalPath, seedTenant, type StackTenant } from '../tests/stack/tenant.ts';
import { connectBaselineIncus, type BaselineIncus } from './provision/baseline-incus.ts';

const ROUNDS = 15;
const QUICK_ROUNDS = 2;
const MAX_TIMES_BASELINE = 1.25;
const POLL_MS = 20;
const TIMEOUT_MS = 60_000;
/** Above the ports that rentals get. */
const FIRST_BARE_PORT = 35_000;

const quantile = (values: readonly number[], part: number): number => {
  const sorted = values.toSorted((one, other) => one - other);
  return Math.round(sorted[Math.floor(sorted.length * part)] ?? 0);
};

interface Variants {
  readonly stack: RentalStack;
  readonly bare: BaselineIncus;
  readonly tenant: StackTenant;
}

/** Time from the order until the tenant reads Running, including the readiness check with two logins. */
async function provisionWithMillrace({ tenant }: Variants): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  const request = { gpuCount: 1, gpuType: GPU_TYPE, region: REGION };
  const made = await tenant.call('POST', '/v2/on-demand/virtual-machine-rentals', { body: request });
  if (made.status !== 200) throw new Error(`The order was refused: ${JSON.stringify(made.json)}`);
  const { id } = made.json as { id: number };
  await waitForStatus(tenant, id, 'Running');
  const tookMs = systemClock.monotonicMs() - startedMs;
  await tenant.call('POST', '/v2/on-demand/virtual-machine-rentals/terminate', { body: { rentalId: id } });
  await waitForStatus(tenant, id, 'Terminated');
  return tookMs;
}

async function waitForStatus(tenant: StackTenant, id: number, status: string): Promise<void> {
  const endMs = systemClock.monotonicMs() + TIMEOUT_MS;
  while (systemClock.monotonicMs() < endMs) {
    const response = await tenant.call('GET', rentalPath(id));
    const rental = response.json as { readonly status: string };
    if (rental.status === status) return;
    if (rental.status === 'Failed') throw new Error(JSON.stringify(rental));
    await systemClock.sleep(POLL_MS);
  }
  throw new Error(`Rental ${id} is not ${status} after ${TIMEOUT_MS} ms.`);
}

/** Creates the same machine directly: create, key, start, and retry the login until it succeeds. */
async function provisionWithBaseline({ stack, bare }: Variants, nth: number): Promise<number> {
  const member = stack.incus.members[nth % stack.incus.members.length];
  if (member === undefined) throw new Error('The cluster has no members.');
  const { privateKey, publicKey } = newReadinessKey();
  const inventory = await stack.engine.readInventory(AbortSignal.timeout(TIMEOUT_MS));
  const gpus = inventory.nodes.find(({ name }) => name === member.name)?.hardware?.gpus ?? [];
  const machine = {
    name: `bare-${nth}`,
    member: member.name,
    address: member.address,
    port: FIRST_BARE_PORT + nth,
    // The last GPUs, because rentals start with the first.
    gpuPciAddresses: gpus.slice(-1).map(({ pciAddress }) => pciAddress),
    publicKey,
  };
  const startedMs = systemClock.monotonicMs();
  await bare.create(machine);
  const target = { host: machine.address, port: machine.port, user: 'root', privateKey, hostKey: null };
  for (;;) {
    const look = await loginAndCountGpus(target, AbortSignal.timeout(TIMEOUT_MS));
    if (look.outcome === 'in') break;
    if (systemClock.monotonicMs() - startedMs > TIMEOUT_MS) throw new Error(look.detail);
    await systemClock.sleep(POLL_MS);
  }
  const tookMs = systemClock.monotonicMs() - startedMs;
  await bare.remove(machine.name);
  return tookMs;
}

async function measure(run: BenchRun, sides: Variants): Promise<{ millrace: number[]; bare: number[] }> {
  const [millrace, bare]: [number[], number[]] = [[], []];
  // The first of each unpacks the image and compiles the code.
  await provisionWithMillrace(sides);
  for (let nth = 0; nth < sides.stack.incus.members.length; nth += 1)
    await provisionWithBaseline(sides, 1_000 + nth);
  for (let nth = 0; nth < (run.quick ? QUICK_ROUNDS : ROUNDS); nth += 1) {
    bare.push(await provisionWithBaseline(sides, nth));
    millrace.push(await provisionWithMillrace(sides));
  }
  return { millrace, bare };
}

export const bench = defineBench({
  name: 'provision',
  about:
    'POST to Running on a real Incus cluster, with readiness check and billing, compared with the same container on bare Incus and a login.',
  counts: null,
  async run(run) {
    const stack = await openRentalStack();
    const bare = connectBaselineIncus(stack.incus);
    try {
      await insertPrice(stack);
      const sides = { stack, bare, tenant: await seedTenant(stack, 1_000) };
      const took = await measure(run, sides);
      const [own, theirs] = [quantile(took.millrace, 0.5), quantile(took.bare, 0.5)];
      return {
        figures: {
          'POST to Running, p50 ms': own,
          'POST to Running, slowest ms': quantile(took.millrace, 0.99),
          'bare Incus and a login, p50 ms': theirs,
          'bare Incus and a login, slowest ms': quantile(took.bare, 0.99),
        },
        bars: [atMost('POST to Running, p50 ms', Math.round(theirs * MAX_TIMES_BASELINE), own)],
      };
    } finally {
      bare.close();
      await stack.close();
    }
  },
});
