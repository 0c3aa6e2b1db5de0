import { loginAndCount, newProofKey } from '@millrace/compute/proof';
import { atMost, defineBench, type BenchRun } from '@millrace/kits';
import { systemClock } from '@millrace/platform/clock';
import { GPU_TYPE, openRentalStack, REGION, type RentalStack } from '../tests/stack/rental-stack.ts';
import { plantPrice, rentalPath, seedTenant, type StackTenant } from '../tests/stack/tenant.ts';
import { connectBareIncus, type BareIncus } from './provision/bare-incus.ts';

const ROUNDS = 15;
const QUICK_ROUNDS = 2;
const BAR_TIMES = 1.25;
const POLL_MS = 20;
const PATIENCE_MS = 60_000;
/** Above the ports that rentals are given. */
const FIRST_BARE_PORT = 35_000;

const quantile = (values: readonly number[], part: number): number => {
  const sorted = values.toSorted((one, other) => one - other);
  return Math.round(sorted[Math.floor(sorted.length * part)] ?? 0);
};

interface Sides {
  readonly stack: RentalStack;
  readonly bare: BareIncus;
  readonly tenant: StackTenant;
}

/** From the order to the moment at which the tenant reads Running, which is after a proof with two logins. */
async function ofMillrace({ tenant }: Sides): Promise<number> {
  const beganMs = systemClock.monotonicMs();
  const wish = { gpuCount: 1, gpuType: GPU_TYPE, region: REGION };
  const made = await tenant.call('POST', '/v2/on-demand/virtual-machine-rentals', { body: wish });
  if (made.status !== 200) throw new Error(`It was refused: ${JSON.stringify(made.json)}`);
  const { id } = made.json as { id: number };
  await until(tenant, id, 'Running');
  const tookMs = systemClock.monotonicMs() - beganMs;
  await tenant.call('POST', '/v2/on-demand/virtual-machine-rentals/terminate', { body: { rentalId: id } });
  await until(tenant, id, 'Terminated');
  return tookMs;
}

async function until(tenant: StackTenant, id: number, status: string): Promise<void> {
  const endMs = systemClock.monotonicMs() + PATIENCE_MS;
  while (systemClock.monotonicMs() < endMs) {
    const answer = await tenant.call('GET', rentalPath(id));
    const rental = answer.json as { readonly status: string };
    if (rental.status === status) return;
    if (rental.status === 'Failed') throw new Error(JSON.stringify(rental));
    await systemClock.sleep(POLL_MS);
  }
  throw new Error(`Rental ${id} is not ${status} after ${PATIENCE_MS} ms.`);
}

/** The same machine by hand: create, key, start, and the same login until it lets us in. */
async function ofBareIncus({ stack, bare }: Sides, nth: number): Promise<number> {
  const member = stack.incus.members[nth % stack.incus.members.length];
  if (member === undefined) throw new Error('The cluster has no members.');
  const { privateKey, publicKey } = newProofKey();
  const inventory = await stack.engine.readInventory(AbortSignal.timeout(PATIENCE_MS));
  const gpus = inventory.nodes.find(({ name }) => name === member.name)?.hardware?.gpus ?? [];
  const machine = {
    name: `bare-${nth}`,
    member: member.name,
    address: member.address,
    port: FIRST_BARE_PORT + nth,
    // The last ones: rentals begin with the first.
    gpuPciAddresses: gpus.slice(-1).map(({ pciAddress }) => pciAddress),
    publicKey,
  };
  const beganMs = systemClock.monotonicMs();
  await bare.create(machine);
  const target = { host: machine.address, port: machine.port, user: 'root', privateKey, hostKey: null };
  for (;;) {
    const look = await loginAndCount(target, AbortSignal.timeout(PATIENCE_MS));
    if (look.outcome === 'in') break;
    if (systemClock.monotonicMs() - beganMs > PATIENCE_MS) throw new Error(look.detail);
    await systemClock.sleep(POLL_MS);
  }
  const tookMs = systemClock.monotonicMs() - beganMs;
  await bare.remove(machine.name);
  return tookMs;
}

async function measure(run: BenchRun, sides: Sides): Promise<{ millrace: number[]; bare: number[] }> {
  const [millrace, bare]: [number[], number[]] = [[], []];
  // The first of each unpacks the image and compiles the code.
  await ofMillrace(sides);
  for (let nth = 0; nth < sides.stack.incus.members.length; nth += 1) await ofBareIncus(sides, 1_000 + nth);
  for (let nth = 0; nth < (run.quick ? QUICK_ROUNDS : ROUNDS); nth += 1) {
    bare.push(await ofBareIncus(sides, nth));
    millrace.push(await ofMillrace(sides));
  }
  return { millrace, bare };
}

export const bench = defineBench({
  name: 'provision',
  about:
    'POST to Running on a real Incus cluster, proof and billing included, against the same container made on bare Incus and logged into.',
  counts: null,
  async run(run) {
    const stack = await openRentalStack();
    const bare = connectBareIncus(stack.incus);
    try {
      await plantPrice(stack);
      const sides = { stack, bare, tenant: await seedTenant(stack, 1_000) };
      const took = await measure(run, sides);
      const [ours, theirs] = [quantile(took.millrace, 0.5), quantile(took.bare, 0.5)];
      return {
        figures: {
          'POST to Running, p50 ms': ours,
          'POST to Running, slowest ms': quantile(took.millrace, 0.99),
          'bare Incus and a login, p50 ms': theirs,
          'bare Incus and a login, slowest ms': quantile(took.bare, 0.99),
        },
        bars: [atMost('POST to Running, p50 ms', Math.round(theirs * BAR_TIMES), ours)],
      };
    } finally {
      bare.close();
      await stack.close();
    }
  },
});
