import type { Millrace } from '@millrace/sdk';

/** Reads the names of rentals, volumes and instances, which the ledger, invoices and usage know by number only. */

export interface Resource {
  readonly kind: string;
  readonly id: string;
}

export interface ResourceNames {
  readonly isLoading: boolean;
  /** Null if the resource has no name, is too old, or cannot be read with this role. */
  readonly nameOf: (resource: Resource) => string | null;
}

/** The newest of each list. Older ones keep their number. */
const LIST_LIMIT = 200;
/** Each instance takes one request. */
const INSTANCES_MAX = 20;

export type NamesById = ReadonlyMap<string, string>;

interface Named {
  readonly id: number;
  readonly name?: string | null;
  readonly label?: string | null;
}

export function namesById(items: readonly Named[]): NamesById {
  return new Map(
    items.flatMap(({ id, name, label }) => {
      const text = name ?? label ?? null;
      return text === null ? [] : [[String(id), text] as const];
    }),
  );
}

/** The numbers of instances without repetition, as far as they are looked up. */
export function instanceNumbers(resources: readonly Resource[]): readonly string[] {
  const ids = resources.filter(({ kind }) => kind === 'instance').map(({ id }) => id);
  return [...new Set(ids)].toSorted().slice(0, INSTANCES_MAX);
}

export async function readRentalNames(client: Millrace, signal: AbortSignal): Promise<NamesById> {
  const [active, ended] = await Promise.all([
    client.rentals.list({ limit: LIST_LIMIT }, { signal }),
    client.rentals.listHistory({ limit: LIST_LIMIT }, { signal }),
  ]);
  return namesById([...ended.items.map((rental) => ({ ...rental, id: rental.rentalId })), ...active.items]);
}

export async function readVolumeNames(client: Millrace, signal: AbortSignal): Promise<NamesById> {
  const { items } = await client.volumes.list({ limit: LIST_LIMIT }, { signal });
  return namesById(items);
}

/** Instances that are not found keep their number. */
export async function readInstanceNames(
  client: Millrace,
  numbers: readonly string[],
  signal: AbortSignal,
): Promise<NamesById> {
  const found = await Promise.all(
    numbers.map((number) =>
      client.marketplace.instances.get({ name: number }, { signal }).then(
        ({ name }) => [number, name] as const,
        () => null,
      ),
    ),
  );
  return new Map(found.filter((each) => each !== null));
}
